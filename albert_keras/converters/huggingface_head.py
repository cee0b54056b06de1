"""A head in Hugging Face's `config.json`: dropout, labels and activation."""

from albert_keras.checks import check_rate, shortened
from albert_keras.converters.heads import foreign_head
from albert_keras.models import HEADS
from albert_keras.models.classes import is_multi_label

# The default of transformers' config.
DEFAULT_DROPOUT = 0.1
LABELLED_HEADS = ("sequence_classification", "token_classification")
# A `problem_type`, with which transformers' pipelines use the sigmoid.
MULTI_LABEL = "multi_label_classification"


def read_options(stated, head):
    """Returns the options of a head in a config, a dict."""
    options = {}
    if keys := foreign_head(head).dropout_keys:
        dropout = stated.get(keys[0], DEFAULT_DROPOUT)
        if dropout is None and len(keys) > 1:
            dropout = stated.get(keys[1], 0.0)
        check_rate(keys[0], dropout)
        options["dropout"] = dropout
    if head in LABELLED_HEADS:
        options["labels"] = _read_labels(stated)
    if stated.get("problem_type") == MULTI_LABEL and head == "sequence_classification":
        options["activation"] = "sigmoid"
    return options


def head_values(model, head, labels=None):
    """Returns the values of a config about the head of a model, a dict.

    `labels` are the names of the classes, by default the model's own.
    """
    if head is None:
        return {}
    # transformers has dropout before the sentence-pair head; Google's code has none.
    values = {"classifier_dropout_prob": getattr(model, "dropout", 0.0)}
    num_classes = getattr(model, HEADS[head].class_argument or "", 0)
    if num_classes:
        labels = labels or getattr(model, "labels", None)
        labels = labels or _numbered_labels(num_classes)
        values["id2label"] = {str(i): label for i, label in enumerate(labels)}
        values["label2id"] = {label: i for i, label in enumerate(labels)}
    if head == "sequence_classification" and is_multi_label(model):
        values["problem_type"] = MULTI_LABEL
    elif head == "sequence_classification" and num_classes == 1:
        values["problem_type"] = "regression"
    return values


def _read_labels(stated):
    """Returns the names of the classes, or `None` where transformers numbered them."""
    names = stated.get("id2label") or {}
    if not isinstance(names, dict):
        raise ValueError(
            f"`id2label` must be a dict. Received: id2label={shortened(repr(names))}."
        )
    labels = [names.get(str(number)) for number in range(len(names))]
    # Classes may be numbers, such as stars, or booleans.
    labels = [str(name) if isinstance(name, int | float) else name for name in labels]
    return None if labels == _numbered_labels(len(names)) else labels


def _numbered_labels(num_classes):
    return [f"LABEL_{number}" for number in range(num_classes)]
