"""Classification without training, by a classifier of entailment."""

import dataclasses

import numpy as np

from albert_keras.checks import check_is_list, check_text, shown
from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.metrics import check_finite_outputs
from albert_keras.tasks.prediction import task_of
from albert_keras.tasks.text_classification import (
    MultiLabelTask,
    TextClassificationTask,
)
from albert_keras.text import Examples
from albert_keras.tokenizers.packing import (
    num_special_tokens,
    pack_segments,
    whole_texts,
)

TEMPLATE = "This example is {}."


def zero_shot_task(model, labels, template=TEMPLATE, multi_label=False):
    """Returns the task of labels that a classifier of entailment was not trained on.

    A label is as probable as the text entails the template with it. The probabilities
    are those of the zero-shot pipeline of transformers.

    Args:
        model: `AlbertTextClassifier` with a preprocessor, and labels of which one begins
            with `entail`, as of MNLI.
        labels: List of str.
        template: str with `{}` for a label. Default that of transformers.
        multi_label: bool. Whether several labels may hold: then the probabilities are of
            entailment against the first label of the model (against the last one, if
            the first is entailment). So they are for a single label.

    Raises:
        TypeError, ValueError: If the model or an argument is none of these.

    Reference: Yin et al. 2019, Benchmarking zero-shot text classification, arXiv
    1909.00161.
    """
    from albert_keras.models import AlbertTextClassifier
    from albert_keras.models.classes import activation_of

    check_is_list("labels", labels)
    labels = tuple(labels)
    for label in labels:
        check_text(label)
    if not labels or len(set(labels)) < len(labels):
        raise ValueError(
            "`labels` must be at least one name, and different ones. "
            f"Received: labels={shown(labels)}."
        )
    if "{}" not in template:
        raise ValueError(
            "`template` must have {} in the place of a label. "
            f"Received: template={shown(template)}."
        )
    is_classifier = isinstance(model, AlbertTextClassifier)
    names = [name.lower() for name in (is_classifier and model.labels) or ()]
    found = [number for number, name in enumerate(names) if name.startswith("entail")]
    if not found or activation_of(model).__name__ != "linear":
        raise ValueError(
            "New labels need a classifier that gives logits of a label that begins with "
            f"`entail`, as one for MNLI. Received: {type(model).__name__} with labels="
            f"{shown(names)}, activation={activation_of(model).__name__}."
        )
    base = task_of(model)
    several = multi_label or len(labels) == 1
    return (_SeveralLabels if several else _OneLabel)(
        labels=labels,
        template=template,
        entailment=found[0],
        tokenizer=base.tokenizer,
        recipe=base.recipe,
    )


class _ByEntailment:
    """Pairs of each text and each label in a template, and the model's logits of them."""

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows` of all pairs of a text and a label, label by label."""
        if rows.pairs is not None:
            raise ValueError("Labels are of single texts. Received: pairs of texts.")
        encoder = self.tokenizer.encoder
        hypotheses = [self.template.replace("{}", label) for label in self.labels]
        second = whole_texts(*encoder.encode_ragged(hypotheses))
        first = whole_texts(*encoder.encode_ragged(rows.texts))
        # The text is cut, and never the label. (num_labels,)
        room = self.recipe.sequence_length - num_special_tokens(2) - second.lengths
        if room.min() < 0:
            raise ValueError(
                "A label in the template must leave room in the model's "
                f"{self.recipe.sequence_length} tokens. Received: "
                f"{shown(self.labels[room.argmin()])}."
            )
        # (num_texts, num_labels)
        kept = np.minimum(first.lengths[:, np.newaxis], room)
        text_of, label_of = (index.ravel() for index in np.indices(kept.shape))
        pairs = [
            first._replace(starts=first.starts[text_of], lengths=kept.ravel()),
            second._replace(
                starts=second.starts[label_of], lengths=second.lengths[label_of]
            ),
        ]
        packed = pack_segments(pairs, encoder.cls_token_id, encoder.sep_token_id)
        return PreparedRows(rows, Examples(*packed))

    def predict(self, model, prepared, batch_size):
        logits = self.example_outputs(model, prepared.examples, batch_size)
        check_finite_outputs(logits)
        shape = (len(prepared.rows.texts), len(self.labels), -1)
        # (num_texts, num_labels, num_classes)
        return self.scores(logits.astype(np.float32).reshape(shape))


@dataclasses.dataclass(frozen=True)
class _OneLabel(_ByEntailment, TextClassificationTask):
    """Labels of which one holds; predictions are logits of entailment."""

    template: str = TEMPLATE
    entailment: int = 0

    def scores(self, logits):
        return logits[..., self.entailment]


@dataclasses.dataclass(frozen=True)
class _SeveralLabels(_ByEntailment, MultiLabelTask):
    """Labels of which several may hold; predictions are probabilities."""

    template: str = TEMPLATE
    entailment: int = 0

    def scores(self, logits):
        from scipy.special import expit

        other = logits[..., 0 if self.entailment else -1]
        return expit(logits[..., self.entailment] - other)
