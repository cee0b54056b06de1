"""ALBERT ("A Lite BERT") for Keras 3 and TensorFlow.

The public interface. Each name's module is imported when the name is first asked for,
so that the model side runs where TensorFlow is absent, and the data side where Keras is
absent too.
"""

from albert_keras.lazy import lazy_names
from albert_keras.registration import register_when_keras_is_imported
from albert_keras.version import __version__

_HOMES = {
    "AlbertTokenizer": "albert_keras.tokenizers",
    "WordPieceTokenizer": "albert_keras.tokenizers",
    "load_tokenizer": "albert_keras.tokenizers",
    "train_sentence_piece": "albert_keras.tokenizers",
    "PretrainingDataConfig": "albert_keras.pretraining",
    "prepare_pretraining_data": "albert_keras.pretraining",
    "pretraining_dataset": "albert_keras.pretraining",
    "pretraining_validation_dataset": "albert_keras.pretraining",
    "read_documents": "albert_keras.text",
    "PRESETS": "albert_keras.config",
    "AlbertConfig": "albert_keras.config",
    "AlbertBackbone": "albert_keras.models",
    "AlbertPretrainer": "albert_keras.models",
    "AlbertTextClassifier": "albert_keras.models",
    "AlbertQuestionAnswerer": "albert_keras.models",
    "AlbertJointQuestionAnswerer": "albert_keras.models",
    "AlbertMultipleChoice": "albert_keras.models",
    "AlbertTokenClassifier": "albert_keras.models",
    "AdamW": "albert_keras.optimizers",
    "Lamb": "albert_keras.optimizers",
    "WarmupPolynomialDecay": "albert_keras.optimizers",
    "Trainer": "albert_keras.training",
    "TrainerConfig": "albert_keras.training",
    "get_strategy": "albert_keras.training",
    "TASKS": "albert_keras.tasks",
    "load_checkpoint": "albert_keras.converters",
    "save_checkpoint": "albert_keras.converters",
    "change_architecture": "albert_keras.converters",
    "resize_vocabulary": "albert_keras.converters",
    "export_saved_model": "albert_keras.export",
    "export_tflite": "albert_keras.export",
    "load_saved_model": "albert_keras.export",
    "load_tflite": "albert_keras.export",
    "count_parameters": "albert_keras.analysis",
}

__all__ = [*_HOMES, "__version__"]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

register_when_keras_is_imported()
