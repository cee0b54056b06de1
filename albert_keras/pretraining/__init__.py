"""Pretraining: documents to token ids, pairs, masked examples and batches; its task."""

from albert_keras.lazy import lazy_names

_HOMES = {
    "RUNNERS": "albert_keras.pretraining.beam",
    "pretraining_dataset": "albert_keras.pretraining.datasets",
    "pretraining_validation_dataset": "albert_keras.pretraining.datasets",
    "CHOICES": "albert_keras.pretraining.examples",
    "PretrainingDataConfig": "albert_keras.pretraining.examples",
    "MASKING": "albert_keras.pretraining.masking",
    "ONE_SENTENCE_CHUNKS": "albert_keras.pretraining.pairs",
    "SENTENCE_PAIRS": "albert_keras.pretraining.pairs",
    "prepare_pretraining_data": "albert_keras.pretraining.preparation",
    "RECIPES": "albert_keras.pretraining.recipes",
    "PretrainingRecipe": "albert_keras.pretraining.recipes",
    "scaled_learning_rate": "albert_keras.pretraining.recipes",
    "read_description": "albert_keras.pretraining.records",
    "PretrainingDataReport": "albert_keras.pretraining.report",
    "PretrainingTask": "albert_keras.pretraining.task",
}

__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
