"""Reading of SentencePiece models, and changes of them for ALBERT."""

import functools
import itertools
import os

import sentencepiece

from albert_keras.checks import existing_file
from albert_keras.system.files import check_is_fetched
from albert_keras.tokenizers.normalization import (
    is_assigned,
    points_where,
    preprocess_text,
)

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
    check_is_fetched(proto)
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


BYTES = "bytes of unknown characters"


def peculiarities(proto):
    """Returns what of a model TensorFlow's fast tokenizer does not know, a list of str.

    It encodes a model without any as SentencePiece does. TFLite has no other tokenizer.
    """
    model = parse_model(proto)
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    normalize = _character_normalizer(proto).Normalize
    of_user = [piece.piece for piece in model.pieces if piece.type == USER_DEFINED]
    found = {
        "another kind than unigram": trainer.model_type != _UNIGRAM,
        BYTES: trainer.byte_fallback,
        "markers at the ends of words": trainer.treat_whitespace_as_suffix,
        "no marker before a text": not normalizer.add_dummy_prefix,
        f"{WORD_MARKER} in text": normalize(WORD_MARKER) == WORD_MARKER,
        "pieces of the user that normalization changes": normalize(of_user) != of_user,
    }
    return [name for name, is_found in found.items() if is_found]


def with_mask_for_text(proto):
    """Returns a model in which an ordinary word replaces the piece `[MASK]`.

    SentencePiece never finds `[MASK]` in text; the word is `MASK_CHARACTER`.
    """
    model = parse_model(proto)
    trainer = model.trainer_spec
    if trainer.model_type > _BPE or trainer.treat_whitespace_as_suffix:
        raise ValueError(
            "To find [MASK] in text, a model must be a unigram or BPE one with markers "
            "before words. Received: another one. Pass ids, with the mask's."
        )
    for piece in model.pieces:
        if piece.piece == MASK:
            piece.Clear()
            piece.piece, piece.score = WORD_MARKER + MASK_CHARACTER, _word_score(model)
    return model.SerializeToString()


# After the name of a map of characters that finds words.
_WORDS = " with words"


def with_words(proto, words):
    """Returns a model that finds words anywhere in text, and what follows as a new word.

    So transformers finds the tokens that were added to a vocabulary. The model's map of
    characters puts white space around them.

    Args:
        proto: Bytes of the model.
        words: Dict of a str by each id, old, or new ones after them.
    """
    model = parse_model(proto)
    score = _word_score(model)
    pieces = {f" {word}".replace(" ", WORD_MARKER): i for i, word in words.items()}
    for index, piece in enumerate(model.pieces):
        if pieces.get(piece.piece, index) != index:
            # Text has the added token in its place.
            piece.piece = f"<not {piece.piece}>"
    for piece, index in pieces.items():
        if index == len(model.pieces):
            model.pieces.add()
        model.pieces[index].Clear()
        model.pieces[index].piece, model.pieces[index].score = piece, score
    rules = _character_rules(proto)
    rules |= {word: f" {word} " for word in words.values()}
    model.normalizer_spec.name += _WORDS
    return _with_character_rules(model, rules).SerializeToString()


def found_lengths(proto):
    """Returns the characters of each word of `with_words`, by its id."""
    if not parse_model(proto).normalizer_spec.name.endswith(_WORDS):
        return {}
    rules = _character_rules(proto)
    pieces = enumerate(piece.piece for piece in parse_model(proto).pieces)
    words = {i: p.replace(WORD_MARKER, " ").removeprefix(" ") for i, p in pieces}
    return {i: len(w) for i, w in words.items() if rules.get(w) == f" {w} "}


def _word_score(model):
    # The score of an ordinary piece; other kinds have none. Not higher than all of them:
    # user-defined pieces take their scores from the highest.
    return max((p.score for p in model.pieces if p.score < 0), default=-1.0)


def make_unigram(pieces, characters, has_bytes):
    """Returns a unigram model.

    Args:
        pieces: Iterable of tuples of a piece, str, its score and its type.
        characters: Bytes. The map by which text is normalized; may be empty.
        has_bytes: bool. Whether unknown characters are encoded as bytes.
    """
    model = _model_class()()
    for piece, score, kind in pieces:
        model.pieces.add(piece=piece, score=score, type=kind)
    kinds = [piece.type for piece in model.pieces]
    # Where no piece is unknown, reading the model fails.
    model.trainer_spec.unk_id = kinds.index(UNKNOWN) if UNKNOWN in kinds else 0
    model.trainer_spec.byte_fallback = has_bytes
    model.normalizer_spec.precompiled_charsmap = characters
    return model.SerializeToString()


# Several files are exported with one tokenizer, and the map takes seconds.
@functools.lru_cache(maxsize=2)
def with_preprocessing(proto, replacements, **preprocessing):
    """Compiles ALBERT's preprocessing into the normalizer of a model's bytes.

    TFLite runs neither regular expressions nor NFKD, but it does apply the character map
    inside the model. A map knows no context, so a Greek final sigma becomes a plain one.
    `replacements` is a tuple of pairs of other replacements, applied first.
    """
    rules = _fused_rules(_character_normalizer(proto), preprocessing)
    rules |= dict(replacements)
    if preprocessing["huggingface_quotes"]:
        rules |= {"``": '"', "''": '"'}
    return _with_character_rules(parse_model(proto), rules).SerializeToString()


