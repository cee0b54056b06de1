"""Models that runs start from: a shape with random weights, or a checkpoint."""

import dataclasses

from albert_keras.config import ATTENTION_FIELDS
from albert_keras.converters import Checkpoint, change_architecture, load_checkpoint
from albert_keras.models import AlbertBackbone
from albert_keras.options import check_unused
from albert_keras.runs.reporting import note

# Model options that a checkpoint's weights leave open.
FREE = (
    *("max_sequence_length", "dropout", "attention_dropout", "rematerialization"),
    *ATTENTION_FIELDS,
)


class PretrainingStart:
    """The shape of a model to pretrain, and its first weights.

    With a checkpoint, which has its own shape, another one is a ValueError.
    """

    def __init__(self, config, vocabulary_size):
        self.precision = config.precision
        self.checkpoint = None
        if not config.checkpoint:
            self.shape = config.shape(vocabulary_size=vocabulary_size)
            return
        options = config.model_options
        fixed = {name: v for name, v in options.items() if name not in FREE}
        fixed["preset"] = config.preset
        check_unused(fixed, fixed, "a model with the weights of a checkpoint")
        # A backbone alone gets new heads.
        head = "pretraining" if Checkpoint.find(config.checkpoint).head else None
        checkpoint = load_checkpoint(config.checkpoint, head=head)
        self.checkpoint = change_architecture(checkpoint, **options)
        self.shape = _backbone_of(self.checkpoint).albert_config

    def build(self, task):
        """Returns the task's model; call it inside a strategy's scope.

        Heads of the checkpoint are taken over where the task has them too: a pair head
        that the checkpoint lacks, or has with other classes, is new.
        """
        backbone = AlbertBackbone(**self.shape.to_dict(), dtype=self.precision)
        model = task.build_model(backbone)
        if self.checkpoint:
            backbone.set_weights(_backbone_of(self.checkpoint).get_weights())
            heads = {layer.name: layer for layer in self.checkpoint.layers}
            for layer in model.layers:
                if layer.name in ("mlm", "sop") and layer.name in heads:
                    _take_over(layer, heads[layer.name])
        return model


def _backbone_of(model):
    return getattr(model, "backbone", model)


def _take_over(layer, other):
    """Sets the weights of a head to another one's, unless their classes differ."""
    if [v.shape for v in layer.weights] == [v.shape for v in other.weights]:
        layer.set_weights(other.get_weights())
    else:
        note(
            f"the checkpoint's sentence-pair head has {other.units} classes and not "
            f"{layer.units}: the model has a new one"
        )


def load_backbone(config, dropout):
    """Returns the backbone of a fine-tuning run's checkpoint.

    `dropout` is that of hidden values and attention, or None to leave it.
    """
    backbone = load_checkpoint(config.checkpoint, head=None)
    if config.model_options:
        backbone = change_architecture(backbone, **config.model_options)
    shape = backbone.albert_config
    if dropout is not None:
        shape = dataclasses.replace(shape, dropout=dropout, attention_dropout=dropout)
    is_same = shape == backbone.albert_config and config.precision == "float32"
    if is_same and not config.random_weights:
        return backbone
    fresh = AlbertBackbone(**shape.to_dict(), dtype=config.precision)
    if not config.random_weights:
        fresh.set_weights(backbone.get_weights())
    return fresh


def add_exits_to_classifier(model, config):
    """Begins the exits of a model with the head of a fine-tuning run's checkpoint.

    Raises:
        ValueError: If the checkpoint is not a classifier of the same labels.
    """
    checkpoint = config.checkpoint
    check_unused(
        {"num_layers": None, **dataclasses.asdict(config), **config.model_options},
        ("random_weights", "freeze", "num_layers"),
        "early_exit=two-stage, where a finished classifier stays as it is",
    )
    if Checkpoint.find(checkpoint).head != "sequence_classification":
        raise ValueError(
            f"Exits in two stages need a finished classifier. Received: '{checkpoint}', "
            "which is none. Fine-tune it first, or take early_exit=joint."
        )
    classifier = load_checkpoint(checkpoint, head="sequence_classification")
    same_labels = classifier.labels in (None, model.labels)
    if classifier.num_classes != model.num_classes or not same_labels:
        raise ValueError(
            "Exits must have the labels of the classifier. Received: "
            f"{model.labels or model.num_classes} for '{checkpoint}', which has "
            f"{classifier.labels or classifier.num_classes}."
        )
    model.take_over_head(classifier)


def freeze(backbone, part):
    """Makes a part of a backbone untrainable: `embeddings`, `backbone` or None."""
    if part == "embeddings":
        backbone.embedding.trainable = False
    elif part == "backbone":
        backbone.trainable = False
