"""Word tags: aligned with tokens, and raw rows to inputs."""

import numpy as np
import pytest

from albert_keras.preprocessors import AlbertTokenClassifierPreprocessor
from albert_keras.preprocessors.tagged_words import align_tags, gather_words
from albert_keras.tokenizers import WordPieceEncoder

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES += ["我", "爱", "北", "京", "play", "##ing", "!"]


@pytest.fixture(scope="module")
def encoder():
    return WordPieceEncoder(PIECES, lowercase=True)


@pytest.mark.parametrize("sequence_length", [3, 7, 12, 200])
def test_every_word_keeps_its_tag(tokenizer, sequence_length):
    rng = np.random.default_rng(sequence_length)
    some = ["\x01", "\u200b", "a", "bcdefgh" * 3, "t,k", "你", "mop", "\u3000\x7f"]
    words = [list(rng.choice(some, size)) for size in rng.integers(0, 23, 61)]
    tag_ids = [rng.integers(0, 9, len(row)).tolist() for row in words]
    encoder = tokenizer.encoder
    examples = align_tags(encoder, words, tag_ids, sequence_length=sequence_length)
    assert examples.lengths.max() <= sequence_length

    rows = [encoder.encode_batch(row) for row in words]
    expected = [
        [tag if pieces else 77 for pieces, tag in zip(*pair, strict=True)]
        for pair in zip(rows, tag_ids, strict=True)
    ]
    tags = examples.token_arrays["labels"]
    assert gather_words(examples, tags, words, default=77) == expected
    kept = [p for row in rows for word in row for p in word[: sequence_length - 2]]
    is_piece = examples.token_arrays["word_of"] >= 0
    assert examples.token_arrays["token_ids"][is_piece].tolist() == kept
    num_words = sum(map(bool, [word for row in rows for word in row]))
    assert examples.token_arrays["label_weights"].sum() == num_words


def test_errors_of_alignment(encoder):
    with pytest.raises(ValueError, match="have a tag. .* sentence 1 has 2 and 1 words"):
        align_tags(encoder, [["我"], ["我", "爱"]], [[1], [2]], sequence_length=9)
    with pytest.raises(ValueError, match="2 and 1 .* sentence 1 has 1 and 0 words"):
        align_tags(encoder, [["我"], ["我"]], [[1]], sequence_length=9)


# === Sentences of words to features, and classes of words to those of tokens ===


SENTENCES = [["Ann", "lives", "in", "Rotterdam"], ["No"], ["word"] * 40]
TAGS = [[1, 0, 0, 2], [3], [4] * 40]


@pytest.fixture
def preprocessor(tokenizer):
    return AlbertTokenClassifierPreprocessor(tokenizer, sequence_length=19)


def test_first_tokens_have_the_tags_of_their_words(preprocessor, tokenizer):
    features, labels, weights = preprocessor(SENTENCES, TAGS)
    assert {array.shape for array in features.values()} == {(3, 19)}
    starts = np.cumsum([1] + [len(ids) for ids in tokenizer(SENTENCES[0])])[:4]
    assert np.flatnonzero(weights[0]).tolist() == starts.tolist()
    assert labels[0][starts].tolist() == TAGS[0]
    assert labels[1][weights[1] > 0].tolist() == [3]
    # Of the long sentence, the words that fit, of two tokens each.
    assert labels[2][weights[2] > 0].tolist() == [4] * 8
    assert features["padding_mask"][2].sum() == 1 + 2 * 8 + 1
    weights = preprocessor(SENTENCES, TAGS, [0.5, 2, 0])[2]
    assert weights.max(axis=1).tolist() == [0.5, 2, 0]


def test_text_is_split_at_white_space_and_tensors_are_filled_up(preprocessor):
    expected = preprocessor(SENTENCES[:2], TAGS[:2])
    texts = preprocessor([" ".join(words) for words in SENTENCES[:2]], TAGS[:2])
    filled = [SENTENCES[0], ["No", "", "", ""]]
    arrays = preprocessor(np.array(filled), np.array([TAGS[0], [3, 0, 0, 0]]))
    for received in (texts, arrays):
        for name in expected[0]:
            assert np.array_equal(received[0][name], expected[0][name])
        assert np.array_equal(received[1], expected[1])


def test_words_without_tokens(preprocessor):
    sentences = [["\u200b"], *SENTENCES[:2], ["\u200b"], SENTENCES[1]]
    ids = preprocessor(sentences)["token_ids"]
    expected = preprocessor(SENTENCES[:2])["token_ids"]
    assert np.array_equal(ids[[1, 2, 4]], expected[[0, 1, 1]])
    assert np.count_nonzero(ids[[0, 3]]) == 4


def test_each_word_must_have_a_tag(preprocessor):
    for sentence in (["Ann", "left"], "Ann left"):
        for tags in ([1, 0, 0], [1]):
            error = f"2 words and {len(tags)} tags in row 1"
            with pytest.raises(ValueError, match=error):
                preprocessor.columns([*SENTENCES[1:2], sentence], [[3], tags])
    with pytest.raises(ValueError, match="must have a word. Received: '  '"):
        preprocessor(["a word", "  "])
    with pytest.raises(ValueError, match="str or a list of words. Received: {'tokens'"):
        preprocessor([{"tokens": ["Ann"]}])
