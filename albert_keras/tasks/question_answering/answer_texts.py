"""Normalization of answers for their comparison."""

import functools
import re
import string

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


@functools.lru_cache(2**16)
def normalize_answer(text):
    """Returns a text in lower case without punctuation, articles and extra spaces.

    SQuAD's official metrics compare answers in this form.

    Args:
        text: str.

    Example:

    >>> normalize_answer(" The  U.S. dollar,")
    'us dollar'

    Reference: Rajpurkar et al. 2016, arXiv 1606.05250, section 6.1; `normalize_answer`
    of the official scripts, `evaluate-v1.1.py` and `evaluate-v2.0.py`: ASCII
    punctuation is removed first, then English articles.
    """
    plain = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())
