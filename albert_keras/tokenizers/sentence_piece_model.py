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
    """Returns a model in which an ordinary word replaces the piece `[MASK]`.

    SentencePiece never finds `[MASK]` in text; the word is `MASK_CHARACTER`.
    """
    model = _model_class().FromString(proto)
    # The score of an ordinary piece; other kinds have none. Not higher than all of them:
    # user-defined pieces take their scores from the highest.
    score = max((p.score for p in model.pieces if p.score < 0), default=-1.0)
    for piece in model.pieces:
        if piece.piece == MASK:
            piece.Clear()
            piece.piece, piece.score = WORD_MARKER + MASK_CHARACTER, score
    return model.SerializeToString()


# Several files are exported with one tokenizer, and the map takes seconds.
@functools.lru_cache(maxsize=2)
def with_preprocessing(proto, replacements, **preprocessing):
    """Compiles ALBERT's preprocessing into the normalizer of a model's bytes.

    TFLite runs neither regular expressions nor NFKD, but it does apply the character map
    inside the model. A map knows no context, so a Greek final sigma becomes a plain one.
    `replacements` is a tuple of pairs of other replacements, applied first.
    """
    normalizer = sentencepiece.SentencePieceNormalizer(
        model_proto=proto,
        add_dummy_prefix=False,
        escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )
    rules = _fused_rules(normalizer, preprocessing) | dict(replacements)
    if preprocessing["huggingface_quotes"]:
        rules |= {"``": '"', "''": '"'}
    sentencepiece.SetMinLogLevel(1)  # Building a map logs two lines to standard error.
    fused = sentencepiece.SentencePieceNormalizer(norm_map=list(rules.items()))
    model = _model_class().FromString(proto)
    characters = character_map(fused.serialized_model_proto())
    model.normalizer_spec.precompiled_charsmap = characters
    return model.SerializeToString()


def character_map(proto):
    """Returns the compiled map by which a model normalizes characters; may be empty."""
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


# The fields used here of google/sentencepiece `src/sentencepiece_model.proto`.
_MODEL_FILE = """
name: "sentencepiece_model.proto"
message_type {
  name: "SentencePiece"
  field { name: "piece" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
  field { name: "score" number: 2 label: LABEL_OPTIONAL type: TYPE_FLOAT }
}
message_type {
  name: "NormalizerSpec"
  field {
    name: "precompiled_charsmap" number: 2 label: LABEL_OPTIONAL type: TYPE_BYTES
  }
}
message_type {
  name: "ModelProto"
  field {
    name: "pieces" number: 1 label: LABEL_REPEATED type_name: "SentencePiece"
  }
  field {
    name: "normalizer_spec" number: 3 label: LABEL_OPTIONAL type_name: "NormalizerSpec"
  }
}
"""


@functools.cache
def _model_class():
    """Returns the protobuf class of a SentencePiece model.

    Fields that it does not have are kept as they are. sentencepiece's own class needs a
    later protobuf than TensorFlow and Apache Beam run with.
    """
    from google.protobuf import (
        descriptor_pb2,
        descriptor_pool,
        message_factory,
        text_format,
    )

    file = text_format.Parse(_MODEL_FILE, descriptor_pb2.FileDescriptorProto())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("ModelProto"))
