"""Decoding of answers, against a search of all spans and rule by rule."""

import itertools

import numpy as np
import pytest
from scipy.special import softmax

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.preprocessors.answer_windows import make_windows
from albert_keras.tasks.question_answering.decoding import decode_answers
from albert_keras.tokenizers import WordPieceEncoder, load_tokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklm"]
CONTEXTS = [
    "a b c d e f g h i j k l m a b c a b c d",
    "c b a",
    "Zoë’s  café — “a, b” — made\t£1,250 in 北京!",
    "a a a a a a a a a a a",
    "m " * 31,
]


@pytest.fixture(scope="module")
def windows_of_letters():
    encoder = WordPieceEncoder(TOKENS, lowercase=True)
    return make(CONTEXTS, encoder)


def make(contexts, encoder):
    questions = [
        Question(f"q{n}", "a b"[: 2 * n + 1], context)
        for n, context in enumerate(contexts)
    ]
    lengths = {"sequence_length": 13, "doc_stride": 3, "max_question_length": 5}
    return questions, make_windows(questions, encoder, **lengths, with_answers=False)


def random_logits(windows, seed, length=16, step=None):
    """Returns a batch of all windows, and scores, rounded if there is a step."""
    random = np.random.default_rng(seed)
    shape = (len(windows.question_of), length)
    scores = {n: random.normal(size=shape) for n in ("start_logits", "end_logits")}
    if step:
        scores = {name: np.round(s / step) * step for name, s in scores.items()}
    return np.arange(shape[0]), {n: s.astype("float32") for n, s in scores.items()}


def random_beams(windows, seed, num_starts=4, num_ends=3):
    random = np.random.default_rng(seed)
    number = len(windows.question_of)
    # Some outside of the context, some beyond the window.
    starts = [random.permutation(14)[:num_starts] for _ in range(number)]
    ends = [
        [random.permutation(15)[:num_ends] for _ in range(num_starts)]
        for _ in range(number)
    ]
    return np.arange(number), {
        "start_log_probs": random.normal(size=(number, num_starts)).astype("float32"),
        "start_positions": np.array(starts, "int32"),
        "end_log_probs": random.normal(size=(number, num_starts, num_ends)),
        "end_positions": np.array(ends, "int32"),
        "answerability_logits": random.normal(size=number),
    }


def spans_of_logits(window, length, outputs):
    """Yields all spans of a window, in order, with their scores."""
    starts = outputs["start_logits"][window].astype(float)
    ends = outputs["end_logits"][window].astype(float)
    for i in range(length):
        for j in range(length):
            yield i, j, starts[i] + ends[j]


def spans_of_beams(window, length, outputs):
    found = []
    for i, start in enumerate(outputs["start_positions"][window]):
        for j, end in enumerate(outputs["end_positions"][window, i]):
            score = float(outputs["start_log_probs"][window, i])
            score += float(outputs["end_log_probs"][window, i, j])
            found.append((int(start), int(end), score))
    yield from (span for span in sorted(found) if max(span[:2]) < length)


def whole(context, start, end):
    """Returns the text of the words that a span touches, and its start."""

    def is_inside(place):
        around = context[max(0, place - 1) : place + 1]
        return len(around) == 2 and around.isalnum() and not set(around) & set("北京")

    while is_inside(start):
        start -= 1
    while is_inside(end):
        end += 1
    return context[start:end], start


def search(questions, windows, outputs, max_answer_length, num_best):
    """The rules one by one, over all spans; returns candidates and null scores."""
    spans_of = spans_of_logits if "start_logits" in outputs else spans_of_beams
    found = [[] for _ in questions]
    nulls = [[] for _ in questions]
    bounds = itertools.pairwise(windows.examples.offsets.tolist())
    for window, (begin, end) in enumerate(bounds):
        number = windows.question_of[window]
        of_window = []
        for i, j, score in spans_of(window, end - begin, outputs):
            inside = windows.context_starts[[begin + i, begin + j]] >= 0
            if inside.all() and windows.is_max_context[begin + i]:
                if i <= j < i + max_answer_length:
                    of_window.append((score, begin + i, begin + j))
        found[number] += sorted(of_window, key=lambda span: -span[0])[:num_best]
        if "start_logits" in outputs:
            logits = [outputs[n][window, 0] for n in ("start_logits", "end_logits")]
            nulls[number].append(sum(map(float, logits)))
        else:
            nulls[number].append(outputs["answerability_logits"][window])
    candidates = []
    for question, spans in zip(questions, found, strict=True):
        texts = {}
        for score, i, j in sorted(spans, key=lambda span: -span[0]):
            start, end = windows.context_starts[i], windows.context_ends[j]
            if start < end:
                text, start = whole(question.context, start, end)
                texts.setdefault(text, (text, start, score))
        candidates.append(list(texts.values())[:num_best])
    return candidates, list(map(min, nulls))


