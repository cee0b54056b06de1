"""Question answering as a task: files, heads, threshold, answers."""

import dataclasses
import json

import numpy as np
import pytest

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import ANSWER_HEADS, TASKS, QuestionAnsweringTask
from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.question_answering.decoding import Answer, Candidate
from albert_keras.tasks.question_answering.reading import read_questions
from tests.tasks.task_checks import make_backbone, run_task_test

CONTEXTS = [
    "The boat went down the river to the sea, and Ann sang.",
    "A good soup needs bread. The cheese was cold.",
    "Tom walked for 1,200 steps by the river.",
]


def ask(number, context, question, answer=None):
    context = CONTEXTS[context]
    answers = () if answer is None else ((answer, context.index(answer)),)
    return Question(f"q{number}", question, context, answers, answer is None)


ANSWERED = [
    ask(0, 0, "Who sang?", "Ann"),
    ask(1, 1, "What was cold?", "The cheese"),
    ask(2, 2, "How many steps?", "1,200 steps"),
    ask(3, 0, "Where did the boat go?", "down the river to the sea"),
]
# So that texts have several windows.
SHORT = {"max_question_length": 11, "doc_stride": 7}
WITH_NONE = [*ANSWERED, ask(4, 1, "Who sang?"), ask(5, 2, "What was cold?")]


@pytest.mark.slow
@pytest.mark.parametrize("head", ["plain", "joint"])
def test_answers_and_questions_without_answer(tokenizer, tmp_path, head):
    task = QuestionAnsweringTask(scoring="squad-2.0", head=head, **SHORT)
    task, prepared, model, answers = run_task_test(
        task, WITH_NONE, tokenizer, tmp_path, learned=("best_f1", 99.0)
    )
    described = task.describe(prepared, answers)[:4]
    assert [row["answer"] for row in described] == [q.answers[0][0] for q in ANSWERED]
    for row, question in zip(described, ANSWERED, strict=True):
        best = row["candidates"][0]
        end = best["start"] + len(best["text"])
        assert question.context[best["start"] : end] == best["text"]
    # The answer of several contexts is that of the one that has it.
    asked = {"question": "Who sang?", "context": [CONTEXTS[1], CONTEXTS[0]]}
    several = task.prepare(task.rows_of([asked, ("How many steps?", CONTEXTS[2])]))
    rows = task.describe(several, task.predict(model, several, 2))
    assert [row["answer"] for row in rows] == ["Ann", "1,200 steps"]
    assert (rows[0]["context"], "context" in rows[1]) == (1, False)
    for contexts in ([], ["a", 1], 7):
        with pytest.raises(ValueError, match="a text, or a list of them. Received: "):
            task.rows_of([("a", contexts)])
    with pytest.raises(ValueError, match="have question and context.*Received: .'a'"):
        task.rows_of(["a", "b", "c"])

    texts = zip(ANSWERED, ["Ann", "cheese", "steps", "sea"], (1, 2, 3, 9), strict=True)
    found = [
        Answer(question.id, text, 0.0, (Candidate(text, 0, 1.0, tenths / 10),))
        for question, text, tenths in texts
    ]
    mistakes = mistakes_of(task, PreparedRows(ANSWERED, None), found)
    assert [row["prediction"] for row in mistakes] == ["sea", "steps", "cheese"]
    golds = [question.answers[0][0] for question in ANSWERED[:0:-1]]
    assert [row["label"] for row in mistakes] == golds
    assert mistakes[0]["probability"] == 0.9

    version_1 = dataclasses.replace(task, scoring="squad-1.1")
    of_answered = PreparedRows(ANSWERED, None)
    assert version_1.score(of_answered, answers[:4])["f1"] == 100.0
    # Questions without an answer make no difference to random spans.
    spans = version_1.report(of_answered, answers[:4])["random_spans"]
    assert (spans["total"], spans["f1"] < 100) == (4, True)
    of_all = task.report(prepared, answers)["random_spans"]
    assert (of_all["total"], of_all["f1"]) == (4, spans["f1"])
    assert task.report(PreparedRows(WITH_NONE[4:], None), answers[4:]) == {}
    assert version_1.fitted(of_answered, answers[:4]) is version_1

    assert task.score(prepared, answers)["NoAns_f1"] < 100.0
    fitted = task.fitted(prepared, answers)
    scores = fitted.score(prepared, answers)
    assert (scores["exact"], scores["NoAns_f1"]) == (100.0, 100.0)
    texts = [row["answer"] for row in fitted.describe(prepared, answers)]
    assert texts[4:] == ["", ""]


