"""Tagging of words."""

from albert_keras.tasks.tagging.task import TAGGING, TaggingTask
