"""Classification with labels that were not trained on, by an entailment classifier."""

import dataclasses

import numpy as np

from albert_keras.checks import check_is_list, shown
from albert_keras.tasks.metrics import check_finite_outputs
from albert_keras.tasks.prediction import task_of
from albert_keras.tasks.text_classification.task import TextClassificationTask

TEMPLATE = "This example is {}."


def zero_shot_task(model, labels, template=TEMPLATE, multi_label=False):
    """Returns a classification task for labels that the model was not trained on.

    The probability of a label is that of the text entailing the template with the label.
    Probabilities equal those of transformers' zero-shot pipeline.

    Args:
        model: `AlbertTextClassifier` with a preprocessor and a label that begins with
            `entail`, as for MNLI.
        labels: List of str.
        template: str with `{}` for a label. Default: that of transformers.
        multi_label: bool. Whether a text may have several labels. Each label then has
            the probability of entailment against the first label of the model, or
            against the last one if the first is entailment. This is also so for a
            single label.

    Raises:
        TypeError, ValueError: If the model or an argument is another.

    Reference: Yin et al. 2019, Benchmarking zero-shot text classification, arXiv
    1909.00161.
    """
    check_is_list("labels", labels)
    if not labels or len({*labels}) < len(labels) or "{}" not in template:
        raise ValueError(
            "New labels must be at least one name, different ones, for {} in `template`. "
            f"Received: labels={shown(labels)}, template={shown(template)}."
        )
    spec = model.export_spec()
    names = [name.lower() for name in (spec.kind == "classes" and spec.labels) or ()]
    found = [number for number, name in enumerate(names) if name.startswith("entail")]
    if not found or spec.output_name != "logits":
        raise ValueError(
            "New labels need a classifier with logits of a label that begins with "
            f"`entail`, as one for MNLI. Received: {type(model).__name__} with labels="
            f"{shown(names)} and {spec.output_name}."
        )
    base = task_of(model)
    return ZeroShotTask(
        labels=(*labels,),
        template=template,
        entailment=found[0],
        multi_label=multi_label or len(labels) == 1,
        tokenizer=base.tokenizer,
        recipe=base.recipe,
    )


@dataclasses.dataclass(frozen=True)
class ZeroShotTask(TextClassificationTask):
    """New labels, made by `zero_shot_task`. Predictions are probabilities of labels."""

    template: str = TEMPLATE
    entailment: int = 0
    multi_label: bool = False

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows` of all pairs of a text and a label, text by text."""
        if rows.pairs is not None:
            raise ValueError("Labels are for single texts. Received: pairs of texts.")
        # In a pair that is too long the text is cut, unless a label fills half a row.
        pairs = [self.template.replace("{}", label) for label in self.labels]
        pairs *= len(rows.texts)
        texts = [text for text in rows.texts for _ in self.labels]
        prepared = super().prepare(rows._replace(texts=texts, pairs=pairs, labels=None))
        return prepared._replace(rows=rows)

    def predict(self, model, prepared, batch_size):
        """Returns the probabilities of labels, float32 `(num_texts, num_labels)`."""
        from scipy.special import expit, softmax

        logits = self.example_outputs(model, prepared.examples, batch_size)
        check_finite_outputs(logits)
        shape = -1, len(self.labels), logits.shape[1]
        logits = logits.astype(np.float32).reshape(shape)
        scores = logits[..., self.entailment]
        if self.multi_label:
            return expit(scores - logits[..., 0 if self.entailment else -1])
        return softmax(scores, axis=-1)

    def described(self, probabilities):
        """Returns the best `label`, and `probabilities` by label, of each text."""
        best = [self.labels[index] for index in probabilities.argmax(axis=-1)]
        return {"label": best, "probabilities": self.by_label(probabilities)}
