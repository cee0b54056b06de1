"""Reader of Hugging Face's tokenizer files."""

import base64
import json
import re

import tokenizers

from albert_keras.checks import check_json, shown
from albert_keras.system.files import read_json
from albert_keras.tokenizers.huggingface_files import (
    CONFIG_FILE,
    DIGIT_COMMA_PENALTY,
    QUOTES,
    TOKENIZER_FILE,
)
from albert_keras.tokenizers.sentence_piece_model import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    WORD_MARKER,
    load_processor,
    make_unigram,
)
from albert_keras.tokenizers.word_piece_encoder import CONTINUATION

_WORD_PIECE_RULES = {"BertNormalizer", "BertPreTokenizer", "WordPiece"}
# Not all of them remove white space at the ends of texts; our tokenizers always do.
_UNIGRAM_RULES = {
    *("Lowercase", "Metaspace", "NFKD", "Precompiled", "Replace", "Strip"),
    *("StripAccents", "Unigram", "WhitespaceSplit"),
}
# The values of a rule that our tokenizers have.
_VALUES = {
    "BertNormalizer": {"clean_text": [True]},
    # Both schemes are the same after the split at white space.
    "Metaspace": {"replacement": [WORD_MARKER], "prepend_scheme": ["always", "first"]},
    "Replace": {
        "pattern": [{"Regex": " {2,}"}, *({"String": quotes} for quotes in QUOTES)],
        "content": [" ", '"'],
    },
    "WordPiece": {"continuing_subword_prefix": [CONTINUATION]},
}
# Our tokenizers have both or none.
_BOTH = {"NFKD", "StripAccents"}
_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")
_DIGIT_COMMA = re.compile(r".*\d,", re.DOTALL)
_CLASSES = (
    *("AlbertTokenizer", "BertTokenizer", "PreTrainedTokenizer", "TokenizersBackend"),
)
# Options of transformers that must have their default, the only value here.
_FIXED_OPTIONS = {
    "add_prefix_space": True,
    "do_basic_tokenize": True,
    "never_split": [],
    "remove_space": True,
    "sp_model_kwargs": {},
}
_REMEDY = "Pass another `tokenizer`, or ids instead of text."


def is_tokenizer_file(file):
    """Returns whether a file is the `tokenizer.json` of `tokenizers`, not of Keras."""
    return file.name == TOKENIZER_FILE and "model" in _read_if_there(file)


def read_tokenizer_file(file):
    """Reads a `tokenizer.json`.

    Returns:
        Tuple of the vocabulary, bytes of a SentencePiece model or a list of str; the
        options of the tokenizer's class, a dict; and the added tokens, str by id.

    Raises:
        ValueError: If the file is damaged, or has a model or rule unknown here.
    """
    try:
        # The library converts files of earlier versions.
        content = json.loads(tokenizers.Tokenizer.from_file(str(file)).to_str())
    except BaseException as error:  # Its errors have no class, and it may panic.
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ValueError(
            f"A {TOKENIZER_FILE} must be one of the library `tokenizers`. "
            f"Received: '{file}': {str(error)[:200]}"
        ) from error
    model = content["model"]
    steps = [*_steps_of(content["normalizer"]), *_steps_of(content["pre_tokenizer"])]
    names = {_name_of(part) for part in (*steps, model)}
    added = {token["id"]: token["content"] for token in content["added_tokens"]}
    vocabulary = model.get("vocab") or {}
    all_ids = {*range(len(vocabulary))}
    if names == _WORD_PIECE_RULES and {*vocabulary.values()} == all_ids:
        rules = next(step for step in steps if step["type"] == "BertNormalizer")
        options = {
            "lowercase": rules["lowercase"],
            "strip_accents": rules["strip_accents"],
            "split_chinese": rules["handle_chinese_chars"],
        }
        return sorted(vocabulary, key=vocabulary.get), options, added
    unknown = names - _UNIGRAM_RULES | (names & _BOTH if not _BOTH <= names else set())
    if unknown or "Metaspace" not in names:
        raise ValueError(
            f"A {TOKENIZER_FILE} must have the rules of ALBERT's or BERT's tokenizer. "
            f"Received: '{file}' with {', '.join(sorted(unknown or names))}. {_REMEDY}"
        )
    special = {t["content"] for t in content["added_tokens"] if t["special"]}
    pieces, splits = [], []
    for index, (piece, score) in enumerate(vocabulary):
        if _DIGIT_COMMA.fullmatch(piece):
            splits.append(score < -DIGIT_COMMA_PENALTY)
            score += DIGIT_COMMA_PENALTY * splits[-1]
        pieces.append((piece, score, _type_of(index, piece, model, special, added)))
    maps = [s["precompiled_charsmap"] for s in steps if s["type"] == "Precompiled"]
    characters = base64.b64decode("".join(maps))
    patterns = [step.get("pattern") for step in steps]
    options = {
        "split_digit_comma": all(splits),
        "lowercase": "Lowercase" in names,
        "strip_accents": "StripAccents" in names,
        "huggingface_quotes": {"String": QUOTES[0]} in patterns,
    }
    proto = make_unigram(pieces, characters, model["byte_fallback"])
    beside = file.with_name("spiece.model")
    if beside.is_file() and _pieces_of(beside.read_bytes()) == _pieces_of(proto):
        # It has the types of the pieces, which `tokenizer.json` lacks.
        proto = beside.read_bytes()
    return proto, options, added