def test_fitted_threshold_is_at_least_as_good_as_no_answers(tokenizer):
    """Thirds and sevenths of F1, whose sums depend on their order, and ties."""
    draw = np.random.default_rng(7)
    task = TASKS["squad2"].for_run(None, tokenizer)
    context = "one two three four five six seven"
    for _ in range(60):
        rows, answers = [], []
        for number in range(23):
            words = context.split()[: draw.integers(1, 8)]
            has_none = bool(draw.random() < 0.5)
            given = () if has_none else ((context, 0),)
            name = f"q{number}"
            rows.append(Question(name, "Which?", context, given, has_none))
            score = float(np.round(draw.normal(), 1))
            answers.append(Answer(name, " ".join(words), score, ()))
        prepared = PreparedRows(rows, None)
        best = task.score(prepared, answers)["best_f1"]
        fitted = task.fitted(prepared, answers).score(prepared, answers)["f1"]
        none = 100 * np.mean([row.is_impossible for row in rows])
        assert none - 1e-9 <= fitted <= best + 1e-9


def test_windows_of_training_and_of_evaluation(tokenizer):
    task = TASKS["squad"].for_run(None, tokenizer)
    lost = ask(6, 0, "Why?", "sang")._replace(answers=(("danced", 3),))
    prepared = task.prepare([*ANSWERED, lost], training=True)
    (line, windows) = task.notes(prepared)
    assert line.startswith("1 of 5 questions lost (20.00 %); 1 ")
    assert windows == "4 windows"
    assert task.prepare([*ANSWERED, lost]).examples.num_examples == 5


@pytest.mark.parametrize("name", ["squad", "squad2"])
def test_prior_loss_is_the_entropy_of_constant_answers(tokenizer, name):
    task = TASKS[name].for_run(None, tokenizer)
    rows = ANSWERED if name == "squad" else WITH_NONE
    prepared = task.prepare(rows, training=True)
    arrays = prepared.examples.example_arrays
    starts, ends = arrays["start_positions"], arrays["end_positions"]
    known = [starts, ends]
    if name == "squad2":
        # The joint head predicts the end given the start.
        known = [starts, ends - starts, arrays["is_impossible"]]
    shares = [np.unique(v, return_counts=True)[1] / len(v) for v in known]
    entropies = [-(share * np.log(share)).sum() for share in shares]
    assert min(entropies) > 0
    assert task.prior_loss(prepared) == pytest.approx(sum(entropies) / 2)


def test_files_of_answers(tmp_path):
    candidates = (Candidate("北京", 3, 1.5, 0.75), Candidate("“京”", 4, 0.5, 0.25))
    answers = [Answer("q1", "北京", -1.25, candidates), Answer("q2", "", 2.5, ())]
    folder = tmp_path / "new"

    def written():
        return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}

    TASKS["squad"].write_submission(folder, None, answers)
    first, second = (candidate._asdict() for candidate in candidates)
    assert first == {"text": "北京", "start": 3, "score": 1.5, "probability": 0.75}
    expected = {
        "predictions.json": {"q1": "北京", "q2": ""},
        "null_odds.json": {"q1": -1.25, "q2": 2.5},
        "nbest_predictions.json": {"q1": [first, second], "q2": []},
    }
    assert written() == expected
    # A threshold only changes the answers.
    task = dataclasses.replace(TASKS["squad2"], null_threshold=-2.0)
    task.write_submission(folder, None, answers)
    assert written() == {**expected, "predictions.json": {"q1": "", "q2": ""}}
    TASKS["squad"].write_submission(tmp_path / "one.json", None, answers)
    assert json.loads((tmp_path / "one.json").read_text()) == {"q1": "北京", "q2": ""}


