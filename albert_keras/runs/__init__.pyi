from .finetuning import FinetuningRun as FinetuningRun
from .finetuning_config import FinetuningRunConfig as FinetuningRunConfig
from .folder import RunFolder as RunFolder
from .inference import evaluate_run as evaluate_run
from .inference import predict_with_run as predict_with_run
from .pretraining import PretrainingRun as PretrainingRun
from .pretraining_config import PretrainingRunConfig as PretrainingRunConfig
