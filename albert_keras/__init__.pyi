from . import analysis as analysis
from . import compression as compression
from . import converters as converters
from . import export as export
from . import models as models
from . import optimizers as optimizers
from . import pretraining as pretraining
from . import runs as runs
from . import tasks as tasks
from . import text as text
from . import training as training
from .analysis import count_parameters as count_parameters
from .analysis import plot_learning_curve as plot_learning_curve
from .config import PRESETS as PRESETS
from .config import AlbertConfig as AlbertConfig
from .converters import load_checkpoint as load_checkpoint
from .converters import save_checkpoint as save_checkpoint
from .export import export_onnx as export_onnx
from .export import export_saved_model as export_saved_model
from .export import export_serving as export_serving
from .export import export_tflite as export_tflite
from .export import load_exported as load_exported
from .models import AlbertBackbone as AlbertBackbone
from .models import AlbertEarlyExitClassifier as AlbertEarlyExitClassifier
from .models import AlbertJointQuestionAnswerer as AlbertJointQuestionAnswerer
from .models import AlbertMaskedLM as AlbertMaskedLM
from .models import AlbertMultipleChoice as AlbertMultipleChoice
from .models import AlbertPretrainer as AlbertPretrainer
from .models import AlbertQuestionAnswerer as AlbertQuestionAnswerer
from .models import AlbertTextClassifier as AlbertTextClassifier
from .models import AlbertTextEmbedder as AlbertTextEmbedder
from .models import AlbertTokenClassifier as AlbertTokenClassifier
from .optimizers import AdamW as AdamW
from .optimizers import Lamb as Lamb
from .optimizers import WarmupPolynomialDecay as WarmupPolynomialDecay
from .preprocessors import (
    AlbertJointQuestionAnswererPreprocessor as AlbertJointQuestionAnswererPreprocessor,
)
from .preprocessors import AlbertMaskedLMPreprocessor as AlbertMaskedLMPreprocessor
from .preprocessors import (
    AlbertMultipleChoicePreprocessor as AlbertMultipleChoicePreprocessor,
)
from .preprocessors import AlbertPretrainerPreprocessor as AlbertPretrainerPreprocessor
from .preprocessors import (
    AlbertQuestionAnswererPreprocessor as AlbertQuestionAnswererPreprocessor,
)
from .preprocessors import (
    AlbertTextClassifierPreprocessor as AlbertTextClassifierPreprocessor,
)
from .preprocessors import (
    AlbertTextEmbedderPreprocessor as AlbertTextEmbedderPreprocessor,
)
from .preprocessors import (
    AlbertTokenClassifierPreprocessor as AlbertTokenClassifierPreprocessor,
)
from .pretraining import PretrainingDataConfig as PretrainingDataConfig
from .pretraining import prepare_pretraining_data as prepare_pretraining_data
from .pretraining import pretraining_dataset as pretraining_dataset
from .runs import FinetuningRun as FinetuningRun
from .runs import FinetuningRunConfig as FinetuningRunConfig
from .runs import PretrainingRun as PretrainingRun
from .runs import PretrainingRunConfig as PretrainingRunConfig
from .runs import load_run as load_run
from .tokenizers import AlbertTokenizer as AlbertTokenizer
from .tokenizers import WordPieceTokenizer as WordPieceTokenizer
from .tokenizers import load_tokenizer as load_tokenizer
from .tokenizers import train_sentence_piece as train_sentence_piece
from .version import __version__ as __version__
