"""transformers' tokenizers, loaded from our files, against our tokenizers."""

import json

import pytest

from albert_keras.tokenizers import AlbertTokenizer, WordPieceTokenizer
from albert_keras.tokenizers.huggingface_files import write_tokenizer_files
from albert_keras.tokenizers.loading import save_vocabulary

transformers = pytest.importorskip("transformers")


def theirs_of(tokenizer, folder):
    save_vocabulary(tokenizer, folder)
    write_tokenizer_files(tokenizer, 512, folder)
    # transformers takes the class from the config of the model.
    config = {"model_type": "albert", "architectures": ["AlbertModel"]}
    (folder / "config.json").write_text(json.dumps(config))
    return transformers.AutoTokenizer.from_pretrained(folder)


def english_lines(shared):
    text = (shared / "fixtures" / "google_pretraining_input.txt").read_text("utf-8")
    # Without "<unk>", which is a token for transformers and text for Google and us.
    return [line for line in text.split("\n") if line.strip() and "<unk>" not in line]


@pytest.mark.slow
def test_released_english_vocabulary(shared, tmp_path):
    # transformers has neither Google's rule for digits before a comma, nor its quotes.
    tokenizer = AlbertTokenizer(
        shared / "data" / "tokenizers" / "30k-clean.model",
        split_digit_comma=False,
        huggingface_quotes=True,
    )
    theirs = theirs_of(tokenizer, tmp_path)
    assert type(theirs).__name__ == "AlbertTokenizer"
    lines = english_lines(shared)
    expected = theirs(lines, add_special_tokens=False)["input_ids"]
    received = tokenizer(lines)
    differing = [
        line for line, a, b in zip(lines, expected, received, strict=True) if a != b
    ]
    assert len(lines) > 500
    assert len(differing) <= 0.002 * len(lines), differing[:5]


def test_pairs_have_special_tokens_and_segments(shared, tmp_path):
    tokenizer = AlbertTokenizer(shared / "data" / "tokenizers" / "30k-clean.model")
    encoded = theirs_of(tokenizer, tmp_path)(
        "A fox", "jumps", return_token_type_ids=True
    )
    start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    first, second = tokenizer(["A fox", "jumps"])
    assert encoded["input_ids"] == [start, *first, end, *second, end]
    assert encoded["token_type_ids"] == [0] * (len(first) + 2) + [1] * (len(second) + 1)


@pytest.mark.parametrize("lowercase", [True, False])
def test_word_pieces(lowercase, tmp_path):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "好", "P"]
    tokens += ["##lay"]
    tokenizer = WordPieceTokenizer(tokens, lowercase=lowercase)
    theirs = theirs_of(tokenizer, tmp_path)
    for text in ("Playing 好好", "playing!", "Play"):
        ids = theirs(text, add_special_tokens=False)["input_ids"]
        assert ids == tokenizer(text)
