"""Random spans of whole words, with the lengths of answers."""

import collections

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.tasks.question_answering.metrics import random_spans

WORDS = [f"word{i}" for i in range(11)]


def ask(number, context, answer):
    return Question(f"q{number}", "Who?", context, ((answer, context.index(answer)),))


def test_spans_are_drawn_evenly_with_the_lengths_of_answers():
    context = " ".join(WORDS)
    questions = [ask(i, context, "word3") for i in range(4000)]
    questions += [ask(i, context, "word2 word3 word4") for i in range(4000, 5000)]
    spans = random_spans(questions, seed=5).values()
    sizes = collections.Counter(len(span.split()) for span in spans)
    assert set(sizes) == {1, 3}
    # Four fifths, within four standard deviations.
    assert abs(sizes[1] - 4000) < 4 * (5000 * 0.8 * 0.2) ** 0.5
    places = collections.Counter(span for span in spans if " " not in span)
    assert set(places) == set(WORDS)
    assert max(places.values()) < 1.4 * min(places.values())
    assert all(span in context for span in spans)
