"""Runs: the work of one command, callable from Python and notebooks."""

from typing import TYPE_CHECKING

from albert_keras.lazy import lazy_names

if TYPE_CHECKING:
    from albert_keras.runs.finetuning import FinetuningRun
    from albert_keras.runs.finetuning_config import FinetuningRunConfig
    from albert_keras.runs.folder import RunFolder
    from albert_keras.runs.inference import evaluate_run, predict_with_run
    from albert_keras.runs.pretraining import PretrainingRun
    from albert_keras.runs.pretraining_config import PretrainingRunConfig

__getattr__, __dir__, __all__ = lazy_names(__spec__)
