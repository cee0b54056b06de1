"""SentencePiece models: reading, and changes for ALBERT."""

import functools

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

# Replaces "[MASK]" in text that SentencePiece reads: a Unicode noncharacter, which texts
# do not contain.
MASK_CHARACTER = "\ufdd0"


def read_proto(proto):
    """Returns a model, given as bytes or as a path, as bytes."""
    if isinstance(proto, bytes):
        return proto
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
    """Returns the features of a model that TensorFlow's fast tokenizer lacks, as str.

    Without such features it gives SentencePiece's ids. TFLite has no other tokenizer.
    """
    model = parse_model(proto)
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    normalize = _character_normalizer(character_map(proto)).Normalize
    of_user = [piece.piece for piece in model.pieces if piece.type == USER_DEFINED]
    found = {
        "another kind than unigram": trainer.model_type != _UNIGRAM,
        BYTES: trainer.byte_fallback,
        "markers at the ends of words": trainer.treat_whitespace_as_suffix,
        "no marker before a text": not normalizer.add_dummy_prefix,
        "white space of any length": not normalizer.remove_extra_whitespaces,
        f"{WORD_MARKER} in text": normalize(WORD_MARKER) == WORD_MARKER,
        "pieces of the user that normalization changes": normalize(of_user) != of_user,
    }
    return [name for name, is_found in found.items() if is_found]


def ends_with_digit_comma(piece):
    """Whether a piece is such as `2012,`, which Google's code splits."""
    return piece[-1:] == "," and piece[-2:-1].isdigit()


def with_split_digit_commas(proto, vocabulary):
    """Returns a model that never uses pieces such as `2012,`, as transformers.

    Google's code finds such a piece and encodes it again, without its comma. The ids
    differ if another piece has both the comma and the next digit: 7 of 34,421 lines of
    English and Chinese have other ids than by Google's code.
    """
    model = parse_model(proto)
    for index, piece in enumerate(vocabulary):
        if ends_with_digit_comma(piece):
            # Not unused: TensorFlow's fast tokenizer does not know this type.
            model.pieces[index].type = CONTROL
    return model.SerializeToString()


def with_mask_for_text(proto):
    """Returns a model in which an ordinary word replaces the piece `[MASK]`.

    SentencePiece never finds `[MASK]` in text, but it finds the word `MASK_CHARACTER`,
    if the model is of unigram or BPE, with markers before words.
    """
    model = parse_model(proto)
    trainer = model.trainer_spec
    if trainer.model_type > _BPE or trainer.treat_whitespace_as_suffix:
        raise ValueError(
            "To find [MASK] in text, a model must be of unigram or BPE, with markers "
            "before words. Received: another one. Pass ids instead of text."
        )
    for piece in model.pieces:
        if piece.piece == MASK:
            piece.Clear()
            piece.piece, piece.score = WORD_MARKER + MASK_CHARACTER, _word_score(model)
    return model.SerializeToString()


def with_words(proto, words):
    """Returns a model that finds given words anywhere in text, also within words.

    transformers finds the tokens that were added to a vocabulary in this way. The
    character map of the model puts white space around them.

    Args:
        proto: Bytes of the model.
        words: Dict from ids, of the vocabulary or following it, to str.
    """
    model = parse_model(proto)
    score = _word_score(model)
    pieces = {f" {word}".replace(" ", WORD_MARKER): i for i, word in words.items()}
    for index, piece in enumerate(model.pieces):
        if pieces.get(piece.piece, index) != index:
            # The added token replaces it in text.
            piece.piece = f"<not {piece.piece}>"
    for piece, index in pieces.items():
        if index == len(model.pieces):
            model.pieces.add()
        model.pieces[index].Clear()
        model.pieces[index].piece, model.pieces[index].score = piece, score
    rules = {word: f" {word} " for word in words.values()}
    rules = _character_rules(character_map(proto)) | rules
    return _with_character_rules(model, rules).SerializeToString()


def found_lengths(proto):
    """Returns for each piece the characters of a word of `with_words`, or 0; a list."""
    rules = _character_rules(character_map(proto))
    pieces = [piece.piece for piece in parse_model(proto).pieces]
    words = [p.replace(WORD_MARKER, " ").removeprefix(" ") for p in pieces]
    return [len(w) if rules.get(w) == f" {w} " else 0 for w in words]


def _word_score(model):
    # The highest score of an ordinary piece; pieces of other types have none. Not higher,
    # because SentencePiece derives the scores of user-defined pieces from the maximum.
    return max((p.score for p in model.pieces if p.score < 0), default=-1.0)


def make_unigram(pieces, characters, has_bytes):
    """Returns a unigram model.

    Args:
        pieces: Iterable of dicts with `piece`, str, `score` and `type`.
        characters: Bytes. The character map that normalizes text; may be empty.
        has_bytes: bool. Whether unknown characters are encoded as bytes.
    """
    model = _model_class()(pieces=pieces)
    kinds = [piece.type for piece in model.pieces]
    # Without an unknown piece, reading the model fails.
    model.trainer_spec.unk_id = kinds.index(UNKNOWN) if UNKNOWN in kinds else 0
    model.trainer_spec.byte_fallback = has_bytes
    model.normalizer_spec.precompiled_charsmap = characters
    return model.SerializeToString()


