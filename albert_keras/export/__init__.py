"""Models as files that serve without this package; one module a format."""

from albert_keras.export.predictor import is_exported, load_predictor
from albert_keras.export.saved_model import export_saved_model, load_saved_model
from albert_keras.export.tflite import export_tflite, load_tflite

EXPORTERS = {"saved_model": export_saved_model, "tflite": export_tflite}

__all__ = [
    "EXPORTERS",
    "export_saved_model",
    "export_tflite",
    "is_exported",
    "load_predictor",
    "load_saved_model",
    "load_tflite",
]
