"""Reading of SentencePiece models, and changes of them for ALBERT."""

import functools
import os
import sys
import unicodedata

import sentencepiece

from albert_keras.checks import existing_file
from albert_keras.tokenizers.normalization import preprocess_text

WORD_MARKER = "▁"
MASK = "[MASK]"

# Replaces "[MASK]" in text that SentencePiece reads. A Unicode noncharacter, which no
# text contains.
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
    """Replaces the piece `[MASK]`, which SentencePiece never finds in text.

    The new piece is the word marker and `MASK_CHARACTER`, an ordinary word.

    Args:
        proto: bytes of the model.

    Returns:
        Bytes of the changed model.
    """
    model = _model_class().FromString(proto)
    # The score of an ordinary piece; other kinds have none. Not higher than all of them:
    # user-defined pieces take their scores from the highest.
    score = max(piece.score for piece in model.pieces if piece.score < 0)
    for piece in model.pieces:
        if piece.piece == MASK:
            piece.Clear()
            piece.piece, piece.score = WORD_MARKER + MASK_CHARACTER, score
    return model.SerializeToString()


def with_preprocessing(proto, replacements, **preprocessing):
    """Compiles ALBERT's preprocessing into a model's own normalizer.

    TFLite runs neither regular expressions nor NFKD, but it does apply the character map
    inside the model. A map knows no context, so a Greek final sigma becomes a plain one.

    Args:
        proto: bytes of the model.
        replacements: dict str -> str. Other replacements in the text, applied first.
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
    sentencepiece.SetMinLogLevel(1)  # Building a map logs two lines to standard error.
    fused = sentencepiece.SentencePieceNormalizer(norm_map=list(rules.items()))
    model = _model_class().FromString(proto)
    characters = character_map(fused.serialized_model_proto())
    model.normalizer_spec.precompiled_charsmap = characters
    return model.SerializeToString()


def character_map(proto):
    """Returns the compiled map by which a model normalizes characters; may be empty.

    Args:
        proto: bytes of the model.
    """
    return _model_class().FromString(proto).normalizer_spec.precompiled_charsmap


def _fused_rules(normalizer, preprocessing):
    # A rule for text that preprocessing changes can never apply.
    rules = {
        source: target
        for source, target in normalizer.Decompile()
        if preprocess_text(source, **preprocessing) == source
    }
    for character in map(chr, range(1, sys.maxunicode + 1)):
        if unicodedata.category(character) in ("Cn", "Co", "Cs"):
            continue  # Unassigned, private and surrogate code points do not change.
        image = preprocess_text(character, **preprocessing)
        image = " " if character.isspace() else image
        if image != character:
            rules[character] = normalizer.Normalize(image)
    # Hangul syllables, for example, are decomposed and composed again.
    return {source: target for source, target in rules.items() if source != target}


@functools.cache
def _model_class():
    """Returns the protobuf class of a SentencePiece model, with the fields used here.

    Other fields are kept as they are. sentencepiece's own module for them needs a later
    protobuf than TensorFlow and Apache Beam run with.

    Reference: google/sentencepiece `src/sentencepiece_model.proto`.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    one, many = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    messages = {
        "SentencePiece": [
            field(name="piece", number=1, label=one, type=field.TYPE_STRING),
            field(name="score", number=2, label=one, type=field.TYPE_FLOAT),
        ],
        "NormalizerSpec": [
            field(
                name="precompiled_charsmap", number=2, label=one, type=field.TYPE_BYTES
            )
        ],
        "ModelProto": [
            field(name="pieces", number=1, label=many, type_name="SentencePiece"),
            field(
                name="normalizer_spec", number=3, label=one, type_name="NormalizerSpec"
            ),
        ],
    }
    pool = descriptor_pool.DescriptorPool()
    pool.Add(
        descriptor_pb2.FileDescriptorProto(
            name="sentencepiece_model.proto",
            message_type=[
                descriptor_pb2.DescriptorProto(name=name, field=fields)
                for name, fields in messages.items()
            ],
        )
    )
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("ModelProto"))
