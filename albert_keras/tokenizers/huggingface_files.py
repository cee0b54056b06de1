"""Hugging Face's tokenizer files: reader, and writer by their library `tokenizers`."""

import base64
import json
import re
import unicodedata

import numpy as np
import tokenizers

from albert_keras.checks import check_json, shown
from albert_keras.system.files import read_json, write_json
from albert_keras.tokenizers.sentence_piece_encoder import SentencePieceEncoder
from albert_keras.tokenizers.sentence_piece_model import (
    BYTE,
    BYTES,
    CONTROL,
    NORMAL,
    UNKNOWN,
    WORD_MARKER,
    character_map,
    ends_with_digit_comma,
    load_processor,
    make_unigram,
    peculiarities,
    read_proto,
)
from albert_keras.tokenizers.vocabulary import read_vocabulary
from albert_keras.tokenizers.word_piece_encoder import CONTINUATION, WordPieceEncoder

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
# transformers' converter subtracts this from the scores of pieces such as "2012,", so
# that they are not used.
DIGIT_COMMA_PENALTY = 100
QUOTES = ("``", "''")

# Text whose ids show whether the rules of a file are those of the tokenizers here.
_PROBE = "É 中a, b 12,3 ``c''"
_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")
_CLASSES = (
    *("AlbertTokenizer", "BertTokenizer", "PreTrainedTokenizer", "TokenizersBackend"),
)
_CHARACTER_MAP = re.compile('"precompiled_charsmap":"([^"]*)"')
# Options of transformers, true or false, for WordPiece and for SentencePiece.
_OPTIONS = (
    {
        "do_lower_case": "lowercase",
        "strip_accents": "strip_accents",
        "tokenize_chinese_chars": "split_chinese",
    },
    {"do_lower_case": "lowercase", "keep_accents": "strip_accents"},
)
# Options of transformers that must have their default, the only value here.
_FIXED_OPTIONS = {
    "add_prefix_space": True,
    "do_basic_tokenize": True,
    "never_split": [],
    "remove_space": True,
    "sp_model_kwargs": {},
}
# The steps before a model, with the values that the tokenizers here have. Both schemes of
# `Metaspace` are the same after the split at white space.
_STEPS = {
    "WordPiece": {"BertNormalizer": {"clean_text": [True]}, "BertPreTokenizer": {}},
    "Unigram": {
        **{name: {} for name in ("Lowercase", "NFKD", "Precompiled", "Strip")},
        **{name: {} for name in ("StripAccents", "WhitespaceSplit")},
        "Metaspace": {
            "replacement": [WORD_MARKER],
            "prepend_scheme": ["always", "first"],
        },
        "Replace": {
            "pattern": [{"Regex": " {2,}"}, *({"String": quotes} for quotes in QUOTES)],
            "content": [" ", '"'],
        },
    },
}
_REMEDY = "Pass another `tokenizer`, or ids instead of text."


def is_tokenizer_file(file):
    """Returns whether a file is the `tokenizer.json` of `tokenizers`, not of Keras."""
    return file.name == TOKENIZER_FILE and "model" in _read_if_there(file)


def read_tokenizer_files(file):
    """Reads a vocabulary file and the files of Hugging Face beside it.

    Args:
        file: `pathlib.Path`. A SentencePiece model, a vocabulary of one token per line
            with the suffix `.txt`, or a `tokenizer.json`.

    Returns:
        Tuple of the vocabulary, bytes of a SentencePiece model or a list of str; the
        options of the tokenizer's class, a dict; and the added tokens, str by id.

    Raises:
        ValueError: If a file is damaged, states an unknown class, or has other rules.
    """
    if is_tokenizer_file(file):
        vocabulary, options, added = _read_tokenizer_json(file)
        name = stated_class(file.parent) or ""
        if name.startswith(("Albert", "Bert")):
            # transformers makes the rules of these classes from their options.
            options |= _read_options(file.parent, isinstance(vocabulary, bytes))[0]
    else:
        of_pieces = file.suffix != ".txt"
        vocabulary = (read_proto if of_pieces else read_vocabulary)(file)
        options, added = _read_options(file.parent, of_pieces)
    # sentence-transformers lower-cases text before the tokenizer.
    stated = _read_if_there(file.with_name("sentence_bert_config.json"))
    if stated.get("do_lower_case") is True:
        options["lowercase"] = True
    return vocabulary, options, added


