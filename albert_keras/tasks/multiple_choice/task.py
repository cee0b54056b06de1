"""Multiple choice: RACE, and any questions with options in JSON lines."""

import dataclasses
from typing import ClassVar

import numpy as np

from albert_keras.models import AlbertMultipleChoice
from albert_keras.tasks.base import Recipe
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.metrics import (
    check_finite_outputs,
    majority_accuracy,
    score,
)
from albert_keras.tasks.multiple_choice.examples import pack_choices
from albert_keras.tasks.multiple_choice.reading import LETTERS, read_choice_questions
from albert_keras.tasks.submissions import write_choices


@dataclasses.dataclass(frozen=True)
class MultipleChoiceTask(FinetuningTask):
    """One of several options that answers a question, on an article or without.

    Args:
        max_question_length: int. Most tokens of question and option, whose ends are
            kept. Default 128, the original's; left out, RACE scores 20 points less
            (huggingface/transformers issue 3522).
        level: str, or None. Which part of RACE is read: `"middle"`, `"high"`, or all.

    Reference: google-research/albert race_utils.py.
    """

    files: dict = dataclasses.field(
        default_factory=lambda: {
            "train": "train.jsonl",
            "validation": "dev.jsonl",
            "test": "test.jsonl",
        }
    )
    max_question_length: int = 128
    level: str | None = None

    main_metric: ClassVar[str] = "accuracy"

    def read(self, source, *, needs_labels=True):
        """Returns the `ChoiceQuestions` of a file, a folder or a TFDS data set."""
        rows = read_choice_questions(source, self.level)
        if needs_labels and rows.answers is None:
            raise ValueError(
                "Training and evaluation need an answer to each question. "
                f"Received: '{source}', without answers."
            )
        return rows

    def for_run(self, rows, tokenizer):
        """Returns the task with its tokenizer."""
        return dataclasses.replace(self, tokenizer=tokenizer)

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`."""
        examples = pack_choices(
            self.tokenizer.encoder,
            rows,
            sequence_length=self.recipe.sequence_length,
            max_question_length=self.max_question_length,
        )
        return PreparedRows(rows, examples)

    def build_model(self, backbone):
        """Returns an `AlbertMultipleChoice` with a fresh head."""
        return AlbertMultipleChoice(backbone, dropout=self.recipe.classifier_dropout)

    def load_model(self, folder):
        """Returns the `AlbertMultipleChoice` of a finished run."""
        return AlbertMultipleChoice.from_preset(str(folder))

    def assemble(self, batch):
        """Returns features and the positions of the right options."""
        return self.features(batch), batch["labels"]

    def predict(self, model, prepared, batch_size):
        """Returns scores, float32 `(num_questions, num_choices)`."""
        examples = prepared.examples
        scores = np.zeros((examples.num_examples, examples.num_choices), np.float32)
        for rows, logits in self.outputs(model, examples, batch_size):
            scores[rows] = logits
        check_finite_outputs(scores)
        return scores

    def score(self, prepared, predictions):
        """Returns `accuracy`, of RACE's levels too, and that of the commonest answer."""
        targets = np.array(prepared.rows.answers)
        groups = np.array(prepared.rows.groups)
        by_group = {
            f"{group}_accuracy": score(
                ("accuracy",), targets[groups == group], predictions[groups == group]
            )["accuracy"]
            for group in sorted(set(groups.tolist()) - {""})
        }
        return {
            **score(("accuracy",), targets, predictions),
            **by_group,
            "majority_accuracy": majority_accuracy(targets),
            "num_examples": len(targets),
            "num_predicted_labels": len(set(predictions.argmax(-1).tolist())),
        }

    def rows_of(self, texts):
        """Refuses: a question with its options is not one text.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            "Questions with options are given as JSON lines. "
            f"Received: {len(texts)} texts. Use `--data`."
        )

    def describe(self, prepared, predictions):
        """Returns question, options, scores, and the letter of the best as `label`."""
        return [
            {
                "text": question,
                "options": options,
                "logits": scores.tolist(),
                "label": LETTERS[scores.argmax()],
            }
            for question, options, scores in zip(
                prepared.rows.questions, prepared.rows.options, predictions, strict=True
            )
        ]

    def write_submission(self, path, prepared, predictions):
        """Writes the letters of the best options as JSON."""
        write_choices(path, predictions.argmax(-1).tolist())

    def text_keys(self, rows):
        """Returns each question with its article."""
        return list(zip(rows.articles, rows.questions, strict=True))

    def prior_loss(self, prepared):
        """Returns the cross-entropy of equal chances, in nats.

        Not the entropy of the answers' letters: no score tells options apart that does
        not read them.
        """
        return float(np.log(prepared.examples.num_choices))


RACE = MultipleChoiceTask(
    files={"train": "train", "validation": "dev", "test": "test"},
    tfds_name="race",
    tfds_splits={"train": "train", "validation": "dev"},
    # Lan et al. 2020, table 14.
    recipe=Recipe(
        learning_rate=2e-5,
        batch_size=32,
        num_steps=12000,
        warmup_steps=1000,
        sequence_length=512,
        dropout=0.1,
    ),
)
