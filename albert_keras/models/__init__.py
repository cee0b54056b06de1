"""Keras models: the backbone, and a class for each head.

Importing this package registers all Keras classes of saved models, such as tokenizers,
losses and optimizers, so that `keras.saving.load_model` finds them.
"""

import dataclasses

import albert_keras.optimizers
import albert_keras.tokenizers.sentence_piece
import albert_keras.tokenizers.word_piece
import albert_keras.train_step
from albert_keras.models.backbone import AlbertBackbone
from albert_keras.models.classifier import AlbertTextClassifier
from albert_keras.models.early_exit_classifier import AlbertEarlyExitClassifier
from albert_keras.models.embedding_learner import EmbeddingLearner
from albert_keras.models.embedding_losses import (
    ContrastiveLoss,
    CosentLoss,
    TeacherVectorLoss,
)
from albert_keras.models.joint_question_answerer import AlbertJointQuestionAnswerer
from albert_keras.models.layer_rates import layer_rate_factors
from albert_keras.models.masked_lm import AlbertMaskedLM
from albert_keras.models.multiple_choice import AlbertMultipleChoice
from albert_keras.models.pretrainer import AlbertPretrainer
from albert_keras.models.question_answerer import AlbertQuestionAnswerer
from albert_keras.models.text_embedder import AlbertTextEmbedder
from albert_keras.models.token_classifier import AlbertTokenClassifier
from albert_keras.preprocessors import AlbertPreprocessor
from albert_keras.tokenizers.base import EncoderTokenizer

# keras-hub's base classes find these classes by the class of a preset's backbone.
EncoderTokenizer.backbone_cls = AlbertPreprocessor.backbone_cls = AlbertBackbone


@dataclasses.dataclass(frozen=True)
class HeadSpec:
    """A head: its model class, and the variable that shows its number of classes.

    Args:
        model: `keras.Model` subclass, built as `model(backbone, **options)`.
        class_argument: str or `None`. Argument that takes the number of classes.
        class_bias: str or `None`. Path of the variable with one value for each class.
        same_variables: Tuple of other model classes with the same variables.
        may_be_new: bool. Whether a checkpoint without this head can be loaded with random
            weights, for fine-tuning.
        has_weights: bool. Whether the head always has variables. If not, it can be
            loaded from any backbone.
    """

    model: type
    class_argument: str | None = None
    class_bias: str | None = None
    same_variables: tuple = ()
    may_be_new: bool = True
    has_weights: bool = True


# By the names of heads in `load_checkpoint`, `convert --head` and the converters' tables.
_CLASSES = ("num_classes", "logits/bias")
HEADS = {
    "pretraining": HeadSpec(
        *(AlbertPretrainer, "num_pair_classes", "sop/bias"),
        same_variables=(AlbertMaskedLM,),
        may_be_new=False,
    ),
    "sequence_classification": HeadSpec(AlbertTextClassifier, *_CLASSES),
    "early_exit": HeadSpec(AlbertEarlyExitClassifier, *_CLASSES),
    "token_classification": HeadSpec(AlbertTokenClassifier, *_CLASSES),
    "question_answering": HeadSpec(AlbertQuestionAnswerer),
    "joint_question_answering": HeadSpec(AlbertJointQuestionAnswerer),
    "multiple_choice": HeadSpec(AlbertMultipleChoice),
    "text_embedding": HeadSpec(AlbertTextEmbedder, has_weights=False),
}
