"""Options that change a task of fine-tuning."""

import re

from albert_keras.cli.options import flag_of, positive_int
from albert_keras.tasks import HEADS, LONG_TEXTS
from albert_keras.tasks.multiple_choice.reading import LEVELS

# Fields of tasks that are options of the same name.
TASK_OPTIONS = (
    "long_texts",
    "class_weights",
    "label_smoothing",
    "level",
    "tag_feature",
    "head",
    "doc_stride",
    "max_question_length",
    "max_answer_length",
)

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")


def add_task_options(parser):
    """Adds `TASK_OPTIONS`."""
    group = parser.add_argument_group("options of some tasks")
    group.add_argument(
        "--long-texts",
        choices=LONG_TEXTS,
        help="what is kept of a text longer than a sequence; `windows` keeps all, and "
        "averages their logits",
    )
    group.add_argument(
        "--class-weights",
        nargs="+",
        metavar="LABEL=WEIGHT",
        help="weights of labels in the loss, or `balanced`",
    )
    group.add_argument(
        "--label-smoothing", type=float, help="share taken from the right label"
    )
    group.add_argument("--level", choices=LEVELS, help="part of RACE (default: all)")
    group.add_argument("--tag-feature", help="tags of a TFDS data set (default: ner)")
    group.add_argument(
        "--head",
        choices=HEADS,
        help="of question answering: start and end apart, or the joint head of SQuAD 2.0",
    )
    for name in ("doc_stride", "max_question_length", "max_answer_length"):
        group.add_argument(flag_of(name), type=positive_int, help="in tokens")


def parse_class_weights(words):
    """Returns `balanced`, or a dict from a label to its weight, or None.

    Raises:
        ValueError: If the words are neither `balanced` nor LABEL=WEIGHT.
    """
    if words is None or words == ["balanced"]:
        return words and "balanced"
    weights = {}
    for word in words:
        label, _, weight = word.rpartition("=")
        if not label or not _NUMBER.fullmatch(weight):
            raise ValueError(
                "Class weights must be `balanced` or LABEL=WEIGHT, with weights that are "
                f"not negative. Received: {' '.join(words)}."
            )
        weights[label] = float(weight)
    return weights