def _with_character_rules(model, rules):
    """Returns a parsed model with a map of characters made of rules, a dict."""
    sentencepiece.SetMinLogLevel(1)  # Building a map logs two lines to standard error.
    made = sentencepiece.SentencePieceNormalizer(norm_map=list(rules.items()))
    characters = character_map(made.serialized_model_proto())
    model.normalizer_spec.precompiled_charsmap = characters
    return model


def character_map(proto):
    """Returns the compiled map by which a model normalizes characters; may be empty."""
    return parse_model(proto).normalizer_spec.precompiled_charsmap


@functools.lru_cache(maxsize=2)
def invisible_characters(proto):
    """Returns the characters that a model normalizes to a space or to nothing, a str."""
    characters = [chr(point) for point in points_where(is_assigned)[1:]]
    images = _character_normalizer(proto).Normalize(characters)
    pairs = zip(characters, images, strict=True)
    return "".join(character for character, image in pairs if not image.strip(" "))


def _character_normalizer(proto):
    """Returns the normalizer of a model, without its rules for white space."""
    return sentencepiece.SentencePieceNormalizer(
        model_proto=proto,
        add_dummy_prefix=False,
        escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )


def _character_rules(proto):
    has_rules = character_map(proto)
    return dict(_character_normalizer(proto).Decompile()) if has_rules else {}


def _fused_rules(normalizer, preprocessing):
    # A rule for text that preprocessing changes can never apply, but where it changes
    # only the case: what has that lower case has the same image.
    rules = {
        variant: target
        for source, target in normalizer.Decompile()
        if preprocess_text(source, **preprocessing) == source
        for variant in _variants(source, preprocessing["lowercase"])
    }
    for character in map(chr, points_where(is_assigned)[1:]):
        image = preprocess_text(character, **preprocessing)
        image = " " if character.isspace() else image
        if image != character:
            rules[character] = normalizer.Normalize(image)
    # Hangul syllables, for example, are decomposed and composed again.
    return {source: target for source, target in rules.items() if source != target}


def _variants(text, lowercase):
    """Returns the texts whose characters have the lower case of those of a text."""
    if not lowercase or len(text) == 1:
        return [text]
    capitals = _capitals()
    choices = [[character, *capitals.get(character, "")] for character in text]
    return map("".join, itertools.product(*choices))


@functools.cache
def _capitals():
    """Returns the characters with another lower case, by it."""
    found = {}
    for character in map(chr, points_where(is_assigned)):
        if character.lower() != character:
            found.setdefault(character.lower(), []).append(character)
    return found


# Values of `ModelType`, of which the others are greater, and of a piece's `Type`.
_UNIGRAM, _BPE = 1, 2
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6

# Of google/sentencepiece `src/sentencepiece_model.proto` the fields used here: message,
# name, number, type, and default if there is one.
_FIELDS = (
    ("SentencePiece", "piece", 1, "STRING"),
    ("SentencePiece", "score", 2, "FLOAT"),
    ("SentencePiece", "type", 3, "INT32", "1"),
    ("TrainerSpec", "model_type", 3, "INT32", "1"),
    ("TrainerSpec", "treat_whitespace_as_suffix", 24, "BOOL"),
    ("TrainerSpec", "byte_fallback", 35, "BOOL"),
    ("TrainerSpec", "unk_id", 40, "INT32"),
    ("NormalizerSpec", "name", 1, "STRING"),
    ("NormalizerSpec", "precompiled_charsmap", 2, "BYTES"),
    ("NormalizerSpec", "add_dummy_prefix", 3, "BOOL", "true"),
    ("NormalizerSpec", "remove_extra_whitespaces", 4, "BOOL", "true"),
    ("ModelProto", "pieces", 1, "SentencePiece"),
    ("ModelProto", "trainer_spec", 2, "TrainerSpec"),
    ("ModelProto", "normalizer_spec", 3, "NormalizerSpec"),
)


def parse_model(proto):
    """Returns a model's bytes as a protobuf message, with the fields used here."""
    return _model_class().FromString(proto)


@functools.cache
def _model_class():
    """Returns the protobuf class of a SentencePiece model.

    Fields that it does not have are kept as they are. sentencepiece's own class needs a
    later protobuf than TensorFlow and Apache Beam run with.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="sentencepiece_model.proto")
    names = dict.fromkeys(message for message, *_ in _FIELDS)
    messages = {name: file.message_type.add(name=name) for name in names}
    for message, name, number, kind, *default in _FIELDS:
        field = messages[message].field.add(name=name, number=number)
        field.label = field.LABEL_REPEATED if name == "pieces" else field.LABEL_OPTIONAL
        if kind in messages:
            field.type_name = kind
        else:
            field.type = field.Type.Value(f"TYPE_{kind}")
        if default:
            (field.default_value,) = default
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("ModelProto"))
