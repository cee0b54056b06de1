"""ALBERT ("A Lite BERT") for Keras 3 and TensorFlow.

The public interface. A module is imported on the first access to one of its names, so
that models run where TensorFlow is absent, and data preparation where Keras is absent.
To load a saved model with Keras' own functions, first `import albert_keras.models`,
which registers the classes that it may consist of.
"""

from typing import TYPE_CHECKING

from albert_keras.lazy import lazy_names
from albert_keras.version import __version__

if TYPE_CHECKING:
    from albert_keras.analysis import count_parameters
    from albert_keras.config import PRESETS, AlbertConfig
    from albert_keras.converters import (
        change_architecture,
        load_checkpoint,
        resize_vocabulary,
        save_checkpoint,
    )
    from albert_keras.export import (
        export_saved_model,
        export_tflite,
        load_exported,
        load_saved_model,
        load_tflite,
    )
    from albert_keras.models import (
        AlbertBackbone,
        AlbertJointQuestionAnswerer,
        AlbertMultipleChoice,
        AlbertPretrainer,
        AlbertQuestionAnswerer,
        AlbertTextClassifier,
        AlbertTextClassifierPreprocessor,
        AlbertTokenClassifier,
    )
    from albert_keras.optimizers import AdamW, Lamb, WarmupPolynomialDecay
    from albert_keras.pretraining import (
        PretrainingDataConfig,
        prepare_pretraining_data,
        pretraining_dataset,
        pretraining_validation_dataset,
    )
    from albert_keras.runs import (
        FinetuningRun,
        FinetuningRunConfig,
        PretrainingRun,
        PretrainingRunConfig,
        RunFolder,
        evaluate_run,
        predict_with_run,
    )
    from albert_keras.tasks import TASKS
    from albert_keras.text import read_documents
    from albert_keras.tokenizers import (
        AlbertTokenizer,
        WordPieceTokenizer,
        load_tokenizer,
        train_sentence_piece,
    )
    from albert_keras.training import Trainer, TrainerConfig, get_strategy

__getattr__, __dir__, __all__ = lazy_names(__spec__)
