"""SentencePiece encoder: Google's ids, offsets, word starts."""

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from albert_keras.tokenizers import AlbertTokenizer, load_tokenizer, preprocess_text
from albert_keras.tokenizers.sentence_piece_encoder import FEWEST_FOR_THREADS
from tests import plain_pretraining_data as plain
from tests.tokenizers.single_texts import assert_ragged_equals_single_texts
from tests.tokenizers.vocabularies import ENGLISH, GERMAN


@pytest.fixture(scope="module", params=[ENGLISH, GERMAN])
def model(request, shared):
    return (shared / request.param).read_bytes()


@pytest.fixture(scope="module")
def english(shared):
    return AlbertTokenizer(shared / ENGLISH).encoder


def test_ids_equal_the_reference(model, texts):
    assert len(texts) >= 1500
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    ids = AlbertTokenizer(model).encoder.encode_batch([*texts, "a\0b"])
    pieces = [plain.tokenize(processor, text) for text in [*texts, "a\0b"]]
    assert ids == [[processor.PieceToId(piece) for piece in row] for row in pieces]


@pytest.mark.parametrize(
    ("vocabulary", "options"),
    [
        (ENGLISH, {}),
        (GERMAN, {"lowercase": False, "split_digit_comma": False}),
        (ENGLISH, {"huggingface_quotes": True, "mask_in_text": True}),
    ],
    ids=str,
)
def test_ragged_equals_single_texts(shared, texts_of_words, vocabulary, options):
    encoder = AlbertTokenizer(shared / vocabulary, **options).encoder
    assert_ragged_equals_single_texts(encoder, texts_of_words)


def test_many_texts_at_once_equal_single_ones():
    encoder = load_tokenizer("albert_nano_en").encoder
    texts = ["", *(f"in {year}, rivers" * (year % 7) for year in range(1900, 2011))]
    assert sum(map(len, texts)) > FEWEST_FOR_THREADS
    rows = encoder.encode_batch(texts)
    assert rows == [encoder.encode_batch([text])[0] for text in texts]
    decoded = encoder.decode_batch(rows * 2)
    assert sum(map(len, rows * 2)) > FEWEST_FOR_THREADS
    assert decoded == [encoder.decode_batch([row])[0] for row in rows] * 2
    assert encoder.decode_batch([]) == []


def test_googles_own_output(shared):
    """The records that Google's code made of a text hold our ids, word starts too."""
    fixtures = shared / "fixtures"
    text = (fixtures / "google_pretraining_input.txt").read_text(encoding="utf-8")
    # The records hold ids of this vocabulary, whatever their README says.
    encoder = AlbertTokenizer(shared / GERMAN).encoder
    ours = np.concatenate(encoder.encode_batch(text.split("\n"))).astype("int32")
    records = fixtures / "google_pretraining_records.tfrecord"
    num_tokens = 0
    for record in tf.data.TFRecordDataset(str(records)).as_numpy_iterator():
        ids, boundaries = unmasked_ids_and_boundaries(record)
        num_tokens += len(ids)
        np.testing.assert_array_equal(encoder.word_starts[ids], boundaries)
        first, second, _ = np.split(ids, np.flatnonzero(ids == encoder.sep_token_id))
        assert first[1:].tobytes() in ours.tobytes()
        assert second[1:].tobytes() in ours.tobytes()
    assert num_tokens == 450243


def unmasked_ids_and_boundaries(record):
    features = tf.train.Example.FromString(record).features.feature
    ids, length, boundaries, positions, originals = (
        np.array(features[name].int64_list.value, "int32")
        for name in (
            "input_ids",
            "input_mask",
            "token_boundary",
            "masked_lm_positions",
            "masked_lm_ids",
        )
    )
    masked = np.array(features["masked_lm_weights"].float_list.value) > 0
    ids[positions[masked]] = originals[masked]
    return ids[: length.sum()], boundaries[: length.sum()]


def test_digit_comma_rule_strips_the_new_marker(shared):
    encoder = AlbertTokenizer(shared / GERMAN).encoder
    (ids,) = encoder.encode_batch(["12/12, x"])
    assert [encoder.id_to_token(i) for i in ids] == ["▁12", "/", "12", ",", "▁x"]
    whole = AlbertTokenizer(shared / GERMAN, split_digit_comma=False).encoder
    (ids,) = whole.encode_batch(["12/12, x"])
    assert whole.id_to_token(ids[1]) == "/12,"


def test_offsets(model, texts):
    encoder = AlbertTokenizer(model).encoder
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    texts = texts[::15] + [t for t in texts if "½" in t or "\u0301" in t]
    # Of a piece of two halves only the first is located; see the next test.
    texts = [text for text in texts if "½½" not in text]
    for text, ids in zip(texts, encoder.encode_batch(texts), strict=True):
        found, offsets = encoder.tokenize_with_offsets(text)
        assert found == ids
        starts = [start for start, _ in offsets]
        assert starts == sorted(starts)
        for index, (start, end) in zip(ids, offsets, strict=True):
            assert 0 <= start <= end <= len(text)
            span = text[start:end]
            assert span == span.strip()
            if index == encoder.unk_token_id:
                continue
            # Alone, a final sigma is a plain one.
            piece = encoder.id_to_token(index).removeprefix("▁").replace("ς", "σ")
            image = processor.Normalize(preprocess_text(span)).replace("ς", "σ")
            image = image.removeprefix("▁")
            # One character, such as "½", may make several pieces.
            grows = any(len(preprocess_text(character)) > 1 for character in span)
            assert piece in image if grows else piece == image


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("  In 2012, x", ["In", "2012", ",", "x"]),
        ("Cafe\u0301s ", ["Cafe\u0301", "s"]),
        ("½", ["½", "½", "½"]),
        ("2½½", ["2", "½", "½", "½", "½"]),
        ("92\x01000,", ["9", "2\x01000", ","]),
    ],
)
def test_offsets_point_into_the_original(english, text, spans):
    _, offsets = english.tokenize_with_offsets(text)
    assert [text[start:end] for start, end in offsets] == spans


def test_word_starts(english):
    pieces = english.get_vocabulary()
    starts = dict(zip(pieces, english.word_starts, strict=True))
    assert english.word_starts.shape == (30000,)
    assert english.word_starts.dtype == bool
    for piece in ["▁the", "▁", ",", "(", "-", "5", "2000", "–", "£", "'", "=", "?'"]:
        assert starts[piece], piece
    for piece in ["[CLS]", "[SEP]", "[MASK]", "<pad>", "<unk>"]:
        assert starts[piece], piece
    for piece in ["ing", "s", "!!", "**"]:
        assert not starts[piece], piece


def test_missing_special_pieces(tmp_path):
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(["some words to train on"] * 9),
        model_prefix=str(tmp_path / "plain"),
        vocab_size=16,
        minloglevel=3,
    )
    message = (
        r"Received: 16 tokens without \['<pad>', '\[CLS\]', '\[SEP\]', '\[MASK\]'\]"
    )
    with pytest.raises(ValueError, match=message):
        AlbertTokenizer(tmp_path / "plain.model")
