"""Packing of questions with options, one sequence per option."""

import re
from typing import NamedTuple

import numpy as np

from albert_keras.checks import check_positive_integer
from albert_keras.preprocessors.texts import pack_rows
from albert_keras.tokenizers import packing

_BLANK = re.compile("_+")


class ChoiceQuestions(NamedTuple):
    """Columns of questions, in the order of the files.

    Attributes:
        articles: list of str, `""` for none. Several questions may share an article.
        questions: list of str. A `_` is replaced by the option.
        options: list of lists of str, all of the same length.
        answers: list of int, positions in `options`; None if unknown.
        groups: list of str. RACE's level, or `""`.
    """

    articles: list
    questions: list
    options: list
    answers: list | None
    groups: list


def count_choices(choices):
    """Returns the number of choices of each question, which must be the same."""
    kinds = list | tuple
    counts = sorted({len(row) if isinstance(row, kinds) else 0 for row in choices})
    if len(counts) != 1 or counts[0] < 2:
        raise ValueError(
            "All questions must have a list of the same number of choices, at least two. "
            f"Received: {' and '.join(map(str, counts)) or 'no question'}."
        )
    return counts[0]


def pack_choices(encoder, rows, *, sequence_length, max_question_length=128):
    """Packs each option as `[CLS] article [SEP] question and option [SEP]`.

    The option replaces `_` in the question, or follows the question. Both together keep
    their last `max_question_length` tokens, and the article keeps the first tokens that
    fit, so that options are truncated last.

    Args:
        encoder: The `encoder` of a tokenizer of this package.
        rows: `ChoiceQuestions`.
        sequence_length: int. Maximum length of a sequence, special tokens included.
        max_question_length: int. Default as in Google's code.

    Returns:
        `Examples` with `num_choices`, int32 `token_ids` and `segment_ids` (1 from the
        question on), and, if known, the positions of the right options, int32 `labels`.

    Reference: google-research/albert race_utils.py `convert_single_example`, which fills
    `__` twice; RACE has only single `_`.
    """
    check_positive_integer("max_question_length", max_question_length)
    num_choices = count_choices(rows.options)
    room = packing.room_in(sequence_length, 2)
    asked = zip(rows.questions, rows.options, strict=True)
    texts = [
        _fill(question, option) for question, options in asked for option in options
    ]
    # (num_questions * num_choices,)
    ids, starts, lengths = packing.whole_texts(*encoder.encode_ragged(texts))
    kept = np.minimum(lengths, min(max_question_length, room))
    questions = packing.Segments(ids, starts + lengths - kept, kept)

    # Several questions may share an article, which is tokenized once.
    numbers = {}
    article_of = [numbers.setdefault(text, len(numbers)) for text in rows.articles]
    article_of = np.repeat(article_of, num_choices)
    ids, starts, lengths = packing.whole_texts(*encoder.encode_ragged(list(numbers)))
    kept = np.minimum(lengths[article_of], room - questions.lengths)
    articles = packing.Segments(ids, starts[article_of], kept)

    examples = pack_rows(encoder, [articles, questions], num_choices=num_choices)
    if rows.answers is None:
        return examples
    return examples.with_arrays(labels=np.array(rows.answers, np.int32))


def _fill(question, option):
    if "_" in question:
        # A function, so that backslashes in the option stay.
        return _BLANK.sub(lambda _: option, question)
    return f"{question} {option}"
