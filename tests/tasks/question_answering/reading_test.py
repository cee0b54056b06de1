"""Question files: three layouts, and errors that name the place."""

import json

import numpy as np
import pytest

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.tasks.question_answering.reading import read_questions
from tests.tfds_data_sets import prepare

CONTEXT = "Zoë was born in 1962."


def write(tmp_path, *paragraphs, articles=1):
    data = [{"title": "Zoë", "paragraphs": list(paragraphs)}] * articles
    path = tmp_path / "questions.json"
    path.write_text(json.dumps({"version": "1.1", "data": data}), "utf-8")
    return path


def paragraph(*entries, **more):
    entries = [{"question": f"{e.get('id')}?", **e} for e in entries]
    return {"context": CONTEXT, "qas": entries, **more}


def test_versions_1_and_2_and_no_answers(tmp_path):
    year = {"text": "1962", "answer_start": 16}
    name = {"text": "Zoë", "answer_start": 0}
    path = write(
        tmp_path,
        paragraph({"id": "who", "answers": [name, year]}),
        paragraph(
            {"id": "where", "answers": [], "is_impossible": True},
            {"id": "when", "answers": [year], "is_impossible": False},
            {"id": "unlabelled"},
            id="CMRC has ids of paragraphs",
        ),
    )
    assert read_questions(path) == [
        Question("who", "who?", CONTEXT, (("Zoë", 0), ("1962", 16)), False),
        Question("where", "where?", CONTEXT, (), True),
        Question("when", "when?", CONTEXT, (("1962", 16),), False),
        Question("unlabelled", "unlabelled?", CONTEXT, (), False),
    ]


def test_tables_have_questions_and_contexts(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text('Question,context,note\nWho?,"Ann, I think.",x\nWhy?,So.,y\n')
    expected = [Question("2", "Who?", "Ann, I think."), Question("3", "Why?", "So.")]
    assert read_questions(path) == expected
    path = tmp_path / "questions.jsonl"
    row = {"id": 7, "question": "Who?", "context": ["Ann.", "Ben."]}
    path.write_text(json.dumps(row))
    contexts = row["context"]
    assert read_questions(path) == [Question("7", "Who?", text) for text in contexts]
    path.write_text(json.dumps({"question": "Who?", "context": None}))
    with pytest.raises(ValueError, match="`context` must be a JSON string.*line 1"):
        read_questions(path)


def test_wrong_starts_are_kept(tmp_path):
    answers = [
        {"text": "1962", "answer_start": 99},
        {"text": "1963", "answer_start": 0},
    ]
    (question,) = read_questions(
        write(tmp_path, paragraph({"id": "q", "answers": answers}))
    )
    assert question.answers == (("1962", 99), ("1963", 0))


@pytest.mark.parametrize(
    ("paragraphs", "message"),
    [
        ([{"qas": []}], "`context` must be a JSON string, .*article 1, paragraph 1: {"),
        ([paragraph(), {"context": "c"}], "`qas` .* article 1, paragraph 2: "),
        ([paragraph({"id": 7})], "`id` must be a JSON string.*paragraph 1: 7"),
        ([paragraph({"id": "q", "question": None})], "`question` .*question 'q': "),
        (
            [paragraph({"id": "q", "answers": "x"})],
            "`answers` must be a JSON array.*'x'",
        ),
        (
            [paragraph({"id": "q", "answers": [{"text": "x"}]})],
            "`answer_start` must be a JSON integer.*question 'q': {'text': 'x'}",
        ),
        (
            [paragraph({"id": "q", "answers": [{"text": "x", "answer_start": True}]})],
            "`answer_start` .*question 'q': True",
        ),
        (
            [paragraph({"id": "q", "is_impossible": 1})],
            "`is_impossible` must be a JSON boolean.*question 'q': 1",
        ),
        ([7], "`context` .*paragraph 1: 7"),
        (
            [paragraph({"id": "q"}), paragraph({"id": "q"})],
            "article 1, paragraph 2, a second .* 'q'",
        ),
        ([paragraph()], "must hold a question. Received: .*questions.json', none"),
    ],
)
def test_errors_name_the_place(tmp_path, paragraphs, message):
    with pytest.raises(ValueError, match=message):
        read_questions(write(tmp_path, *paragraphs))


def test_long_values_are_shortened_in_errors(tmp_path):
    with pytest.raises(ValueError, match="x{70,79}\\.\\.\\.\\.$"):
        read_questions(write(tmp_path, paragraph({"id": "q", "answers": "x" * 999})))


def test_second_article_with_the_same_ids(tmp_path):
    path = write(tmp_path, paragraph({"id": "q"}), articles=2)
    with pytest.raises(ValueError, match="article 2, .* a second question 'q'"):
        read_questions(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "must hold a JSON object. Received: .*questions.json"),
        ("{", "must be JSON. Received: .*questions.json"),
        ('{"data": {}}', "`data` must be a JSON array.*questions.json': {}"),
        ('{"version": 1}', "`data` must be a JSON array.*{'version': 1}"),
        ('{"data": [{"title": "a"}]}', "`paragraphs` .*article 1: {'title': 'a'}"),
    ],
)
def test_other_files(tmp_path, content, message):
    path = tmp_path / "questions.json"
    path.write_text(content, "utf-8")
    with pytest.raises(ValueError, match=message):
        read_questions(path)


@pytest.fixture
def prepare_questions(tmp_path):
    """Returns a function of rows and features to a data set in TFDS."""
    tfds = pytest.importorskip("tensorflow_datasets")
    answers = {"text": tfds.features.Text(), "answer_start": np.int32}
    known = {
        **dict.fromkeys(("id", "question", "context"), tfds.features.Text()),
        "answers": tfds.features.Sequence(answers),
        "is_impossible": np.bool_,
    }

    def make(*rows):
        features = {name: known[name] for name in rows[0]}
        folder = prepare(tmp_path / "asked/1.0.0", features, {"train": [rows]})
        return f"tfds:{folder}:train"

    return make


@pytest.mark.filterwarnings("ignore:label.. is deprecated")
def test_data_sets_in_tfds(prepare_questions):
    answers = {"text": ["Zoë", "1962"], "answer_start": [0, 16]}
    row = {"id": "who", "question": "Who?", "context": CONTEXT, "answers": answers}
    nothing = {"text": [], "answer_start": []}
    source = prepare_questions(row, {**row, "id": "why", "answers": nothing})
    who = Question("who", "Who?", CONTEXT, (("Zoë", 0), ("1962", 16)))
    why = who._replace(id="why", answers=())
    assert read_questions(source) == [who, why]


@pytest.mark.filterwarnings("ignore:label.. is deprecated")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "`context` must be a JSON string.*asked/1.0.0:train', row 0: {'id'"),
        ({"context": CONTEXT}, "row 1, a second question 'q'"),
    ],
)
def test_tfds_data_sets_with_another_layout(prepare_questions, more, message):
    row = {"id": "q", "question": "Who?", "is_impossible": True, **more}
    with pytest.raises(ValueError, match=message):
        read_questions(prepare_questions(row, row))


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_questions(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("name", "number", "answers"),
    [
        ("squad/dev-v1.1.json", 10570, 34726),
        ("squad/dev-v2.0.json", 11873, 20302),
        ("zh/cmrc2018/cmrc2018_trial.json", 1002, None),
    ],
)
def test_real_files(shared, name, number, answers):
    questions = read_questions(shared / "data" / name)
    assert len(questions) == number
    for question in questions:
        assert bool(question.answers) != question.is_impossible
    if answers:
        assert sum(len(question.answers) for question in questions) == answers
