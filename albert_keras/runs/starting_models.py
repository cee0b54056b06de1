"""Models to start runs from: with random weights, or from a checkpoint."""

import dataclasses

from albert_keras.config import ATTENTION_FIELDS
from albert_keras.converters import Checkpoint, change_architecture, load_checkpoint
from albert_keras.models import AlbertBackbone
from albert_keras.options import check_unused
from albert_keras.runs.reporting import note

# Model options that may differ from a checkpoint's.
FREE = (
    *("max_sequence_length", "dropout", "attention_dropout", "rematerialization"),
    *ATTENTION_FIELDS,
)


class PretrainingStart:
    """The configuration `shape` of a model to pretrain, and its first weights.

    A checkpoint has its own shape; options for another one are a ValueError.
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
        """Builds the task's model; call it inside a strategy's scope.

        A head gets the checkpoint's weights if the checkpoint has it. A sentence-pair
        head with other classes is new.
        """
        backbone = AlbertBackbone(**self.shape.to_dict(), dtype=self.precision)
        model = task.build_model(backbone)
        if self.checkpoint:
            backbone.set_weights(_backbone_of(self.checkpoint).get_weights())
            heads = {layer.name: layer for layer in self.checkpoint.layers}
            for layer in model.layers:
                if layer.name not in ("mlm", "sop") or layer.name not in heads:
                    continue
                head = heads[layer.name]
                if [v.shape for v in layer.weights] == [v.shape for v in head.weights]:
                    layer.set_weights(head.get_weights())
                else:
                    note(
                        f"the checkpoint's sentence-pair head has {head.units} classes "
                        f"and not {layer.units}: the model has a new one"
                    )
        return model


def _backbone_of(model):
    return getattr(model, "backbone", model)


def load_backbone(config, dropout):
    """Loads the backbone of a fine-tuning run's checkpoint.

    `dropout` is the rate for hidden values and attention, or None for the checkpoint's.
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
    """Copies the head of a fine-tuning run's checkpoint to the exits of a model.

    Raises:
        ValueError: If the checkpoint is not a classifier with the same labels.
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
