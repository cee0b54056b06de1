"""Tagging of tokens."""

from albert_keras.tasks.tagging.task import TAGGING, TaggingTask

__all__ = ["TAGGING", "TaggingTask"]