def test_rows_without_answers_and_bad_options(tmp_path):
    with pytest.raises(ValueError, match=r"scoring.*squad-2.0.*'squad'"):
        QuestionAnsweringTask(scoring="squad")
    path = write(tmp_path, paragraph({"id": "a"}))
    with pytest.raises(ValueError, match="1 without, first 'a'"):
        TASKS["squad"].read(path)
    assert len(TASKS["squad"].read(path, needs_labels=False)) == 1


# === The heads of question answering: inputs and targets fit their models ===


@pytest.mark.parametrize("name", ANSWER_HEADS)
def test_inputs_and_targets_match_the_model(name):
    task = QuestionAnsweringTask(head=name)
    model = task.build_model(make_backbone())
    kind = model.preprocessor_cls
    batch = {name: name for name in (*kind.features, *kind.targets.values())}
    features, labels = task.assemble(batch)
    assert features.keys() == model.input.keys()
    assert labels.keys() == model.output.keys()
    predictor = task.predictor(model)
    assert (predictor is model) == (name == "plain")
    assert task.features(batch).keys() == predictor.input.keys()
    assert task.predictor(model) is predictor


# === Question files: three layouts, and errors that name the place ===


CONTEXT = "Zoë was born in 1962."


def write(tmp_path, *paragraphs):
    data = [{"title": "Zoë", "paragraphs": list(paragraphs)}]
    path = tmp_path / "questions.json"
    path.write_text(json.dumps({"version": "1.1", "data": data}), "utf-8")
    return path


def paragraph(*entries, **more):
    entries = [{"question": f"{e.get('id')}?", **e} for e in entries]
    return {"context": CONTEXT, "qas": entries, **more}


def test_versions_1_and_2_and_no_answers(tmp_path):
    year = {"text": "1962", "answer_start": 16}
    name = {"text": "Zoë"}
    where = {"id": "where", "answers": [], "is_impossible": True}
    path = write(
        tmp_path,
        paragraph({"id": "who", "answers": [name, year]}),
        paragraph(where, {"id": "unlabelled"}, id="CMRC has ids of paragraphs"),
    )
    assert read_questions(path) == [
        Question("who", "who?", CONTEXT, (("Zoë", -1), ("1962", 16)), False),
        Question("where", "where?", CONTEXT, (), True),
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
    with pytest.raises(ValueError, match="a text, or a list .*None in '.*line 1'"):
        read_questions(path)


@pytest.mark.parametrize(
    ("paragraphs", "message"),
    [
        ([{"qas": []}], "`context` must be a string.*None in '.*questions.json'"),
        ([paragraph(), {"context": "c"}], "`qas` must be a list.*None in "),
        ([7], "`paragraphs` must be an object.*Received: 7"),
        (
            [paragraph({"id": 7})],
            "`id` must be a string.*7 in '.*paragraph 1, question",
        ),
        ([paragraph({"id": "q", "question": None})], "`question` .*question 'q'"),
        ([paragraph({"id": "q", "answers": "x"})], "`answers` must be a list.*'x'"),
        (
            [paragraph({"id": "q", "answers": [{"text": "a", "answer_start": 1.5}]})],
            "`answer_start` must be an integer.* 1.5 in '.*question 'q''",
        ),
        ([paragraph({"id": "q", "is_impossible": 1})], "must be true or false.*1 in "),
        (
            [paragraph({"id": "q"}), paragraph({"id": "q"})],
            "article 1, paragraph 2', a second .* 'q'",
        ),
        ([paragraph()], "must hold a question. Received: .*questions.json', none"),
    ],
)
def test_errors_name_the_place(tmp_path, paragraphs, message):
    with pytest.raises(ValueError, match=message):
        read_questions(write(tmp_path, *paragraphs))
