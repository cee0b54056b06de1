"""Reader of sentences with a tag for each word: CoNLL columns, JSON lines and TFDS."""

import collections
import itertools
import pathlib
import re
from typing import NamedTuple

from albert_keras.checks import shown
from albert_keras.system.files import atomic_path
from albert_keras.tasks.reading import first_of, is_tfds, labels_or_none, read_json_rows
from albert_keras.text.text_files import UTF_8, check_unicode, read_lines

OUTSIDE = "O"

_DOCUMENT_START = "-DOCSTART-"
WORD_KEYS = ("tokens", "words")
_TAG_KEYS = ("tags", "labels")


class TaggedSentences(NamedTuple):
    """Columns of sentences, in the order of the file.

    Attributes:
        words: list of lists of str.
        tags: list of lists of str, a tag for each word; None if unknown.
        texts: list of str with the words, or `""` for words joined by spaces; None if
            all are so.
    """

    words: list
    tags: list | None
    texts: list | None = None


class PredictedTags(NamedTuple):
    """Predictions for words.

    Attributes:
        tags: list of lists of str, a tag for each word.
        probabilities: list of lists of float, the probabilities of the tags; 0.0 for
            words without tokens.
    """

    tags: list
    probabilities: list


def read_tagged(path, tag_feature="ner", decoding=UTF_8):
    """Reads words and their tags.

    *   Columns, as CoNLL's: each line has a word first and its tag last, separated by
        tabs, or if there are none by spaces. An empty line, or one that begins with
        `-DOCSTART-`, separates sentences. A file of one column has no tags.
    *   JSON lines (`.jsonl`) with a sentence each, `{"tokens": [...], "tags": [...]}`, or
        with the names `words` and `labels`. Tags may be numbers, or absent.
    *   TFDS: a feature `tokens` or `words`, and another sequence, as in
        `"tfds:conll2003:train"`.

    Args:
        path: str or path; `.gz` is decompressed. Or `"tfds:NAME:SPLIT"`.
        tag_feature: str. Name of the tags in TFDS. Default `"ner"`.
        decoding: `Decoding` of the file.

    Returns:
        `TaggedSentences`, at least one sentence.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty or has another form, or only some sentences have
            tags; with the number of the line.
    """
    if is_tfds(path):
        sentences = _read_tfds(path, tag_feature)
    elif ".jsonl" in pathlib.Path(path).suffixes:
        rows = read_json_rows(path, decoding)
        sentences = (_sentence_of(*row, _TAG_KEYS) for row in rows)
    else:
        lines = read_lines(path, decoding)
        sentences = _read_columns(path, lines)
    sentences = list(sentences)
    if not sentences:
        raise ValueError(f"The file must hold a word. Received: '{path}', with none.")
    places, words, tags = map(list, zip(*sentences, strict=True))
    tags = labels_or_none(tags, places, "sentences of a file must have tags")
    return TaggedSentences(words, tags)


def default_tag(tags):
    """Returns the tag for words without tokens, from the tags of training sentences.

    It is `"O"` if that occurs, as with all tags of entities, or else the most frequent
    tag.
    """
    counts = collections.Counter(itertools.chain(*tags))
    return OUTSIDE if OUTSIDE in counts else counts.most_common(1)[0][0]


def write_tagged(path, words, predictions, tags=None):
    r"""Writes tags in columns: a word in each line, and an empty line after a sentence.

    The columns are the word, the target tag if known, and the predicted tag, as
    `conlleval -d '\t'` and `read_tagged` read them.

    Args:
        path: str or path.
        words, predictions: Lists of lists of str of the same lengths. Words must not
            have tabs or line breaks.
        tags: Targets, lists of the same lengths, or None.
    """
    columns = [words, predictions] if tags is None else [words, tags, predictions]
    rows = []
    for sentence in zip(*columns, strict=True):
        rows.extend([*zip(*sentence, strict=True), ()])
    for word in itertools.chain(*words):
        if any(mark in word for mark in "\t\r\n"):
            raise ValueError(
                "A word in columns must not hold a tab or a line break. "
                f"Received: {word!r}."
            )
    with atomic_path(path) as temporary:
        lines = ["\t".join(row) + "\n" for row in rows]
        temporary.write_text("".join(lines), "utf-8")


def _read_columns(path, lines):
    """Yields the place (for errors), words and tags (or None) of each sentence."""
    num_columns = None
    rows = []
    # The last sentence may have no empty line after it.
    for number, line in enumerate(itertools.chain(lines, [""]), start=1):
        line = line.rstrip("\r\n")
        if line.strip(" \t") and not line.startswith(_DOCUMENT_START):
            columns = line.split("\t") if "\t" in line else re.findall("[^ ]+", line)
            place = f"'{path}', line {number}"
            num_columns = num_columns or len(columns)
            _check_columns(columns, num_columns, place)
            rows.append((place, columns[0], columns[-1] if num_columns > 1 else None))
        elif rows:
            places, words, tags = zip(*rows, strict=True)
            yield places[0], list(words), None if None in tags else list(tags)
            rows = []


def _check_columns(columns, num_columns, place):
    if len(columns) != num_columns:
        raise ValueError(
            "All lines must have the same number of columns. Received: "
            f"{place}, with {len(columns)}, and {num_columns} before. Remove comments."
        )
    if not (columns[0] and columns[-1]):
        raise ValueError(
            "Each line must have a word first, and a tag last. Received: "
            f"{place}, with none."
        )


def _read_tfds(source, tag_feature):
    """Yields the place (for errors), words and tags of each sentence."""
    for place, row in read_json_rows(source):
        if tag_feature not in row:
            raise ValueError(
                f"A TFDS data set must have a feature `{tag_feature}` of tags. Received: "
                f"'{source}', whose features are {', '.join(row)}. See --tag-feature."
            )
        # TFDS ends the splits of CoNLL 2003 with an empty sentence.
        if row[tag_feature]:
            yield _sentence_of(place, row, (tag_feature,))


def _sentence_of(place, row, tag_keys):
    """Returns the place, words and tags (or None) of a JSON object."""
    words = _texts_at(row, WORD_KEYS, str, place)
    tags = _texts_at(row, tag_keys, str | int, place)
    if not words:
        raise ValueError(
            f"Each line must have {' or '.join(WORD_KEYS)}. "
            f"Received: {place}: {', '.join(row)}."
        )
    if tags is not None and len(tags) != len(words):
        raise ValueError(
            "Each word must have a tag. "
            f"Received: {place}, with {len(words)} words and {len(tags)} tags."
        )
    return place, words, tags


def _texts_at(row, keys, kinds, place):
    """Returns the list of str at the first of `keys` that the row has, or None."""
    values = first_of(row, keys)
    if values is None:
        return None
    if not isinstance(values, list) or not all(
        isinstance(value, kinds) and str(value) for value in values
    ):
        raise ValueError(
            f"`{'` or `'.join(keys)}` must be a list of texts that are not empty. "
            f"Received: {place}: {shown(values)}."
        )
    return [check_unicode(str(value), place, "strict", None) for value in values]