def _read_tokenizer_json(file):
    """Reads a `tokenizer.json`; returns and raises as `read_tokenizer_files`."""
    try:
        # The library converts files of earlier versions.
        theirs = tokenizers.Tokenizer.from_file(str(file))
    except BaseException as error:  # Its errors have no class, and it may panic.
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ValueError(
            f"A {TOKENIZER_FILE} must be one of the library `tokenizers`. "
            f"Received: '{file}': {str(error)[:200]}"
        ) from error
    content, added = json.loads(theirs.to_str()), theirs.get_added_tokens_decoder()
    model = content["model"]
    steps = [*_steps_of(content["normalizer"]), *_steps_of(content["pre_tokenizer"])]
    if model["type"] not in _STEPS:
        raise _unlike(file, model["type"])
    known = _STEPS[model["type"]]
    unlike = [step for step in steps if not _is_known(step, known)]
    names = {step["type"] for step in steps}
    if unlike or ("NFKD" in names) != ("StripAccents" in names):
        raise _unlike(file, ", ".join(map(shown, unlike or sorted(names))))
    # Without added tokens.
    plain = tokenizers.Tokenizer(theirs.model)
    plain.normalizer, plain.pre_tokenizer = theirs.normalizer, theirs.pre_tokenizer
    normalize = theirs.normalizer.normalize_str if theirs.normalizer else str
    options = {
        "lowercase": normalize("A") == "a",
        "strip_accents": normalize("é") == "e",
    }
    if isinstance(theirs.model, tokenizers.models.WordPiece):
        vocabulary = sorted(model["vocab"], key=model["vocab"].get)
        options["split_chinese"] = normalize("中") != "中"
        encoder = WordPieceEncoder(vocabulary, **options)
    else:
        vocabulary, options["split_digit_comma"] = _read_unigram(theirs, model)
        beside = file.with_name("spiece.model")
        if beside.is_file() and _pieces_of(beside.read_bytes()) == _pieces_of(
            vocabulary
        ):
            # It has the types of the pieces, which `tokenizer.json` lacks.
            vocabulary = beside.read_bytes()
        options["huggingface_quotes"] = normalize(QUOTES[0]) == '"'
        encoder = SentencePieceEncoder(vocabulary, **options, mask_in_text=False)
    if encoder.encode_batch([_PROBE])[0] != plain.encode(_PROBE).ids:
        raise _unlike(file, f"{model['type']} and other ids of {_PROBE!r}")
    return vocabulary, options, {index: token.content for index, token in added.items()}


def _unlike(file, received):
    return ValueError(
        f"A {TOKENIZER_FILE} must have the rules of ALBERT's or BERT's tokenizer. "
        f"Received: '{file}' with {received}. {_REMEDY}"
    )


def _pieces_of(proto):
    processor = load_processor(proto)
    return processor.IdToPiece([*range(len(processor))])


def _steps_of(part):
    """Yields the steps of a normalizer or pre-tokenizer, dicts."""
    inner = part and (part.get("normalizers") or part.get("pretokenizers"))
    for step in inner or [part] * bool(part):
        yield from _steps_of(step) if inner else [step]


def _is_known(step, known):
    values = known.get(step["type"], {"type": ()})
    return all(step[key] in allowed for key, allowed in values.items())


