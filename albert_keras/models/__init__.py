"""Models that can be trained, saved and served; each head takes a backbone."""

from albert_keras.models.backbone import AlbertBackbone
from albert_keras.models.classifier import AlbertTextClassifier
from albert_keras.models.joint_question_answerer import AlbertJointQuestionAnswerer
from albert_keras.models.layer_rates import layer_rate_factors
from albert_keras.models.multiple_choice import AlbertMultipleChoice
from albert_keras.models.pretrainer import AlbertPretrainer
from albert_keras.models.question_answerer import AlbertQuestionAnswerer
from albert_keras.models.token_classifier import AlbertTokenClassifier

__all__ = [
    "AlbertBackbone",
    "AlbertJointQuestionAnswerer",
    "AlbertMultipleChoice",
    "AlbertPretrainer",
    "AlbertQuestionAnswerer",
    "AlbertTextClassifier",
    "AlbertTokenClassifier",
    "layer_rate_factors",
]
