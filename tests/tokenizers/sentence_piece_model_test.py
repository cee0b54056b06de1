"""SentencePiece models: reading them and compiling preprocessing into them."""

import pytest
import tensorflow_text as tf_text

from albert_keras.tokenizers import (
    AlbertTokenizer,
    sentence_piece_model,
    train_sentence_piece,
)
from albert_keras.tokenizers.sentence_piece_model import (
    character_map,
    load_processor,
    with_mask_for_text,
    with_preprocessing,
)

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


def test_fused_model_has_no_final_sigma():
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


def test_changed_models_keep_all_other_fields(shared):
    """The message class knows four fields of the format; the others pass through."""
    proto = (shared / ENGLISH).read_bytes()
    changed = [
        with_mask_for_text(proto),
        with_preprocessing(
            proto, (), lowercase=True, strip_accents=True, huggingface_quotes=False
        ),
    ]
    original = load_processor(proto)
    ids = list(range(len(original)))
    for processor in map(load_processor, changed):
        assert processor.GetScore(ids[5:]) == original.GetScore(ids[5:])
        for is_kind in ("IsControl", "IsUnknown", "IsUnused", "IsByte"):
            kinds, expected = (
                [getattr(p, is_kind)(index) for index in ids if index != 4]
                for p in (processor, original)
            )
            assert kinds == expected
        assert processor.Normalize("  a   b ") == "▁a▁b"
    mask, original_mask = (p.IdToPiece(4) for p in map(load_processor, changed))
    assert (mask, original_mask) == ("▁\ufdd0", "[MASK]")


def test_character_map():
    proto = train_sentence_piece(["a text", "of words"], 24)
    assert len(character_map(proto)) > 100_000
    assert character_map(b"") == b""


def test_models_without_negative_scores_read_masks():
    texts = ["the quick brown fox", "the lazy dog", "a quick dog, a lazy fox"]
    proto = train_sentence_piece(texts, 36)
    model = sentence_piece_model._model_class().FromString(proto)
    for piece in model.pieces:
        piece.score = abs(piece.score)
    tokenizer = AlbertTokenizer(model.SerializeToString(), mask_in_text=True)
    assert tokenizer.mask_token_id in tokenizer("a [MASK] text")