def check_equals_search(questions, windows, batch, **arguments):
    answers = decode_answers(questions, windows, [batch], **arguments)
    rules = {"max_answer_length": 30, "num_best": 20, **arguments}
    expected, nulls = search(questions, windows, batch[1], **rules)
    for question, answer, candidates, null in zip(
        questions, answers, expected, nulls, strict=True
    ):
        assert answer.id == question.id
        assert [c[:3] for c in answer.candidates] == candidates
        is_relative = "start_logits" in batch[1] and candidates
        best = candidates[0][2] if is_relative else 0.0
        assert answer.null_score == pytest.approx(null - best, abs=1e-12)
    return answers


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("max_answer_length", "num_best"), [(30, 20), (4, 3), (1, 60)])
@pytest.mark.parametrize("step", [None, 0.5])
def test_logits_equal_a_search(
    windows_of_letters, seed, max_answer_length, num_best, step
):
    options = {"max_answer_length": max_answer_length, "num_best": num_best}
    batch = random_logits(windows_of_letters[1], seed, step=step)
    check_equals_search(*windows_of_letters, batch, **options)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("max_answer_length", "num_best"), [(30, 20), (2, 5)])
def test_beams_equal_a_search(windows_of_letters, seed, max_answer_length, num_best):
    options = {"max_answer_length": max_answer_length, "num_best": num_best}
    batch = random_beams(windows_of_letters[1], seed)
    answers = check_equals_search(*windows_of_letters, batch, **options)
    assert any(answer.text for answer in answers)


def test_candidates_are_texts_of_the_context_with_probabilities():
    encoder = load_tokenizer("albert_nano_en").encoder
    questions, windows = make(CONTEXTS, encoder)
    answers = decode_answers(questions, windows, [random_logits(windows, 3)])
    for answer, question in zip(answers, questions, strict=True):
        assert answer.text == answer.candidates[0].text
        for text, start, _, _ in answer.candidates:
            assert text.strip() == text != ""
            assert question.context[start : start + len(text)] == text
        probabilities = [candidate.probability for candidate in answer.candidates]
        scores = np.array([candidate.score for candidate in answer.candidates])
        assert probabilities == pytest.approx(softmax(scores))


def test_scores_of_padding_are_ignored(windows_of_letters):
    questions, windows = windows_of_letters
    rows, outputs = random_logits(windows, seed=4)
    is_padding = np.arange(16) >= windows.examples.lengths[:, np.newaxis]
    changed = {n: np.where(is_padding, np.nan, s) for n, s in outputs.items()}
    whole = decode_answers(questions, windows, [(rows, outputs)])
    assert decode_answers(questions, windows, [(rows, changed)]) == whole


def test_no_valid_span_gives_no_answer(windows_of_letters):
    questions, windows = windows_of_letters
    rows, outputs = random_beams(windows, seed=6)
    outputs["end_positions"][:] = 0
    answers = decode_answers(questions, windows, [(rows, outputs)])
    assert {(answer.text, answer.candidates) for answer in answers} == {("", ())}
    logits = outputs["answerability_logits"][windows.question_of == 1]
    assert answers[1].null_score == logits.min()
    rows, outputs = random_logits(windows, seed=6)
    outputs["end_logits"][:, 1:] = -np.inf
    answers = decode_answers(questions, windows, [(rows, outputs)])
    assert {answer.text for answer in answers} == {""}
    null = (outputs["start_logits"] + outputs["end_logits"])[:, 0]
    assert answers[1].null_score == pytest.approx(null[windows.question_of == 1].min())


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "name", ["end_logits", "end_log_probs", "answerability_logits"]
)
def test_scores_that_are_not_finite(windows_of_letters, name, value):
    questions, windows = windows_of_letters
    make_batch = random_logits if name == "end_logits" else random_beams
    rows, outputs = make_batch(windows, seed=2)
    outputs[name][-1] = value
    last = len(rows) - 2
    with pytest.raises(ValueError, match=f"in 1 of {last + 1} rows, first {last}"):
        decode_answers(
            questions, windows, [(rows[1:], {n: s[1:] for n, s in outputs.items()})]
        )