def _pieces_of(proto):
    processor = load_processor(proto)
    return processor.IdToPiece([*range(len(processor))])


def _steps_of(part):
    """Yields the steps of a normalizer or pre-tokenizer, dicts."""
    inner = part and (part.get("normalizers") or part.get("pretokenizers"))
    for step in inner or [part] * bool(part):
        yield from _steps_of(step) if inner else [step]


def _name_of(part):
    """Returns the type of a part, with the values that our tokenizers do not have."""
    known = _VALUES.get(part["type"], {})
    others = {key: part[key] for key in known if part[key] not in known[key]}
    return part["type"] + (f" {others}" if others else "")


def _type_of(index, piece, model, special, added):
    if index == model["unk_id"]:
        return UNKNOWN
    if piece in special:
        return CONTROL
    if model["byte_fallback"] and _BYTE_PIECE.fullmatch(piece):
        return BYTE
    return USER_DEFINED if index in added else NORMAL


def read_options(folder, of_pieces):
    """Reads the options of a tokenizer from the files beside its vocabulary.

    Args:
        folder: `pathlib.Path`. It may have `tokenizer_config.json`, `added_tokens.json`
            and the model's `config.json`.
        of_pieces: bool. Whether the vocabulary is SentencePiece's.

    Returns:
        Tuple of arguments of the class here, a dict, and the added tokens, str by id.

    Raises:
        ValueError: If the files state a class or option unknown here.
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
    names = {"do_lower_case": "lowercase"}
    if of_pieces:
        names["keep_accents"] = "strip_accents"
    else:
        names |= {"strip_accents": "strip_accents"}
        names["tokenize_chinese_chars"] = "split_chinese"
    options = {"huggingface_quotes": bool(stated or "model_type" in config)}
    options = options if of_pieces else {}
    for key, option in names.items():
        value = stated.get(key)
        if not isinstance(value, bool | None):
            received = f"{key}={shown(value)} in '{file}'"
            raise ValueError(f"`{key}` must be true or false. Received: {received}.")
        if value is not None:
            options[option] = value is not (key == "keep_accents")
    return options, _added_tokens(folder, stated)


def stated_class(folder):
    """Returns the tokenizer class that the files of a folder state, or `None`."""
    for name in (CONFIG_FILE, "config.json"):
        if stated := _read_if_there(folder / name).get("tokenizer_class"):
            return str(stated)
    return None


def read_lowercases(folder):
    """Returns whether sentence-transformers lower-cases text before its tokenizer."""
    stated = _read_if_there(folder / "sentence_bert_config.json")
    return stated.get("do_lower_case") is True


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
