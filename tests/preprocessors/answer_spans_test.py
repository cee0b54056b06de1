"""Token spans of answers: accents, quotes, digits, Chinese, and wrong starts."""

import re

import pytest

from albert_keras.preprocessors.answer_spans import (
    Question,
    find_answers,
    locate_contexts,
    normalize_answer,
)
from albert_keras.tokenizers import WordPieceEncoder, load_tokenizer

CONTEXT = (
    "In 2012, Zoë Smith’s café — “Le Chat” — made £1,250,000 for the\t U.S. firm’s "
    "cafés in 北京大学 (2,012 cups)."
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "she", "a", "##s"]


@pytest.fixture(scope="module")
def encoder():
    return load_tokenizer("albert_nano_en").encoder


@pytest.fixture(scope="module")
def words():
    return WordPieceEncoder([*TOKENS, ",", "京"], lowercase=True)


def ask(*answers, context=CONTEXT, **more):
    return Question("q", "Who?", context, answers, **more)


def find(questions, encoder):
    """Returns the text of each answer's token span, the reasons, and how many moved."""
    contexts = locate_contexts(questions, encoder)
    found, reasons, num_mended = find_answers(questions, contexts)
    texts = []
    for row, (question, (first, last)) in enumerate(zip(questions, found, strict=True)):
        spans = contexts.spans[contexts.offsets[contexts.context_of[row]] :]
        place = slice(spans[first, 0], spans[last, 1]) if first >= 0 else None
        texts.append(place and question.context[place])
    return texts, reasons, num_mended


def test_every_span_of_words_is_found(encoder):
    """Spans are those of the original context."""
    contexts = [CONTEXT, f"\u200e{CONTEXT} \u00a0 ½ of  it", f"ﬁne {CONTEXT[::-1]}"]
    questions = []
    for context in contexts:
        words = [match.span() for match in re.finditer(r"\S+", context)]
        for first, (start, _) in enumerate(words):
            for _, end in words[first : first + 7]:
                questions.append(ask((context[start:end], start), context=context))
    texts, reasons, num_mended = find(questions, encoder)
    assert len(questions) > 300
    assert num_mended == 0
    for question, text, reason in zip(questions, texts, reasons, strict=True):
        expected = question.answers[0][0]
        if reason is None:
            assert text in question.context
            assert normalize_answer(text) == normalize_answer(expected)
        else:
            # A mark before the first letter has no token.
            assert expected.startswith("\u200e")
    assert sum(reason is not None for reason in reasons) < 9


@pytest.mark.parametrize(
    ("answers", "first", "last", "num_mended"),
    [
        # Of "she , a , shed , she , as , a" "shed" is token 4, "as" 8 and 9.
        ([("she", 0)], 0, 0, 0),
        ([("she", 1)], 0, 0, 1),
        ([("she", 99)], 6, 6, 1),
        ([("she", -3)], 0, 0, 1),
        # In the midst of "shed": the nearest one is the second "she".
        ([("she", 8)], 6, 6, 1),
        ([("as", 0)], 8, 9, 1),
        ([("a", 5)], 2, 2, 0),
        # As far from both: the first.
        ([("she,", 7)], 0, 1, 1),
        # Several answers: the first that counts.
        ([("lost", 0), ("he", 1), ("a", 5)], 2, 2, 0),
    ],
)
def test_wrong_starts_are_corrected(words, answers, first, last, num_mended):
    context = "she, a, shed, she, as, a"
    contexts = locate_contexts([ask(context=context)], words)
    spans, *others = find_answers([ask(*answers, context=context)], contexts)
    assert spans.tolist() == [[first, last]]
    assert others == [[None], num_mended]


def test_reasons_of_lost_answers(encoder):
    questions = [
        *(ask(), ask(("Paris", 3)), ask(("afé", CONTEXT.index("afé")))),
        *(ask(("Paris", 3), ("afé", 4)), ask((" ", 2)), ask(("", 4))),
        ask(is_impossible=True),
    ]
    texts, reasons, _ = find(questions, encoder)
    absent, cut = "text not in the context", "not on token borders"
    assert reasons == ["no answer given", absent, cut, absent, absent, absent, None]
    assert texts == [None] * 7
