"""ALBERT ("A Lite BERT") for Keras 3 and TensorFlow.

The public interface, in the order of the data path. What needs TensorFlow is imported
when first asked for, so that the model side runs where it is absent.
"""

import importlib

from albert_keras.analysis.parameters import count_parameters
from albert_keras.config import PRESETS, AlbertConfig
from albert_keras.converters import load_checkpoint
from albert_keras.models import AlbertBackbone, AlbertPretrainer, AlbertTextClassifier
from albert_keras.optimizers import AdamW, Lamb, WarmupPolynomialDecay
from albert_keras.tokenizers import (
    AlbertTokenizer,
    WordPieceTokenizer,
    train_sentence_piece,
)
from albert_keras.training import Trainer, TrainerConfig, get_strategy
from albert_keras.version import __version__

_LAZY = {
    "PretrainingDataConfig": "albert_keras.data",
    "prepare_pretraining_data": "albert_keras.data",
    "pretraining_dataset": "albert_keras.data",
    "read_documents": "albert_keras.data",
    "TASKS": "albert_keras.tasks",
    "export_saved_model": "albert_keras.export",
    "export_tflite": "albert_keras.export",
    "load_saved_model": "albert_keras.export",
    "load_tflite": "albert_keras.export",
}

__all__ = [
    "PRESETS",
    "TASKS",
    "AdamW",
    "AlbertBackbone",
    "AlbertConfig",
    "AlbertPretrainer",
    "AlbertTextClassifier",
    "AlbertTokenizer",
    "Lamb",
    "PretrainingDataConfig",
    "Trainer",
    "TrainerConfig",
    "WarmupPolynomialDecay",
    "WordPieceTokenizer",
    "__version__",
    "count_parameters",
    "export_saved_model",
    "export_tflite",
    "get_strategy",
    "load_checkpoint",
    "load_saved_model",
    "load_tflite",
    "prepare_pretraining_data",
    "pretraining_dataset",
    "read_documents",
    "train_sentence_piece",
]


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__():
    return __all__
