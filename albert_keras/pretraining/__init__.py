"""Pretraining: documents to token ids, pairs, masked examples and batches; its task."""

from typing import TYPE_CHECKING

from albert_keras.lazy import lazy_names

if TYPE_CHECKING:
    from albert_keras.pretraining.beam import RUNNERS
    from albert_keras.pretraining.datasets import (
        pretraining_dataset,
        pretraining_validation_dataset,
    )
    from albert_keras.pretraining.examples import CHOICES, PretrainingDataConfig
    from albert_keras.pretraining.masking import MASKING
    from albert_keras.pretraining.pairs import ONE_SENTENCE_CHUNKS, SENTENCE_PAIRS
    from albert_keras.pretraining.preparation import prepare_pretraining_data
    from albert_keras.pretraining.recipes import (
        RECIPES,
        PretrainingRecipe,
        scaled_learning_rate,
    )
    from albert_keras.pretraining.records import read_description
    from albert_keras.pretraining.report import PretrainingDataReport
    from albert_keras.pretraining.task import PretrainingTask

__getattr__, __dir__, __all__ = lazy_names(__spec__)
