"""Export of models to files that run without this package; one module a format."""

from albert_keras.export.formats import (
    EXPORTERS,
    ExportFormat,
    is_exported,
    load_exported,
)
from albert_keras.export.saved_model import export_saved_model, load_saved_model
from albert_keras.export.tflite import export_tflite, load_tflite
