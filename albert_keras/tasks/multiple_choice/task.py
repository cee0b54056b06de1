"""Multiple choice: RACE, and any questions with options in JSON lines."""

import dataclasses

import numpy as np

from albert_keras.files import write_json
from albert_keras.models import AlbertMultipleChoice
from albert_keras.options import option
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.metrics import majority_accuracy, score
from albert_keras.tasks.multiple_choice.examples import pack_choices
from albert_keras.tasks.multiple_choice.reading import (
    LETTERS,
    LEVELS,
    read_choice_questions,
)
from albert_keras.tasks.recipe import Recipe


@dataclasses.dataclass(frozen=True)
class MultipleChoiceTask(FinetuningTask):
    """One of several options that answers a question, with an article or without.

    Args:
        max_question_length: int. Maximum number of tokens of question and option, whose
            ends are kept. Default 128, the original's; without it RACE scores 20 points
            less (huggingface/transformers issue 3522).
        level: str, or None. Part of RACE to read: `"middle"`, `"high"`, or all.

    Reference: google-research/albert race_utils.py.
    """

    files: dict = dataclasses.field(
        default_factory=lambda: {
            "train": "train.jsonl",
            "validation": "dev.jsonl",
            "test": "test.jsonl",
        }
    )
    max_question_length: int = option("maximum number of tokens of a question", 128)
    level: str | None = option("part of RACE (default: all)", None, choices=LEVELS)

    def read(self, source, *, needs_labels=True):
        """Returns the `ChoiceQuestions` of a file, a folder or a TFDS data set."""
        rows = read_choice_questions(source, self.level)
        if needs_labels and rows.answers is None:
            raise ValueError(
                "Training and evaluation need an answer to each question. "
                f"Received: '{source}', without answers."
            )
        return rows

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
        """Returns an `AlbertMultipleChoice` with a new head."""
        return AlbertMultipleChoice(backbone, dropout=self.recipe.classifier_dropout)

    def score(self, prepared, predictions):
        """Returns the accuracies, in all and by level of RACE, and of a baseline.

        Args:
            prepared: `PreparedRows`.
            predictions: Scores, float `(num_questions, num_choices)`.

        Returns:
            Dict: `accuracy`, `middle_accuracy` and `high_accuracy` if there are such
            questions, `majority_accuracy` of the most frequent position,
            `num_examples`, and the number of different positions predicted.
        """
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

    def describe(self, prepared, predictions):
        """Returns questions, options, scores, and the best option's letter as `label`."""
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
        """Writes the letters of the best options as JSON, like RACE's answers."""
        letters = [LETTERS[position] for position in predictions.argmax(-1)]
        write_json(path, {"answers": letters})

    def text_keys(self, rows):
        """Returns each question with its article."""
        return list(zip(rows.articles, rows.questions, strict=True))

    def prior_loss(self, prepared):
        """Returns the cross-entropy of equal probabilities, in nats.

        Positions do not matter: the model scores each option by itself.
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
