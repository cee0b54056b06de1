"""SentencePiece models as data: reading them, and teaching them what ALBERT needs."""

import os
import sys
import unicodedata

import sentencepiece

from albert_keras.tokenizers.base import existing_file
from albert_keras.tokenizers.normalization import preprocess_text

WORD_MARKER = "▁"
MASK = "[MASK]"

# Stands for "[MASK]" in text that SentencePiece reads. Unicode keeps this code point
# out of all text for ever, so it cannot collide with the user's.
MASK_CHARACTER = "\ufdd0"


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
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto.FromString(proto)
    mask = next(piece for piece in model.pieces if piece.piece == MASK)
    scores = [piece.score for piece in model.pieces if piece.type == mask.NORMAL]
    mask.piece = WORD_MARKER + MASK_CHARACTER
    mask.type = mask.NORMAL
    # Not higher: user-defined pieces take their scores from the highest.
    mask.score = max(scores)
    return model.SerializeToString()


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
    from sentencepiece import sentencepiece_model_pb2

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
    spec = sentencepiece_model_pb2.NormalizerSpec.FromString(
        fused.serialized_normalizer_spec()
    )
    model = sentencepiece_model_pb2.ModelProto.FromString(proto)
    model.normalizer_spec.precompiled_charsmap = spec.precompiled_charsmap
    return model.SerializeToString()


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
