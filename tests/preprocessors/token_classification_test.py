"""Sentences of words to features, and classes of words to those of tokens."""

import numpy as np
import pytest

from albert_keras.preprocessors import AlbertTokenClassifierPreprocessor

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


def test_weights_of_examples(preprocessor):
    weights = preprocessor(SENTENCES, TAGS, [0.5, 2, 0])[2]
    assert weights.max(axis=1).tolist() == [0.5, 2, 0]


def test_a_sentence_without_words_is_an_error(preprocessor):
    with pytest.raises(ValueError, match="must have a word. Received: '  '"):
        preprocessor(["a word", "  "])


def test_each_word_must_have_a_tag(preprocessor):
    for sentence in (["Ann", "left"], "Ann left"):
        for tags in ([1, 0, 0], [1]):
            error = f"2 words and {len(tags)} tags in row 1"
            with pytest.raises(ValueError, match=error):
                preprocessor.columns([*SENTENCES[1:2], sentence], [[3], tags])
    with pytest.raises(ValueError, match="str or a list of words. Received: {'tokens'"):
        preprocessor([{"tokens": ["Ann"]}])
