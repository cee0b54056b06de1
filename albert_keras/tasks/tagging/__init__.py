"""Tagging of tokens."""

from albert_keras.tasks.tagging.task import TAGGING, TaggingTask
