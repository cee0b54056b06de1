"""Multiple-choice questions: RACE, and others with options in JSON lines or TFDS."""

import dataclasses
import os
import pathlib
import string
from typing import ClassVar

import numpy as np

from albert_keras.checks import check_json, shown
from albert_keras.options import Range, option
from albert_keras.preprocessors.choices import ChoiceQuestions, pack_choices
from albert_keras.system.files import write_json
from albert_keras.tasks import reading
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows, Recipe, files_of
from albert_keras.tasks.metrics import majority_accuracy, score
from albert_keras.text.text_files import UTF_8
from albert_keras.text.tfds import PREFIX

# RACE's folders. The questions are from exams of these schools.
LEVELS = ("middle", "high")

LETTERS = string.ascii_uppercase

# Names of the parts of a question, in files and in dicts.
CONTEXT_KEYS = ("context", "article", "passage")
QUESTION_KEYS = ("question",)
OPTION_KEYS = ("options", "choices")

# Template for `check_json`.
_ARTICLE = {"article": str, "questions": [str], "options": [[str]]}


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
        default_factory=lambda: files_of("train.jsonl", "dev.jsonl", "test.jsonl")
    )
    max_question_length: int = option(
        "maximum number of tokens of a question", 128, Range(1, 2**16)
    )

    packing: ClassVar[tuple] = ("max_question_length",)

    def read(self, source, *, needs_labels=True):
        """Returns `ChoiceQuestions`."""
        rows = read_choice_questions(source, self.decoding)
        if needs_labels:
            reading.check_labelled(rows.answers, source, "an answer to each question")
        return rows

    def prepare(self, rows, *, training=False):
        options = self.packing_options()
        return PreparedRows(rows, pack_choices(self.tokenizer.encoder, rows, **options))

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
        articles, questions, options = reading.as_columns(
            samples, *names, optional=QUESTION_KEYS
        )
        questions = [question or "" for question in questions]
        return ChoiceQuestions(articles, questions, options, None, [""] * len(articles))

    def describe(self, prepared, predictions):
        """Returns question or context, options, scores and the best letter of rows."""
        rows = prepared.rows
        texts = zip(rows.articles, rows.questions, strict=True)
        columns = {
            "text": [question or context for context, question in texts],
            "options": rows.options,
            "logits": predictions.tolist(),
            "label": [LETTERS[position] for position in predictions.argmax(-1)],
        }
        return reading.as_rows(columns)

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
    files=files_of("train", "dev", "test"),
    tfds_name="race",
    tfds_splits={"train": "train", "validation": "dev"},
    # Lan et al. 2020, table 14.
    recipe=Recipe(2e-5, 32, 12_000, 1000, sequence_length=512, dropout=0.1),
)


def read_choice_questions(path, decoding=UTF_8):
    """Reads questions with options.

    Args:
        path: str or path, one of:

            *   a folder in RACE's layout: `middle/`, `high/` or both, with `.txt` files
                of JSON, `{"article", "questions", "options", "answers"}`; or one of these
                folders, for the questions of one level;
            *   a file of such JSON lines;
            *   a file of JSON lines with one question each,
                `{"context", "question", "options", "answer"}`; other names are `article`
                or `passage`, `choices` and `label`, and `context` may be absent;
            *   `"tfds:NAME:SPLIT"` with the features of either form: `"tfds:race:dev"`
                has both levels, `"tfds:race/high:dev"` one.

            Answers are letters from `A`, or numbers from 0. They may be absent in all
            questions.
        decoding: `Decoding` of the files.

    Returns:
        `ChoiceQuestions`, at least one.

    Raises:
        FileNotFoundError: If there is no such file or folder.
        ValueError: If a folder has no level, a line has another form, or only some
            questions have an answer; with the line.
    """
    rows, places = [], []
    for group, source in _sources(path):
        for where, article in reading.read_json_rows(source, decoding):
            for row in _questions_of(article, where):
                if rows and len(row[2]) != len(rows[0][2]):
                    raise ValueError(
                        "All questions must have the same number of options. Received: "
                        f"{where}, with {len(row[2])}, and {len(rows[0][2])} before."
                    )
                rows.append((*row, group))
                places.append(where)
    if not rows:
        raise ValueError(f"There must be a question. Received: '{path}', without one.")
    articles, questions, options, answers, groups = map(list, zip(*rows, strict=True))
    answers = reading.labels_or_none(answers, places, "questions must have answers")
    return ChoiceQuestions(articles, questions, options, answers, groups)


def _sources(path):
    """Returns the group, RACE's level or `""`, and the source of each data set."""
    if reading.is_tfds(path):
        name, *split = str(path).removeprefix(PREFIX).split(":")
        kind, _, level = name.partition("/")
        # In TFDS the levels are configs.
        if kind == "race":
            levels = [level] if level else LEVELS
            return [
                (each, ":".join([f"{PREFIX}race/{each}", *split])) for each in levels
            ]
    if not os.path.isdir(path):
        return [("", path)]
    path = pathlib.Path(path)
    levels = [name for name in LEVELS if (path / name).is_dir()]
    if not levels and path.name in LEVELS:
        path, levels = path.parent, [path.name]
    if not levels:
        raise ValueError(
            f"A folder must have RACE's layout, with {' or '.join(LEVELS)} in it. "
            f"Received: '{path}'."
        )
    files = {name: sorted((path / name).glob("*.txt")) for name in levels}
    return [(name, file) for name in levels for file in files[name]]


def _questions_of(row, where):
    """Yields the article, question, options and answer (or None) of each question.

    `row` is an article with several questions, or one question.
    """
    article = reading.first_of(row, CONTEXT_KEYS)
    if "questions" not in row:
        names = {"questions": QUESTION_KEYS, "options": OPTION_KEYS}
        names["answers"] = ("answer", "label")
        row = {name: [reading.first_of(row, keys)] for name, keys in names.items()}
        article = "" if article is None else article
    check_json({**row, "article": article}, _ARTICLE, where)
    answers = row.get("answers")
    if answers is None:
        answers = [None] * len(row["questions"])
    columns = [row["questions"], row["options"], answers]
    sizes = {*map(len, columns[1])}
    if len({*map(len, columns)}) > 1 or not sizes <= {*range(2, len(LETTERS) + 1)}:
        raise ValueError(
            "Each question must have an answer, or none of them, and a list of 2 to "
            f"{len(LETTERS)} options. Received: {where}: {shown(row)}."
        )
    for question, options, answer in zip(*columns, strict=True):
        yield article, question, options, _answer_index(answer, len(options), where)


def _answer_index(answer, num_options, where):
    """Returns the position of an option by its letter or number; None stays None."""
    if answer is None:
        return None
    index = answer
    if isinstance(answer, str) and len(answer) == 1:
        index = int(answer) if answer.isdecimal() else LETTERS.find(answer.upper())
    if not (type(index) is int and 0 <= index < num_options):
        raise ValueError(
            f"An answer must be one of the letters {LETTERS[:num_options]}, or a number "
            f"from 0 to {num_options - 1}. Received: {where}: {answer!r:.80}."
        )
    return index
