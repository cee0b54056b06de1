import io

import pytest
import sentencepiece
import tensorflow_text as tf_text

from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from albert_keras.tokenizers.sentence_piece_model import segments_words_alone

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


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, True),
        ({"normalization_rule_name": "nfkc_cf"}, True),
        ({"normalization_rule_name": "identity"}, True),
        ({"user_defined_symbols": ["<br>"]}, True),
        ({"model_type": "bpe"}, False),
        ({"model_type": "char"}, False),
        ({"model_type": "word"}, False),
        ({"add_dummy_prefix": False}, False),
        ({"remove_extra_whitespaces": False}, False),
        ({"treat_whitespace_as_suffix": True}, False),
        ({"user_defined_symbols": ["two words"]}, False),
        ({"user_defined_symbols": ["a▁b"]}, False),
    ],
    ids=str,
)
def test_which_models_segment_words_alone(options, expected):
    assert segments_words_alone(train(**options)) == expected


def test_other_normalization_may_join_words(tmp_path):
    rules = tmp_path / "rules.tsv"
    # "a b" becomes "c".
    rules.write_text("61 20 62\t63\n", encoding="utf-8")
    model = train(normalization_rule_tsv=str(rules))
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert processor.Normalize("a b") == "▁c"
    assert not segments_words_alone(model)


def train(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(["the small words", "of the small model"] * 9),
        model_writer=model,
        hard_vocab_limit=False,
        minloglevel=3,
        **{"vocab_size": 40, **options},
    )
    return model.getvalue()
