"""Multiple-choice questions: RACE, and others with options in JSON lines."""

import dataclasses
from typing import ClassVar

import numpy as np

from albert_keras.options import Range, option
from albert_keras.preprocessors.choices import ChoiceQuestions, pack_choices
from albert_keras.system.files import write_json
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows, Recipe
from albert_keras.tasks.metrics import majority_accuracy, score
from albert_keras.tasks.multiple_choice.reading import (
    CONTEXT_KEYS,
    LETTERS,
    OPTION_KEYS,
    QUESTION_KEYS,
    read_choice_questions,
)
from albert_keras.tasks.reading import as_columns, check_labelled


@dataclasses.dataclass(frozen=True)
class MultipleChoiceTask(FinetuningTask):
    """Choice of the option that answers a question, with or without an article.

    Args:
        max_question_length: int. The last tokens of question and option that are kept.
            Default 128, the original's; without this limit RACE scores 20 points less
            (huggingface/transformers issue 3522).

    Reference: google-research/albert race_utils.py.
    """

    files: dict = dataclasses.field(
        default_factory=lambda: {
            "train": "train.jsonl",
            "validation": "dev.jsonl",
            "test": "test.jsonl",
        }
    )
    max_question_length: int = option(
        "maximum number of tokens of a question", 128, Range(1, 2**16)
    )

    packing: ClassVar[tuple] = ("max_question_length",)

    def read(self, source, *, needs_labels=True):
        """Returns `ChoiceQuestions`."""
        rows = read_choice_questions(source, self.decoding)
        if needs_labels:
            check_labelled(rows.answers, source, "an answer to each question")
        return rows

    def prepare(self, rows, *, training=False):
        examples = pack_choices(
            self.tokenizer.encoder,
            rows,
            sequence_length=self.recipe.sequence_length,
            max_question_length=self.max_question_length,
        )
        return PreparedRows(rows, examples)

    def build_model(self, backbone):
        from albert_keras.models import AlbertMultipleChoice

        return AlbertMultipleChoice(backbone, dropout=self.recipe.classifier_dropout)

    def score(self, prepared, predictions):
        """Returns the accuracy, also by level of RACE, and that of the majority answer.

        Args:
            prepared: `PreparedRows`.
            predictions: Scores of options, float `(num_questions, num_choices)`.
        """
        targets = np.array(prepared.rows.answers)
        groups = np.array(prepared.rows.groups)
        results = score(("accuracy",), targets, predictions)
        is_right = predictions.argmax(-1) == targets
        for group in sorted(set(groups.tolist()) - {""}):
            results[f"{group}_accuracy"] = float(is_right[groups == group].mean())
        return {
            **results,
            "majority_accuracy": majority_accuracy(targets),
            "num_examples": len(targets),
            "num_predicted_labels": len(np.unique(predictions.argmax(-1))),
        }

    def rows_of(self, samples):
        """Returns `ChoiceQuestions` of tuples, or of dicts with the names in files.

        A tuple has context, question and options, or only context and options.
        """
        names = (CONTEXT_KEYS, QUESTION_KEYS, OPTION_KEYS)
        articles, questions, options = as_columns(
            samples, *names, optional=QUESTION_KEYS
        )
        questions = [question or "" for question in questions]
        return ChoiceQuestions(articles, questions, options, None, [""] * len(articles))

    def describe(self, prepared, predictions):
        """Returns question or context, options, scores and the best letter of rows."""
        rows = prepared.rows
        return [
            {
                "text": question or context,
                "options": options,
                "logits": scores.tolist(),
                "label": LETTERS[scores.argmax()],
            }
            for context, question, options, scores in zip(
                rows.articles, rows.questions, rows.options, predictions, strict=True
            )
        ]

    def truths(self, rows):
        return [[LETTERS[position]] for position in rows.answers]

    def has_submission(self, path):
        return path.suffix == ".json"

    def write_submission(self, path, prepared, predictions):
        """Writes the letters of the best options as JSON, like RACE's answers."""
        letters = [LETTERS[position] for position in predictions.argmax(-1)]
        write_json(path, {"answers": letters})

    def text_keys(self, rows):
        return list(zip(rows.articles, rows.questions, strict=True))

    def split_keys(self, rows):
        """Returns the articles, or for questions without an article the questions."""
        texts = zip(rows.articles, rows.questions, strict=True)
        return [article or question for article, question in texts]

    def prior_loss(self, prepared):
        # The model scores each option alone, so it cannot prefer a position.
        return float(np.log(prepared.examples.num_choices))


RACE = MultipleChoiceTask(
    files={"train": "train", "validation": "dev", "test": "test"},
    tfds_name="race",
    tfds_splits={"train": "train", "validation": "dev"},
    # Lan et al. 2020, table 14.
    recipe=Recipe(2e-5, 32, 12_000, 1000, sequence_length=512, dropout=0.1),
)
