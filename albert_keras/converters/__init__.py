"""Weights in and out, one file a source, and models of another architecture."""

from albert_keras.converters.architecture import change_architecture, resize_vocabulary
from albert_keras.converters.loading import load_checkpoint
from albert_keras.converters.recognition import CONVERTERS, SOURCES
from albert_keras.converters.saving import FORMATS, save_checkpoint

__all__ = [
    "CONVERTERS",
    "FORMATS",
    "SOURCES",
    "change_architecture",
    "load_checkpoint",
    "resize_vocabulary",
    "save_checkpoint",
]
