"""Both encoders, without Keras and without TensorFlow."""

import pathlib
import pickle
import subprocess
import sys

import pytest

from albert_keras.tokenizers import (
    AlbertTokenizer,
    WordPieceEncoder,
    train_sentence_piece,
)
from albert_keras.tokenizers.encoder import Encoder
from tests.tokenizers.single_texts import assert_ragged_equals_single_texts

ROOT = pathlib.Path(__file__).parents[2]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "好"]
TEXTS = ["ab 好 c", "", "好a"]


@pytest.fixture
def encoder():
    return WordPieceEncoder(VOCABULARY, lowercase=True)


@pytest.mark.parametrize("texts", [[], [""], ["", " ", "\t\n"], ["ab a", "好a"]])
def test_few_tokens(encoder, texts):
    assert_ragged_equals_single_texts(encoder, texts)
    *arrays, spans = encoder.encode_ragged_with_spans(texts)
    offsets = [place for t in texts for place in encoder.tokenize_with_offsets(t)[1]]
    assert [*map(tuple, spans.tolist())] == offsets
    assert [a.dtype for a in (*arrays, spans)] == ["int32", "int64", "int32"]


def test_many_characters_at_once(encoder):
    # Encoded in three parts of about 2^18 characters.
    texts = ["a 好" * 90_000, "ab", "b " * 9_000, "好" * 20_000, *["a b"] * 80_000]
    assert_ragged_equals_single_texts(encoder, texts)


@pytest.mark.parametrize(
    "method",
    [Encoder.encode_batch, Encoder.encode_ragged, Encoder.encode_ragged_with_spans],
)
def test_texts_are_lists_of_str(encoder, method):
    with pytest.raises(TypeError, match="must be a list. Received: texts='text'"):
        method(encoder, "text")
    with pytest.raises(TypeError, match=r"Received: 3 \(of type int\)"):
        method(encoder, ["text", 3])


@pytest.mark.parametrize("index", [-1, 8])
def test_ids_out_of_range(encoder, index):
    with pytest.raises(ValueError, match=rf"in \[0, 8\). Received: {index}"):
        encoder.id_to_token(index)
    with pytest.raises(ValueError, match=rf"in \[0, 8\). Received: {index}"):
        encoder.decode_batch([[0, index]])


PURE = """
import pickle, sys
blocked = ["keras", "keras_hub", "tensorflow", "tensorflow_text", "jax", "torch"]
sys.modules.update(dict.fromkeys(blocked))
import albert_keras
import albert_keras.tokenizers
from albert_keras.tokenizers import SentencePieceEncoder, WordPieceEncoder
from albert_keras.tokenizers import preprocess_text, train_sentence_piece

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        encoder, texts, rows = pickle.load(file)
    assert isinstance(encoder, (SentencePieceEncoder, WordPieceEncoder))
    assert encoder.encode_batch(texts) == rows
    copy = pickle.loads(pickle.dumps(encoder))
    token_ids, offsets = copy.encode_ragged(texts)
    assert token_ids.tolist() == [index for row in rows for index in row]
"""


def test_without_keras_and_tensorflow(encoder, tmp_path):
    proto = train_sentence_piece(["a small text", "and a b of another"], 30)
    sentence_piece = AlbertTokenizer(proto, mask_in_text=True).encoder
    paths = []
    for number, pickled in enumerate([encoder, sentence_piece]):
        texts = ["A [MASK] text", "好 a b"]
        paths.append(tmp_path / f"{number}.pickle")
        content = pickle.dumps((pickled, texts, pickled.encode_batch(texts)))
        paths[-1].write_bytes(content)
    command = [sys.executable, "-W", "error", "-c", PURE, *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


HINDI = "हिन्दी में एक वाक्य और दूसरा वाक्य है"


def test_stripped_accents_of_many_words_are_said_once(encoder):
    words = ["a b c d e f g h i j", HINDI]
    with pytest.warns(UserWarning, match="changes 3 of 18 words, such as 'हिन्दी'. For"):
        encoder.encode_ragged(words)
    # Said once; and where few words or none change, not at all.
    encoder.encode_ragged(words)
    WordPieceEncoder(VOCABULARY).encode_ragged(["Café au lait, déjà bu"])
    kept = WordPieceEncoder(VOCABULARY, lowercase=True, strip_accents=False)
    kept.encode_ragged(words)
