"""Rule-based sentence splitter for English-like and Chinese text."""

import re

# Words whose full stop does not end a sentence, even before a capital letter.
ABBREVIATIONS = frozenset(
    """mr mrs ms messrs dr prof rev hon gen col maj capt lt cmdr sgt cpl adm gov sen rep
    pres st mt ft jr sr vs cf viz approx dept univ assn bros inc corp ltd co no nos art
    sec fig figs eq vol vols ch pp ed eds trans jan feb mar apr jun jul aug sep sept oct
    nov dec mon tue wed thu fri sat sun""".split()
)

# End marks with closing quotes and brackets. Western marks need white space after them
# (not "3.14" or "example.com"). The character class at the beginning is for speed.
_END = re.compile(
    r"[.!?…。！？](?:"
    r"(?<=[.!?…])(?P<more>[.!?…]*)[\"'”’)\]»]*\s+"
    r"|(?<=[。！？])[。！？]*[”’」』）】》]*\s*)"
)
_OPENING = re.compile(r"[\"'“‘(\[«¿¡]*")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def split_sentences(text):
    """Splits a paragraph of English-like or Chinese text into sentences.

    A sentence ends at `.`, `!`, `?` or `…` (with closing quotes and brackets) before
    white space, unless a lower-case letter follows, and at `。`, `！` or `？`. A full
    stop after one of `ABBREVIATIONS` or initials (`J.`, `U.S.`) does not end a sentence.
    If in doubt, text is not split: a missed break only makes a longer sentence.

    Libraries that split better download a model at run time (nltk, spacy, stanza) or
    are not maintained (pysbd, last released in 2021).

    Returns:
        List of str, stripped, none empty.

    Example:

    >>> split_sentences('Dr. Wu left the U.S. Senate. "Why?" he said. 天黑了。他走了。')
    ['Dr. Wu left the U.S. Senate.', '"Why?" he said.', '天黑了。', '他走了。']
    """
    sentences, start = [], 0
    for end in _END.finditer(text):
        if end["more"] is not None and not _is_western_end(text, start, end):
            continue
        sentences.append(text[start : end.end()].strip())
        start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def split_paragraphs(text):
    """Splits text of one paragraph per line into sentences; see `split_sentences`."""
    return [s for paragraph in text.splitlines() for s in split_sentences(paragraph)]


def _is_western_end(text, start, end):
    following = text[end.end() : end.end() + 1]
    if not following.isalnum():
        following = text[_OPENING.match(text, end.end()).end() :][:1]
    if following.islower():
        return False
    mark = end.start()
    if end["more"] or text[mark] != ".":
        return True
    words = text[start:mark].rsplit(maxsplit=1)
    if not words or text[mark - 1].isspace():
        return True
    last_word = words[-1].lstrip("\"'“‘([«")
    return last_word.lower() not in ABBREVIATIONS and not _INITIALS.fullmatch(last_word)
