"""transformers' tokenizers, loaded from our files, against our tokenizers."""

import json

import pytest

from albert_keras.converters.checkpoint import save_vocabulary
from albert_keras.tokenizers import AlbertTokenizer, WordPieceTokenizer
from albert_keras.tokenizers.huggingface_files import write_tokenizer_files

transformers = pytest.importorskip("transformers")


def theirs_of(tokenizer, folder):
    save_vocabulary(tokenizer, folder)
    write_tokenizer_files(tokenizer, 512, folder)
    # transformers takes the class from the config of the model.
    config = {"model_type": "albert", "architectures": ["AlbertModel"]}
    (folder / "config.json").write_text(json.dumps(config))
    return transformers.AutoTokenizer.from_pretrained(folder)


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
