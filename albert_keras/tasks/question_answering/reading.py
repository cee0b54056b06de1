"""Reader of questions about texts: JSON of SQuAD and CMRC 2018, tables, and TFDS."""

import itertools
import pathlib

from albert_keras.checks import shown
from albert_keras.preprocessors.answer_spans import Question
from albert_keras.system.files import read_json
from albert_keras.tasks.reading import is_tfds, read_json_rows
from albert_keras.text.tables import read_table
from albert_keras.text.text_files import UTF_8

# Suffixes of tables of questions, which have no answers.
TABLES = (".csv", ".tsv", ".jsonl")


def read_questions(path, decoding=UTF_8):
    """Reads questions in SQuAD's layout, or questions without answers from a table.

    Args:
        path: str or path, one of:

            *   a JSON file in the layout of SQuAD 1.1 or 2.0, which CMRC 2018 has too;
                answers may be absent;
            *   `"tfds:NAME:SPLIT"` with SQuAD's features, as `"tfds:squad/v2.0:train"`;
            *   a table with one of the suffixes `TABLES` and the columns `question`,
                `context` (in JSON lines also a list) and optionally `id`.
        decoding: `Decoding` of the file.

    Returns:
        List of `Question`, at least one, in the file's order.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not JSON or has another layout, or two questions have
            the same id; with the article, paragraph and question.

    Reference: Rajpurkar et al. 2016, arXiv 1606.05250; Rajpurkar et al. 2018, arXiv
    1806.03822; Cui et al. 2019, arXiv 1810.07366.
    """
    questions = {}
    is_table = pathlib.Path(str(path).removesuffix(".gz")).suffix in TABLES
    read = _read_tfds if is_tfds(path) else _read_table if is_table else _read_file
    for place, contexts, entry in read(path, decoding):
        question = _read_question(entry, None, place)
        if question.id in questions:
            raise ValueError(
                "Ids of questions must be different. "
                f"Received: {place}, a second question {question.id!r}."
            )
        questions[question.id] = [
            question._replace(context=context) for context in each_context(contexts)
        ]
    if not questions:
        raise ValueError(f"A file must hold a question. Received: '{path}', none.")
    return list(itertools.chain(*questions.values()))


def each_context(contexts):
    """Returns the contexts of a question, given as a text or a list of texts."""
    contexts = [contexts] if isinstance(contexts, str) else contexts
    is_list = isinstance(contexts, list | tuple) and contexts
    if not is_list or not all(isinstance(context, str) for context in contexts):
        raise ValueError(
            "The context of a question must be a text, or a list of them. "
            f"Received: {shown(contexts)}."
        )
    return contexts


def _read_table(path, decoding):
    """Yields the place (for errors), contexts and JSON object of each question."""
    rows = read_table(path, columns=("question", "context"), decoding=decoding)
    for number, row in rows:
        place, context = f"'{path}', line {number}", row["context"]
        if not isinstance(context, tuple):
            context = _take(row, "context", str, place)
        yield place, context, {**row, "id": row.get("id") or str(number), "answers": []}


def _read_tfds(source, decoding):
    """Yields the place (for errors), context and JSON object of each question."""
    for place, example in read_json_rows(source, decoding):
        answers = _take(example, "answers", dict, place, default={})
        # TFDS has columns of texts and starts instead of a list of answers.
        example["answers"] = [
            dict(zip(answers, values, strict=True))
            for values in zip(*answers.values(), strict=True)
        ]
        yield place, _take(example, "context", str, place), example


def _read_file(path, decoding):
    """Yields the place (for errors), context and JSON object of each question."""
    articles = _take(read_json(path, *decoding), "data", list, f"'{path}'")
    for number, article in enumerate(articles, start=1):
        place = f"'{path}', article {number}"
        paragraphs = _take(article, "paragraphs", list, place)
        for index, paragraph in enumerate(paragraphs, start=1):
            where = f"{place}, paragraph {index}"
            context = _take(paragraph, "context", str, where)
            for entry in _take(paragraph, "qas", list, where):
                yield where, context, entry


def _read_question(entry, context, place):
    question_id = _take(entry, "id", str, place)
    place = f"{place}, question {question_id!r}"
    answers = [
        (_take(answer, "text", str, place), _take(answer, "answer_start", int, place))
        for answer in _take(entry, "answers", list, place, default=[])
    ]
    return Question(
        id=question_id,
        question=_take(entry, "question", str, place),
        context=context,
        answers=tuple(answers),
        is_impossible=_take(entry, "is_impossible", bool, place, default=False),
    )


_JSON_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    bool: "boolean",
}


def _take(entry, name, kind, place, default=None):
    """Returns a value of a JSON object, and checks its type."""
    value = entry.get(name, default) if isinstance(entry, dict) else None
    # `isinstance` would take a bool for an int.
    if type(value) is not kind:
        raise ValueError(
            f"`{name}` must be a JSON {_JSON_NAMES[kind]}, in SQuAD's layout. "
            f"Received: {place}: {shown(entry if value is None else value)}."
        )
    return value
