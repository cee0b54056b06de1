from .analysis import compare_curves as compare_curves
from .analysis import count_parameters as count_parameters
from .analysis import operation_table as operation_table
from .analysis import parameter_table as parameter_table
from .analysis import plot_comparison as plot_comparison
from .analysis import plot_confusion_matrix as plot_confusion_matrix
from .analysis import plot_learning_curve as plot_learning_curve
from .analysis import plot_operations as plot_operations
from .analysis import plot_parameters as plot_parameters
from .analysis import plot_similarity as plot_similarity
from .compression import EarlyExit as EarlyExit
from .compression import ExitRule as ExitRule
from .config import PRESETS as PRESETS
from .config import AlbertConfig as AlbertConfig
from .converters import change_architecture as change_architecture
from .converters import load_checkpoint as load_checkpoint
from .converters import resize_vocabulary as resize_vocabulary
from .converters import save_checkpoint as save_checkpoint
from .export import export_calibrated_tflite as export_calibrated_tflite
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
from .models import ContrastiveLoss as ContrastiveLoss
from .models import CosentLoss as CosentLoss
from .models import EmbeddingLearner as EmbeddingLearner
from .models import TeacherVectorLoss as TeacherVectorLoss
from .optimizers import AdamW as AdamW
from .optimizers import Lamb as Lamb
from .optimizers import Muon as Muon
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
from .pretraining import (
    pretraining_validation_dataset as pretraining_validation_dataset,
)
from .runs import DistillationRun as DistillationRun
from .runs import DistillationRunConfig as DistillationRunConfig
from .runs import FinetuningRun as FinetuningRun
from .runs import FinetuningRunConfig as FinetuningRunConfig
from .runs import PretrainingRun as PretrainingRun
from .runs import PretrainingRunConfig as PretrainingRunConfig
from .runs import RowOptions as RowOptions
from .runs import RunFolder as RunFolder
from .runs import calibrate_run as calibrate_run
from .runs import evaluate_run as evaluate_run
from .runs import export_run as export_run
from .runs import load_run as load_run
from .runs import measure_similarity as measure_similarity
from .runs import predict_with_run as predict_with_run
from .tasks import TASKS as TASKS
from .tasks.masked_words import fill_mask as fill_mask
from .tasks.prediction import answer_questions as answer_questions
from .tasks.prediction import tag_words as tag_words
from .text import read_documents as read_documents
from .tokenizers import AlbertTokenizer as AlbertTokenizer
from .tokenizers import WordPieceTokenizer as WordPieceTokenizer
from .tokenizers import load_tokenizer as load_tokenizer
from .tokenizers import train_sentence_piece as train_sentence_piece
from .training import Trainer as Trainer
from .training import TrainerConfig as TrainerConfig
from .training import get_strategy as get_strategy
from .version import __version__ as __version__
