"""BERT's tokenizer as a Keras layer: the graph side, files and tokens."""

import pytest
import tensorflow as tf

from albert_keras.tokenizers import WordPieceTokenizer
from tests.tokenizers.vocabularies import CHINESE, TOKENS


@pytest.fixture(scope="module")
def chinese(shared):
    return WordPieceTokenizer(shared / CHINESE)


@pytest.fixture(scope="module")
def small():
    return WordPieceTokenizer(TOKENS)


@pytest.mark.parametrize("lowercase", [True, False])
def test_graph_equals_python(shared, texts, lowercase):
    tokenizer = WordPieceTokenizer(shared / CHINESE, lowercase=lowercase)
    texts = [*texts, "a" * 200, "a" * 201, "é" * 200]
    assert tokenizer(tf.constant(texts)).to_list() == tokenizer.encode_batch(texts)


def test_detokenize_joins_words(small):
    assert small.detokenize([5, 6, 8, 5, 7, 9]) == "playing 好 plays !"


def test_special_tokens(chinese):
    assert chinese.special_tokens == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert chinese.special_token_ids == [0, 100, 101, 102, 103]
    assert (chinese.start_token_id, chinese.end_token_id) == (101, 102)
    assert chinese.vocabulary_size() == len(chinese.word_starts) == 21128


def test_missing_file():
    with pytest.raises(ValueError, match="path of a file.*vocabulary='no/vocab.txt'"):
        WordPieceTokenizer("no/vocab.txt")


def test_file_is_not_text(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="must be UTF-8.*vocab.txt"):
        WordPieceTokenizer(path)


def test_missing_special_tokens():
    with pytest.raises(ValueError, match=r"Received: 2 tokens without \['\[PAD\]', "):
        WordPieceTokenizer(["[UNK]", "a"])