def _read_unigram(theirs, model):
    """Returns a SentencePiece model, bytes, and whether it splits digits and commas."""
    added = theirs.get_added_tokens_decoder().values()
    special = [token.content for token in added if token.special]
    commas = [score for piece, score in model["vocab"] if ends_with_digit_comma(piece)]
    splits = max(commas, default=-np.inf) < -DIGIT_COMMA_PENALTY
    pieces = []
    for index, (piece, score) in enumerate(model["vocab"]):
        kind = CONTROL if piece in special else NORMAL
        if index == model["unk_id"]:
            kind = UNKNOWN
        elif model["byte_fallback"] and _BYTE_PIECE.fullmatch(piece):
            kind = BYTE
        if splits and ends_with_digit_comma(piece):
            score += DIGIT_COMMA_PENALTY
        pieces.append({"piece": piece, "score": score, "type": kind})
    characters = base64.b64decode("".join(_CHARACTER_MAP.findall(theirs.to_str())))
    return make_unigram(pieces, characters, model["byte_fallback"]), splits


def _read_options(folder, of_pieces):
    """Reads the options of a tokenizer from the files beside its vocabulary.

    Args:
        folder: `pathlib.Path`. It may have `tokenizer_config.json`, `added_tokens.json`
            and the model's `config.json`.
        of_pieces: bool. Whether the vocabulary is SentencePiece's.

    Returns:
        Tuple of arguments of the class here, a dict, and the added tokens, str by id.

    Raises:
        ValueError: If the files state an unknown class, or options that are not bool.
    """
    file = folder / CONFIG_FILE
    stated, config = _read_if_there(file), _read_if_there(folder / "config.json")
    name = stated_class(folder)
    if name and name.removesuffix("Fast") not in _CLASSES:
        raise ValueError(
            f"The class of a tokenizer must be one of {', '.join(_CLASSES)}. "
            f"Received: tokenizer_class={shown(name)} in '{folder}'. {_REMEDY}"
        )
    for key, only in _FIXED_OPTIONS.items():
        if stated.get(key, only) not in (only, None):
            raise ValueError(
                f"`{key}` must be {only!r}, as in the tokenizers of ALBERT. "
                f"Received: {key}={shown(stated[key])} in '{file}'. {_REMEDY}"
            )
    names = _OPTIONS[of_pieces]
    flags = {key: stated[key] for key in names if stated.get(key) is not None}
    check_json(flags, {str: bool}, file)
    options = {names[k]: flag is not (k == "keep_accents") for k, flag in flags.items()}
    if of_pieces:
        options["huggingface_quotes"] = bool(stated or "model_type" in config)
    return options, _added_tokens(folder, stated)


def stated_class(folder):
    """Returns the tokenizer class that the files of a folder state, or `None`."""
    for name in (CONFIG_FILE, "config.json"):
        if stated := _read_if_there(folder / name).get("tokenizer_class"):
            return str(stated)
    return None


def _added_tokens(folder, stated):
    file = folder / "added_tokens.json"
    ids, tokens = _read_if_there(file), stated.get("added_tokens_decoder") or {}
    check_json(ids, {str: int}, file)
    template = {str: {"content": str}}
    check_json(tokens, template, folder / CONFIG_FILE, "added_tokens_decoder")
    listed = {int(i): token["content"] for i, token in tokens.items() if i.isdigit()}
    return {index: token for token, index in ids.items()} | listed


def _read_if_there(file):
    return read_json(file) if file.is_file() else {}


