"""Reader of questions about texts: JSON of SQuAD and CMRC 2018, tables, and TFDS."""

import itertools
import pathlib

from albert_keras.checks import check_json, shown
from albert_keras.preprocessors.answer_spans import Question
from albert_keras.system.files import read_json
from albert_keras.tasks.reading import as_rows, is_tfds
from albert_keras.text.tables import read_table
from albert_keras.text.text_files import UTF_8
from albert_keras.text.tfds import read_tfds_examples

# Suffixes of tables of questions, which have no answers.
TABLES = (".csv", ".tsv", ".jsonl")

# Templates for `check_json`.
_LAYOUT = {"data": [{"paragraphs": [{"context": str, "qas": [dict]}]}]}
_ANSWERS = [{"text": str}]
_QUESTION = {"id": str, "question": str, "answers": _ANSWERS, "is_impossible": bool}


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
            the same id.

    Reference: Rajpurkar et al. 2016, arXiv 1606.05250; Rajpurkar et al. 2018, arXiv
    1806.03822; Cui et al. 2019, arXiv 1810.07366.
    """
    questions = {}
    is_table = pathlib.Path(str(path).removesuffix(".gz")).suffix in TABLES
    read = _read_tfds if is_tfds(path) else _read_table if is_table else _read_file
    for place, contexts, entry in read(path, decoding):
        question = _read_question(entry, place)
        if question.id in questions:
            raise ValueError(
                "Ids of questions must be different. "
                f"Received: '{place}', a second question {question.id!r}."
            )
        contexts = each_context(contexts, place)
        questions[question.id] = [question._replace(context=text) for text in contexts]
    if not questions:
        raise ValueError(f"A file must hold a question. Received: '{path}', none.")
    return list(itertools.chain(*questions.values()))


def each_context(contexts, place):
    """Returns the contexts of a question, given as a text or a list of texts.

    `place` is that of the question, for errors.
    """
    contexts = [contexts] if isinstance(contexts, str) else contexts
    is_list = isinstance(contexts, list | tuple) and contexts
    if not is_list or not all(isinstance(context, str) for context in contexts):
        raise ValueError(
            "The context of a question must be a text, or a list of them. "
            f"Received: {shown(contexts)} in '{place}'."
        )
    return contexts


def _read_table(path, decoding):
    """Yields the place (for errors), contexts and JSON object of each question."""
    rows = read_table(path, columns=("question", "context"), decoding=decoding)
    for number, row in rows:
        entry = {**row, "id": row.get("id") or str(number), "answers": []}
        yield f"{path}, line {number}", row["context"], entry


def _read_tfds(source, decoding):
    """Yields the place (for errors), context and JSON object of each question."""
    for number, row in read_tfds_examples(source):
        # TFDS has columns of texts and starts instead of a list of answers.
        row["answers"] = as_rows(row.get("answers") or {})
        yield f"{source}, row {number}", row.get("context"), row


def _read_file(path, decoding):
    """Yields the place (for errors), context and JSON object of each question."""
    content = read_json(path, *decoding)
    check_json(content, _LAYOUT, path)
    for number, article in enumerate(content["data"], start=1):
        for index, paragraph in enumerate(article["paragraphs"], start=1):
            place = f"{path}, article {number}, paragraph {index}"
            for entry in paragraph["qas"]:
                yield place, paragraph["context"], entry


def _read_question(entry, place):
    """Returns a `Question` without its context."""
    entry = {"answers": [], "is_impossible": False, **entry}
    place = f"{place}, question {entry.get('id')!r}"
    check_json(entry, _QUESTION, place)
    # -1, as in CMRC 2018, is an unknown position.
    answers = [
        (each["text"], each.get("answer_start", -1)) for each in entry["answers"]
    ]
    for _, start in answers:
        if type(start) is not int:
            raise ValueError(
                "`answer_start` must be an integer, the position of the answer's first "
                f"character, or -1. Received: {shown(start)} in '{place}'."
            )
    parts = (entry["id"], entry["question"], None)
    return Question(*parts, tuple(answers), entry["is_impossible"])
