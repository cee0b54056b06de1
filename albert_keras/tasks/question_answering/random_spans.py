"""Random spans of contexts, a baseline of question answering."""

import random
import re

_CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORDS = re.compile(rf"[{_CHINESE}]|[^\s{_CHINESE}]+")


def random_spans(questions, seed=0):
    """Draws a span of whole words for each `Question`, as long as a random answer.

    In Chinese each character is a word. Returns a dict from ids to spans.
    """
    draw = random.Random(seed)
    lengths = [len(_WORDS.findall(question.answers[0][0])) for question in questions]
    spans = {}
    for question in questions:
        words = list(_WORDS.finditer(question.context))
        length = max(1, min(draw.choice(lengths), len(words)))
        first = draw.randrange(len(words) - length + 1)
        start, end = words[first].start(), words[first + length - 1].end()
        spans[question.id] = question.context[start:end]
    return spans
