"""Models that can be trained, saved and served; each head takes a backbone."""

from albert_keras.models.backbone import AlbertBackbone
from albert_keras.models.classifier import AlbertTextClassifier
from albert_keras.models.pretrainer import AlbertPretrainer

__all__ = ["AlbertBackbone", "AlbertPretrainer", "AlbertTextClassifier"]
