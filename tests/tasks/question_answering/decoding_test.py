"""Decoding of answers, against a search of all spans and rule by rule."""

import itertools
import math

import numpy as np
import pytest

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.preprocessors.answer_windows import make_windows
from albert_keras.tasks.question_answering.decoding import (
    Answer,
    apply_threshold,
    decode_answers,
)
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
    return make(CONTEXTS, encoder, sequence_length=13, doc_stride=3)


def make(contexts, encoder, sequence_length=13, doc_stride=3):
    questions = [
        Question(f"q{n}", "a b"[: 2 * n + 1], context)
        for n, context in enumerate(contexts)
    ]
    windows = make_windows(
        questions,
        encoder,
        sequence_length=sequence_length,
        doc_stride=doc_stride,
        max_question_length=5,
        with_answers=False,
    )
    return questions, windows


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
    questions, windows = windows_of_letters
    batch = random_logits(windows, seed, step=step)
    check_equals_search(
        questions,
        windows,
        batch,
        max_answer_length=max_answer_length,
        num_best=num_best,
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("max_answer_length", "num_best"), [(30, 20), (2, 5)])
def test_beams_equal_a_search(windows_of_letters, seed, max_answer_length, num_best):
    questions, windows = windows_of_letters
    answers = check_equals_search(
        questions,
        windows,
        random_beams(windows, seed),
        max_answer_length=max_answer_length,
        num_best=num_best,
    )
    assert any(answer.text for answer in answers)


def test_every_answer_is_cut_from_its_context():
    encoder = load_tokenizer("albert_nano_en").encoder
    questions, windows = make(CONTEXTS, encoder)
    for seed in range(20):
        for answer, question in zip(
            decode_answers(questions, windows, [random_logits(windows, seed)]),
            questions,
            strict=True,
        ):
            assert answer.text == answer.candidates[0].text
            texts = [candidate.text for candidate in answer.candidates]
            assert len(set(texts)) == len(texts) <= 20
            for text, start, _, _ in answer.candidates:
                assert text.strip() == text != ""
                assert question.context[start : start + len(text)] == text
            probabilities = [candidate.probability for candidate in answer.candidates]
            assert sum(probabilities) == pytest.approx(1.0)
            assert probabilities == sorted(probabilities, reverse=True)
            first, *_, last = answer.candidates
            ratio = math.exp(first.score - last.score)
            assert first.probability / last.probability == pytest.approx(ratio)


def test_scores_outside_of_the_context_are_ignored(windows_of_letters):
    questions, windows = windows_of_letters
    rows, outputs = random_logits(windows, seed=4)
    whole = decode_answers(questions, windows, [(rows, outputs)])
    mask = windows.examples.padded(rows, 16)["answer_mask"]
    is_padding = np.arange(16) >= windows.examples.lengths[:, np.newaxis]
    for outside, value in ((mask == 0, 99.0), (mask == 0, -1e30), (is_padding, np.nan)):
        changed = {n: np.where(outside, value, s) for n, s in outputs.items()}
        # The padding is no one's; of the window itself all must be numbers.
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
    message = f"Received: {name} with {value} for question 'q4'. The model has"
    with pytest.raises(ValueError, match=message):
        decode_answers(
            questions, windows, [(rows[1:], {n: s[1:] for n, s in outputs.items()})]
        )


def test_threshold():
    answers = [Answer(str(n), f"text {n}", n - 2.0, ()) for n in range(5)]
    assert apply_threshold(answers, None) == {str(n): f"text {n}" for n in range(5)}
    texts = apply_threshold(answers, 0.0)
    assert texts == {"0": "text 0", "1": "text 1", "2": "text 2", "3": "", "4": ""}
