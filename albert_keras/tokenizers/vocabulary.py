"""Training of SentencePiece vocabularies with ALBERT's options; vocabulary files."""

import heapq
import io
import itertools
import operator
import os
import random
import re
from typing import NamedTuple

import sentencepiece

from albert_keras.checks import check_positive_integer, check_text, existing_file
from albert_keras.system.files import atomic_path
from albert_keras.tokenizers.normalization import preprocess_text

# Pieces that never join a neighbour, as in the released vocabularies.
USER_DEFINED_PIECES = ("(", ")", '"', "-", ".", "–", "£", "€")

MAX_TEXTS = 10_000_000

# Longer texts are cut at white space. SentencePiece's time for repeated passages grows
# with the square of their length, and by default it omits texts of over 4192 bytes.
_LINE_CHARACTERS = 2**12
_LINE = re.compile(
    rf".{{1,{_LINE_CHARACTERS}}}(?!\S)|.{{{_LINE_CHARACTERS}}}", re.DOTALL
)

# Most characters of a line in a text. The rest of the line is another text.
_READ_CHARACTERS = 2**20


class TextSample(NamedTuple):
    """Random sample of texts, in the original order, and the number of all texts."""

    texts: list
    num_seen: int


def sample_texts(texts, max_texts=MAX_TEXTS, seed=0):
    """Draws texts with equal probability in one pass.

    Memory holds only the sample.

    Args:
        texts: iterable of str, or of `pathlib.Path`s of UTF-8 files of one text per line.
            Texts of white space alone are skipped.
        max_texts: int. Maximum size of the sample.
        seed: int.

    >>> sample_texts(["one", "two", " ", "three", "four"], max_texts=3, seed=7)
    TextSample(texts=['one', 'two', 'four'], num_seen=4)
    """
    check_positive_integer("max_texts", max_texts)
    generator, numbers = random.Random(seed), itertools.count()
    # The texts with the smallest of random numbers.
    drawn = heapq.nsmallest(
        max_texts,
        (
            (generator.random(), next(numbers), text)
            for text in _read_lines(texts)
            if text and not text.isspace()
        ),
    )
    drawn.sort(key=operator.itemgetter(1))
    sample = [text for _, _, text in drawn]
    return TextSample(sample, next(numbers))


def train_sentence_piece(
    texts,
    vocabulary_size=30000,
    path=None,
    *,
    lowercase=True,
    strip_accents=True,
    huggingface_quotes=False,
    user_defined_pieces=USER_DEFINED_PIECES,
    character_coverage=0.99995,
    byte_fallback=False,
    max_texts=MAX_TEXTS,
    seed=0,
):
    """Trains a SentencePiece unigram model with ALBERT's special pieces.

    Special ids are those of the released models: `<pad>` 0, `<unk>` 1, `[CLS]` 2,
    `[SEP]` 3, `[MASK]` 4. The same texts and options give the same bytes.

    The options are those of the command in google-research/albert's README, with three
    differences. The texts are preprocessed first, as the tokenizer does it. If there are
    more than `max_texts` (Google's number), this function draws the sample, by `seed` and
    in the order of the texts. Texts over 4096 characters are cut at white space;
    SentencePiece silently omits texts of more than 4192 bytes.

    Needs about 21 bytes of memory for each character of the sample: 25 GB for ten million
    sentences of Wikipedia.

    Args:
        texts: Iterable of str, or of paths of UTF-8 files with one text in each line.
        max_texts: int. Maximum size of the sample, which is held in memory.
        seed: int. Seed of the sample.
        vocabulary_size: int. Number of pieces, special ones included.
        path: str or path. File for the model, or `None` to write none.
        lowercase, strip_accents, huggingface_quotes: Preprocessing; pass the same values
            to `AlbertTokenizer`.
        user_defined_pieces: tuple of str. Pieces that never join a neighbor.
        character_coverage: float in [0.98, 1]. Share of characters that have a piece.
        byte_fallback: bool. Encodes unknown characters as bytes: 256 more pieces.

    Returns:
        Bytes of the model.

    Example:

    >>> proto = train_sentence_piece(["a small corpus", "of two small texts"], 28)
    >>> isinstance(proto, bytes)
    True
    """
    check_positive_integer("vocabulary_size", vocabulary_size)
    preprocessing = {
        "lowercase": lowercase,
        "strip_accents": strip_accents,
        "huggingface_quotes": huggingface_quotes,
    }
    sample = sample_texts(texts, max_texts, seed)

    def lines():
        for text in sample.texts:
            yield from _LINE.findall(preprocess_text(text, **preprocessing))

    if next(lines(), None) is None:
        raise ValueError("`texts` must hold some text. Received: only white space.")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=lines(),
            model_writer=model,
            model_type="unigram",
            vocab_size=vocabulary_size,
            **{"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1},
            control_symbols=["[CLS]", "[SEP]", "[MASK]"],
            user_defined_symbols=list(user_defined_pieces),
            character_coverage=character_coverage,
            byte_fallback=byte_fallback,
            shuffle_input_sentence=False,
            # In bytes; a character may have several.
            max_sentence_length=2**30,
            minloglevel=3,
        )
    except RuntimeError as error:
        raise ValueError(
            "The options must fit the texts: take another size or more text. Received: "
            f"vocabulary_size={vocabulary_size}, {len(sample.texts)} texts; "
            f"SentencePiece says: {str(error).partition('] ')[2] or error}"
        ) from error
    if path is not None:
        with atomic_path(path) as temporary:
            temporary.write_bytes(model.getvalue())
    return model.getvalue()


def _read_lines(texts):
    if isinstance(texts, (str, bytes, os.PathLike)):
        raise TypeError(
            f"`texts` must be a list of str or paths. Received: {texts!r:.80}."
        )
    for text in texts:
        if isinstance(text, os.PathLike):
            yield from read_text(text, "texts")
        else:
            check_text(text)
            yield text


def read_text(path, argument):
    """Yields the lines of a UTF-8 file, and parts of very long lines."""
    try:
        with open(existing_file(path, argument), encoding="utf-8") as file:
            yield from iter(lambda: file.readline(_READ_CHARACTERS), "")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"Text files must be UTF-8. Received: {str(path)!r}; {error}."
        ) from error


def read_vocabulary(path):
    """Returns the tokens of a file of one token per line, a list of str."""
    return [line.rstrip("\n") for line in read_text(path, "vocabulary")]