# Cached: several files are exported with one tokenizer, and the map takes a second.
@functools.lru_cache(maxsize=2)
def with_preprocessing(proto, replacements, **preprocessing):
    """Compiles ALBERT's preprocessing into the normalizer of a model's bytes.

    Such a model runs in graphs, also of TFLite, which has neither regular expressions nor
    NFKD, and locates its pieces in the text before preprocessing. The character map
    inside the model has no context, so a Greek final sigma becomes a plain one.
    `replacements`, a tuple of pairs, are further rules, which have priority.
    """
    model = parse_model(proto)
    # As preprocessing does. Without this, places would be those in the text after it.
    model.normalizer_spec.remove_extra_whitespaces = True
    prepare = functools.partial(preprocess_text, **preprocessing)
    for piece in model.pieces:
        # Preprocessed text never has such a piece, but SentencePiece finds pieces of the
        # user before it normalizes text.
        if piece.type == USER_DEFINED and prepare(piece.piece) != piece.piece:
            piece.type = NORMAL
    rules = _rules_after_preprocessing(character_map(proto), **preprocessing)
    if preprocessing["huggingface_quotes"]:
        rules = rules | {"``": '"', "''": '"'}
    rules = rules | dict(replacements)
    return _with_character_rules(model, rules).SerializeToString()


@functools.lru_cache(maxsize=2)
def _rules_after_preprocessing(characters, **preprocessing):
    """Returns the rules of preprocessing and then of a character map, a dict."""
    prepare = functools.partial(preprocess_text, **preprocessing)
    rules = {}
    for source, target in _character_rules(characters).items():
        if prepare(source) == source:
            rules[source] = target
            for variant in (source.upper(), source.title()):
                if prepare(variant) == source:
                    rules[variant] = target
    assigned = map(chr, points_where(is_assigned)[1:])
    images = {c: " " if c.isspace() else prepare(c) for c in assigned}
    images = {c: image for c, image in images.items() if image != c}
    normalized = _character_normalizer(characters).Normalize([*images.values()])
    rules |= zip(images, normalized, strict=True)
    # Some characters, such as Hangul syllables, are decomposed and composed again.
    return {source: target for source, target in rules.items() if source != target}


def _with_character_rules(model, rules):
    """Sets the character map of a parsed model to rules, a dict; returns the model."""
    sentencepiece.SetMinLogLevel(1)  # Building a map logs two lines to standard error.
    made = sentencepiece.SentencePieceNormalizer(norm_map=list(rules.items()))
    characters = character_map(made.serialized_model_proto())
    model.normalizer_spec.precompiled_charsmap = characters
    return model


def character_map(proto):
    """Returns the compiled character map of a model; may be empty."""
    return parse_model(proto).normalizer_spec.precompiled_charsmap


@functools.lru_cache(maxsize=2)
def invisible_characters(proto):
    """Returns the characters that a model normalizes to a space or to nothing, a str."""
    characters = [chr(point) for point in points_where(is_assigned)[1:]]
    images = _character_normalizer(character_map(proto)).Normalize(characters)
    pairs = zip(characters, images, strict=True)
    return "".join(character for character, image in pairs if not image.strip())


def _character_normalizer(characters):
    """Returns the normalizer of a character map alone."""
    model = _model_class()(normalizer_spec={"precompiled_charsmap": characters})
    return sentencepiece.SentencePieceNormalizer(
        model_proto=model.SerializeToString(),
        add_dummy_prefix=False,
        escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )


# Cached: it takes a quarter of a second, and models of the same kind share a map.
@functools.lru_cache(maxsize=2)
def _character_rules(characters):
    return dict(_character_normalizer(characters).Decompile()) if characters else {}


# Values of `ModelType` and of a piece's `Type`.
_UNIGRAM, _BPE = 1, 2
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6

# The fields of google/sentencepiece `src/sentencepiece_model.proto` used here: message,
# name, number, type, and default if there is one.
_FIELDS = (
    ("SentencePiece", "piece", 1, "STRING"),
    ("SentencePiece", "score", 2, "FLOAT"),
    ("SentencePiece", "type", 3, "INT32", "1"),
    ("TrainerSpec", "model_type", 3, "INT32", "1"),
    ("TrainerSpec", "treat_whitespace_as_suffix", 24, "BOOL"),
    ("TrainerSpec", "byte_fallback", 35, "BOOL"),
    ("TrainerSpec", "unk_id", 40, "INT32"),
    ("NormalizerSpec", "precompiled_charsmap", 2, "BYTES"),
    ("NormalizerSpec", "add_dummy_prefix", 3, "BOOL", "true"),
    ("NormalizerSpec", "remove_extra_whitespaces", 4, "BOOL", "true"),
    ("ModelProto", "pieces", 1, "SentencePiece"),
    ("ModelProto", "trainer_spec", 2, "TrainerSpec"),
    ("ModelProto", "normalizer_spec", 3, "NormalizerSpec"),
)


def parse_model(proto):
    """Parses the bytes of a model to a protobuf message with the fields used here."""
    return _model_class().FromString(proto)


@functools.cache
def _model_class():
    """Returns the protobuf class of a SentencePiece model.

    Messages keep the values of unknown fields. sentencepiece's own class needs a later
    protobuf than TensorFlow and Apache Beam allow.
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
