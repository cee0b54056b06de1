"""SentencePiece models: reading them and compiling preprocessing into them."""

import pytest
import tensorflow_text as tf_text

from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece

ENGLISH = "data/tokenizers/30k-clean.model"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lowercase": False, "strip_accents": False},
        {"huggingface_quotes": True, "mask_in_text": True},
    ],
    ids=str,
)
def test_fused_model_equals_python(shared, texts, options):
    tokenizer = AlbertTokenizer(shared / ENGLISH, split_digit_comma=False, **options)
    texts = [text for text in texts if "ς" not in text.lower()]
    fused = tf_text.FastSentencepieceTokenizer(tokenizer.fused_proto())
    assert fused.tokenize(texts).to_list() == tokenizer.encode_batch(texts)


def test_fused_model_knows_no_final_sigma():
    greek = AlbertTokenizer(train_sentence_piece(["οδος οδοσ", "ο δ ς σ"], 18))
    fused = tf_text.FastSentencepieceTokenizer(greek.fused_proto())
    plain, final = greek.encode_batch(["οδοσ", "οδος"])
    assert plain != final
    assert greek("ΟΔΟΣ") == final
    assert fused.tokenize(["ΟΔΟΣ"]).to_list() == [plain]


def test_missing_file():
    with pytest.raises(ValueError, match="path of a file.*proto='no/such.model'"):
        AlbertTokenizer("no/such.model")


@pytest.mark.parametrize("proto", [b"", b"no model at all"])
def test_not_a_model(proto):
    with pytest.raises(ValueError, match=f"Received: {len(proto)} bytes"):
        AlbertTokenizer(proto)


def test_not_a_path():
    with pytest.raises(TypeError, match="proto=7 "):
        AlbertTokenizer(7)
