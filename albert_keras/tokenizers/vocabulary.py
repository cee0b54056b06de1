"""Trains a SentencePiece vocabulary as ALBERT's were trained."""

import io
import itertools
import os

import sentencepiece

from albert_keras.files import atomic_path
from albert_keras.tokenizers.base import existing_file
from albert_keras.tokenizers.normalization import preprocess_text

# Pieces that never join a neighbour, as in the released vocabularies.
USER_DEFINED_PIECES = ("(", ")", '"', "-", ".", "–", "£", "€")


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
    max_texts=10_000_000,
):
    """Trains a SentencePiece unigram model with ALBERT's special pieces.

    The ids are those of the released vocabularies: `<pad>` 0, `<unk>` 1, `[CLS]` 2,
    `[SEP]` 3, `[MASK]` 4. The same texts give the same bytes: unlike the command in
    google-research/albert's README, this one does not shuffle them.

    Args:
        texts: iterable of str, or of `pathlib.Path`s of UTF-8 files of one text a line.
            All are held in memory.
        vocabulary_size: int. Number of pieces, special ones included.
        path: str or path. Where to write the model, if anywhere.
        lowercase, strip_accents, huggingface_quotes: Preprocessing, as for
            `AlbertTokenizer`, which must be given the same.
        user_defined_pieces: tuple of str. Always pieces of their own.
        character_coverage: float in [0.98, 1]. Share of characters that get a piece.
        byte_fallback: bool. Spells unknown characters in bytes: 256 more pieces.
        max_texts: int. Only so many texts are used, the first ones.

    Returns:
        Bytes of the model.

    Raises:
        ValueError: If the texts are too few for this size, or a file is not UTF-8.

    Example:

    >>> proto = train_sentence_piece(["a small corpus", "of two small texts"], 28)
    >>> isinstance(proto, bytes)
    True
    """
    if vocabulary_size < 1:
        raise ValueError(
            "`vocabulary_size` must be positive. "
            f"Received: vocabulary_size={vocabulary_size}."
        )
    if not 0.98 <= character_coverage <= 1:
        raise ValueError(
            "`character_coverage` must be in [0.98, 1]. "
            f"Received: character_coverage={character_coverage}."
        )
    preprocessing = {
        "lowercase": lowercase,
        "strip_accents": strip_accents,
        "huggingface_quotes": huggingface_quotes,
    }
    lines = (preprocess_text(line, **preprocessing) for line in _read_lines(texts))
    # A list, for SentencePiece would take an error in a generator for one of its own.
    lines = list(itertools.islice(filter(None, lines), max_texts))
    if not lines:
        raise ValueError("`texts` must hold some text. Received: none but white space.")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="unigram",
            vocab_size=vocabulary_size,
            pad_id=0,
            unk_id=1,
            bos_id=-1,
            eos_id=-1,
            control_symbols=["[CLS]", "[SEP]", "[MASK]"],
            user_defined_symbols=list(user_defined_pieces),
            character_coverage=character_coverage,
            byte_fallback=byte_fallback,
            shuffle_input_sentence=False,
            # SentencePiece leaves out longer texts without a word.
            max_sentence_length=2**30,
            minloglevel=3,
        )
    except RuntimeError as error:
        raise ValueError(
            "`vocabulary_size` must fit the texts: take another size or more text. "
            f"Received: vocabulary_size={vocabulary_size}, {len(lines)} texts; "
            f"SentencePiece says: {str(error).partition('] ')[2] or error}"
        ) from error
    if path is not None:
        with atomic_path(path) as temporary:
            temporary.write_bytes(model.getvalue())
    return model.getvalue()


def _read_lines(texts):
    if isinstance(texts, (str, bytes, os.PathLike)):
        raise TypeError(
            f"`texts` must be an iterable of str or paths. Received: {texts!r:.80}."
        )
    for text in texts:
        if isinstance(text, os.PathLike):
            yield from _read_file(text)
        elif isinstance(text, str):
            yield text
        else:
            raise TypeError(
                "`texts` must hold str or paths. "
                f"Received: {text!r:.80} (of type {type(text).__name__})."
            )


def _read_file(path):
    try:
        with open(existing_file(path, "texts"), encoding="utf-8") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise ValueError(
            f"Text files must be UTF-8. Received: {str(path)!r}; {error}."
        ) from error
