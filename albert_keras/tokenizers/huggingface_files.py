"""Tokenizer files for transformers."""

import base64

from albert_keras.files import write_json
from albert_keras.tokenizers.sentence_piece_model import (
    WORD_MARKER,
    character_map,
    load_processor,
)


def write_tokenizer_files(tokenizer, max_sequence_length, folder):
    """Writes `tokenizer_config.json`, and for SentencePiece `tokenizer.json`.

    transformers reads the vocabulary from `tokenizer.json`: for `spiece.model` it needs
    a version of protobuf with which TensorFlow does not run. It has no rule for pieces
    such as "2012,", which Google's code splits.
    """
    options = tokenizer.get_config()
    padding, unknown, start, end, mask = tokenizer.special_tokens
    values = {
        "model_max_length": max_sequence_length,
        "do_lower_case": options["lowercase"],
        "pad_token": padding,
        "unk_token": unknown,
        "cls_token": start,
        "sep_token": end,
        "mask_token": mask,
    }
    if "strip_accents" not in options:
        values["tokenizer_class"] = "BertTokenizer"
    else:
        values["tokenizer_class"] = "AlbertTokenizer"
        values["keep_accents"] = not options["strip_accents"]
        values |= {"bos_token": start, "eos_token": end}
        write_json(folder / "tokenizer.json", _fast_tokenizer(tokenizer, values))
    write_json(folder / "tokenizer_config.json", values)


def _fast_tokenizer(tokenizer, values):
    """Returns the content of `tokenizer.json` for a unigram model."""
    processor = load_processor(tokenizer.encoder.proto)
    ids = list(range(len(processor)))
    pieces = zip(processor.IdToPiece(ids), processor.GetScore(ids), strict=True)
    special_ids = dict(
        zip(tokenizer.special_tokens, tokenizer.special_token_ids, strict=True)
    )
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": index,
                "content": token,
                "single_word": False,
                "lstrip": token == values["mask_token"],
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token, index in sorted(special_ids.items(), key=lambda pair: pair[1])
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": _normalizers(tokenizer, values),
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, _metaspace()],
        },
        "decoder": _metaspace(),
        "post_processor": _template(values, special_ids),
        "model": {
            "type": "Unigram",
            "unk_id": special_ids[values["unk_token"]],
            "vocab": [[piece, score] for piece, score in pieces],
            "byte_fallback": False,
        },
    }


def _normalizers(tokenizer, values):
    rules = []
    if not values["keep_accents"]:
        rules += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if values["do_lower_case"]:
        rules.append({"type": "Lowercase"})
    characters = character_map(tokenizer.encoder.proto)
    if characters:
        encoded = base64.b64encode(characters).decode("ascii")
        rules.append({"type": "Precompiled", "precompiled_charsmap": encoded})
    return rules


def _metaspace():
    return {
        "type": "Metaspace",
        "replacement": WORD_MARKER,
        "prepend_scheme": "always",
        "split": True,
    }


def _template(values, special_ids):
    """Returns the template `[CLS] first [SEP] second [SEP]` with segments 0 and 1."""

    def special(name, segment):
        return {"SpecialToken": {"id": values[name], "type_id": segment}}

    def sequence(name, segment):
        return {"Sequence": {"id": name, "type_id": segment}}

    single = [special("cls_token", 0), sequence("A", 0), special("sep_token", 0)]
    second = [sequence("B", 1), special("sep_token", 1)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, *second],
        "special_tokens": {
            token: {"id": token, "ids": [special_ids[token]], "tokens": [token]}
            for token in (values["cls_token"], values["sep_token"])
        },
    }
