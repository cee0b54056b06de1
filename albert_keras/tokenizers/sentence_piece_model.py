"""SentencePiece models as data: reading them, and teaching them what ALBERT needs."""

import os
import struct
import sys
import unicodedata

import sentencepiece

from albert_keras.checks import existing_file
from albert_keras.tokenizers.normalization import preprocess_text

WORD_MARKER = "▁"
MASK = "[MASK]"

# Stands for "[MASK]" in text that SentencePiece reads. Unicode keeps this code point
# out of all text for ever, so it cannot collide with the user's.
MASK_CHARACTER = "\ufdd0"

# A model is a protocol buffer: its pieces are fields 1, its normalizer field 3; the text
# of a piece and the name of a normalizer are again fields 1. They are written as bytes,
# because sentencepiece's module for them asks for a later protobuf than TensorFlow and
# Apache Beam live with.
_NORMALIZER = 3
_SCORE_TAG = b"\x15"


def read_proto(proto):
    """Returns the bytes of a model that is given as bytes or as a path."""
    if isinstance(proto, bytes):
        return proto
    if not isinstance(proto, (str, os.PathLike)):
        raise TypeError(
            "`proto` must be the path or the bytes of a SentencePiece model. "
            f"Received: proto={proto!r} (of type {type(proto).__name__})."
        )
    return existing_file(proto, "proto").read_bytes()


def load_processor(proto):
    """Returns the `SentencePieceProcessor` of a model's bytes."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(proto)
    except RuntimeError as error:
        raise ValueError(
            "`proto` must be a SentencePiece model; `train_sentence_piece` makes one. "
            f"Received: {len(proto)} bytes that begin with {proto[:20]!r}."
        ) from error
    return processor


def with_mask_for_text(proto):
    """Gives `[MASK]`, which SentencePiece never finds in text, a piece that it finds.

    The mask's piece becomes a word of its own: the marker and `MASK_CHARACTER`.
    """
    processor = load_processor(proto)
    scores = processor.GetScore(list(range(len(processor))))
    # That of an ordinary piece; other kinds have none. Not higher than all of them:
    # user-defined pieces take their scores from the highest.
    score = max(score for score in scores if score < 0)
    word = _field(1, (WORD_MARKER + MASK_CHARACTER).encode())
    start = proto.index(_field(1, MASK.encode()))
    end = start + proto[start - 1]
    piece = _field(1, word + _SCORE_TAG + struct.pack("<f", score))
    return proto[: start - 2] + piece + proto[end:]


def with_preprocessing(proto, replacements, **preprocessing):
    """Compiles ALBERT's preprocessing into a model's own normalizer.

    TFLite runs neither regular expressions nor NFKD; the character map inside the model
    is the one place where it can be told to preprocess. A map knows no context, so a
    Greek final sigma stays a plain one.

    Args:
        proto: bytes of the model.
        replacements: dict str -> str. What else to replace in text, before all.
        **preprocessing: as for `preprocess_text`.

    Returns:
        Bytes of the model that preprocesses.
    """
    normalizer = sentencepiece.SentencePieceNormalizer(
        model_proto=proto,
        add_dummy_prefix=False,
        escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )
    rules = _fused_rules(normalizer, preprocessing) | replacements
    if preprocessing["huggingface_quotes"]:
        rules |= {"``": '"', "''": '"'}
    fused = sentencepiece.SentencePieceNormalizer(norm_map=list(rules.items()))
    # Fields of a message given twice are merged, the later one counts: of this, the map.
    return proto + _field(_NORMALIZER, _first_field(fused.serialized_normalizer_spec()))


def character_map(proto):
    """Returns the compiled map by which a model normalizes characters; may be empty.

    Args:
        proto: bytes of the model.
    """
    normalizer = sentencepiece.SentencePieceNormalizer(model_proto=proto)
    spec = normalizer.serialized_normalizer_spec()
    # Its name, field 1, stands before the map, field 2; flags follow.
    rest = spec[len(_first_field(spec)) :] if spec[:1] == b"\x0a" else spec
    if rest[:1] != b"\x12":
        return b""
    field = _first_field(rest)
    # A tag, a size of so many bytes, the content.
    return field[2 + next(n for n, byte in enumerate(field[1:]) if byte < 0x80) :]


def _fused_rules(normalizer, preprocessing):
    # Rules of text that preprocessing would have changed can no longer apply.
    rules = {
        source: target
        for source, target in normalizer.Decompile()
        if preprocess_text(source, **preprocessing) == source
    }
    for character in map(chr, range(1, sys.maxunicode + 1)):
        if unicodedata.category(character) in ("Cn", "Co", "Cs"):
            continue  # Unassigned, private and half a pair: they stay as they are.
        image = preprocess_text(character, **preprocessing)
        image = " " if character.isspace() else image
        if image != character:
            rules[character] = normalizer.Normalize(image)
    # Hangul syllables, for one, fall apart and come together again.
    return {source: target for source, target in rules.items() if source != target}


def _field(number, content):
    """Returns a field of a protocol buffer that holds bytes."""
    size, rest = [], len(content)
    while rest >= 0x80:
        size.append(rest % 0x80 + 0x80)
        rest //= 0x80
    return bytes([8 * number + 2, *size, rest]) + content


def _first_field(message):
    """Returns the first field of a protocol buffer, which must hold bytes."""
    start = 2 + next(n for n, byte in enumerate(message[1:]) if byte < 0x80)
    size = sum((byte % 0x80) << (7 * n) for n, byte in enumerate(message[1:start]))
    return message[: start + size]
