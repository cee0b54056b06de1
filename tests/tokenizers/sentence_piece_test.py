"""SentencePiece as a Keras layer, and changes of its models."""

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from albert_keras.tokenizers import (
    AlbertTokenizer,
    sentence_piece_model,
    train_sentence_piece,
)
from albert_keras.tokenizers.normalization import is_assigned, points_where
from tests.tokenizers.vocabularies import ENGLISH, GERMAN


@pytest.fixture(scope="module")
def english(shared):
    return AlbertTokenizer(shared / ENGLISH)


def test_mask_in_text(shared):
    tokenizer = AlbertTokenizer(shared / ENGLISH, mask_in_text=True)
    text = "Paris is the [MASK] of\t [MASK]. [MASK]s"
    ids = [1162, 25, 14, 4, 16, 4, 9, 4, 18]
    assert tokenizer(text) == ids
    assert tokenizer(tf.constant(text)).numpy().tolist() == ids
    found, offsets = tokenizer.tokenize_with_offsets(text)
    assert found == ids
    assert [text[a:b] for a, b in offsets][3:] == "[MASK] of [MASK] . [MASK] s".split()
    assert tokenizer.detokenize(ids) == "paris is the [MASK] of [MASK]. [MASK]s"
    # The option changes no text without a mask.
    plain = "user-defined (pieces) – and 2012, too"
    assert tokenizer(plain) == AlbertTokenizer(shared / ENGLISH)(plain)


def test_mask_is_ordinary_text_by_default(english):
    assert english.mask_token_id not in english("the [MASK]")


def test_huggingface_quotes(shared):
    tokenizer = AlbertTokenizer(shared / ENGLISH, huggingface_quotes=True)
    assert tokenizer("``word''") == tokenizer('"word"')


def test_keeping_accents(shared):
    kept = AlbertTokenizer(shared / GERMAN, lowercase=False, strip_accents=False)
    assert kept.detokenize(kept("Schöne Äpfel")) == "Schöne Äpfel"
    stripped = AlbertTokenizer(shared / GERMAN, lowercase=False)
    assert stripped.detokenize(stripped("Schöne Äpfel")) == "Schone Apfel"


@pytest.mark.parametrize(
    ("vocabulary", "options"),
    [
        (ENGLISH, {}),
        (ENGLISH, {"lowercase": False, "strip_accents": False}),
        (ENGLISH, {"huggingface_quotes": True, "mask_in_text": True}),
        (GERMAN, {}),
    ],
    ids=str,
)
def test_graph_equals_python(shared, texts, vocabulary, options):
    tokenizer = AlbertTokenizer(shared / vocabulary, **options)
    assert tokenizer(tf.constant(texts)).to_list() == tokenizer.encode_batch(texts)


def test_graph_equals_python_on_every_character(shared):
    tokenizer = AlbertTokenizer(shared / ENGLISH)
    characters = [*map(chr, points_where(is_assigned)[1:])]
    graph = tokenizer(tf.constant(characters)).to_list()
    assert graph == tokenizer.encode_batch(characters)


# === SentencePiece models: reading them and compiling preprocessing into them ===


def test_only_the_fused_model_has_no_final_sigma():
    greek = AlbertTokenizer(train_sentence_piece(["οδος οδοσ", "ο δ ς σ"], 18))
    plain, final = greek(["οδοσ", "οδος"])
    assert plain != final
    assert greek("ΟΔΟΣ") == greek(tf.constant("ΟΔΟΣ")).numpy().tolist() == final
    fused = tf_text.FastSentencepieceTokenizer(greek.encoder.fused_proto())
    assert fused.tokenize(["ΟΔΟΣ"]).to_list() == [plain]


def test_missing_file():
    with pytest.raises(ValueError, match="path of a file.*proto='no/such.model'"):
        AlbertTokenizer("no/such.model")


@pytest.mark.parametrize("proto", [b"", b"no model at all"])
def test_not_a_model(proto):
    with pytest.raises(ValueError, match=f"Received: {len(proto)} bytes"):
        AlbertTokenizer(proto)


def test_models_without_negative_scores_read_masks():
    texts = ["the quick brown fox", "the lazy dog", "a quick dog, a lazy fox"]
    proto = train_sentence_piece(texts, 36)
    model = sentence_piece_model._model_class().FromString(proto)
    for piece in model.pieces:
        piece.score = abs(piece.score)
    tokenizer = AlbertTokenizer(model.SerializeToString(), mask_in_text=True)
    assert tokenizer.mask_token_id in tokenizer("a [MASK] text")