def write_tokenizer_files(tokenizer, max_sequence_length, folder):
    """Writes `tokenizer_config.json` and `tokenizer.json` for transformers.

    transformers 5 makes the rules of `AlbertTokenizer` itself. Where they differ, the
    files name a general class.

    Raises:
        ValueError: If transformers would give other ids.
    """
    is_unigram = hasattr(tokenizer.encoder, "proto")
    fast, options = (_make_unigram if is_unigram else _make_word_piece)(tokenizer)
    *_, start, end, mask = tokenizer.special_tokens
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    fast.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in (start, end)],
    )
    fast.add_special_tokens(
        [
            tokenizers.AddedToken(token, lstrip=token == mask, normalized=False)
            for token in tokenizer.special_tokens
        ]
    )
    (folder / TOKENIZER_FILE).write_text(fast.to_str(pretty=True), "utf-8")
    values = {
        "model_max_length": max_sequence_length,
        # Without this list transformers 5 returns no segments of pairs.
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **dict(zip(names, tokenizer.special_tokens, strict=True)),
        **options,
    }
    write_json(folder / CONFIG_FILE, values)


def _make_unigram(tokenizer):
    """Returns a tokenizer of `tokenizers`, and options of `tokenizer_config.json`."""
    encoder, vocabulary = tokenizer.encoder, tokenizer.get_vocabulary()
    rules = encoder.preprocessing
    found = peculiarities(encoder.proto)
    unlike = [name for name in found if name != BYTES]
    if any(WORD_MARKER in piece[1:] for piece in vocabulary):
        unlike.append("pieces of several words")
    if rules["strip_accents"] and any(map(_is_lost, "".join(vocabulary))):
        unlike.append("vowel signs, which transformers strips as accents")
    if unlike:
        raise ValueError(
            "transformers must give the same ids: it reads plain SentencePiece unigram "
            f"models. Received: a model with {', '.join(unlike)}. Save it in another "
            "format."
        )
    scores = load_processor(encoder.proto).GetScore([*range(len(vocabulary))])
    if encoder.split_digit_comma:
        for index, piece in enumerate(vocabulary):
            scores[index] -= DIGIT_COMMA_PENALTY * ends_with_digit_comma(piece)
    model = tokenizers.models.Unigram(
        [*zip(vocabulary, scores, strict=True)], tokenizer.unk_token_id, BYTES in found
    )
    fast = tokenizers.Tokenizer(model)
    known, steps = tokenizers.normalizers, []
    if rules["huggingface_quotes"]:
        steps += [known.Replace(quotes, '"') for quotes in QUOTES]
    if rules["strip_accents"]:
        steps += [known.NFKD(), known.StripAccents()]
    if rules["lowercase"]:
        steps.append(known.Lowercase())
    if characters := character_map(encoder.proto):
        steps.append(known.Precompiled(characters))
    fast.normalizer = known.Sequence(steps)
    splitters = tokenizers.pre_tokenizers
    fast.pre_tokenizer = splitters.Sequence(
        [splitters.WhitespaceSplit(), splitters.Metaspace()]
    )
    fast.decoder = tokenizers.decoders.Metaspace()
    is_albert = rules["huggingface_quotes"] and not found
    name = "AlbertTokenizer" if is_albert else "PreTrainedTokenizerFast"
    return fast, {
        "tokenizer_class": name,
        "do_lower_case": rules["lowercase"],
        "keep_accents": not rules["strip_accents"],
        "bos_token": tokenizer.cls_token,
        "eos_token": tokenizer.sep_token,
    }


def _is_lost(character):
    """Whether transformers alone strips a character as an accent."""
    is_mark = unicodedata.category(character).startswith("M")
    return is_mark and not unicodedata.combining(character)


def _make_word_piece(tokenizer):
    """Returns a tokenizer of `tokenizers`, and options of `tokenizer_config.json`."""
    rules = tokenizer.encoder.rules
    fast = tokenizers.Tokenizer(tokenizer.encoder.word_tokenizer.model)
    fast.normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=rules.split_chinese,
        strip_accents=rules.strip_accents,
        lowercase=rules.lowercase,
    )
    fast.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    fast.decoder = tokenizers.decoders.WordPiece(prefix=CONTINUATION)
    return fast, {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": rules.lowercase,
        "strip_accents": rules.strip_accents,
        "tokenize_chinese_chars": rules.split_chinese,
    }
