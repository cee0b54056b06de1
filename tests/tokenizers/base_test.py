"""Both tokenizers, as Keras layers and as plain Python objects."""

import pathlib
import pickle
import re
import subprocess
import sys

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.converters.checkpoint import save_vocabulary
from albert_keras.tokenizers import AlbertTokenizer, WordPieceTokenizer, load_tokenizer

FILES = {
    AlbertTokenizer: "data/tokenizers/30k-clean.model",
    WordPieceTokenizer: "data/tokenizers/albert_zh/vocab.txt",
}
OPTIONS = {
    AlbertTokenizer: {"lowercase": False, "strip_accents": False, "mask_in_text": True},
    WordPieceTokenizer: {"lowercase": False},
}
TEXTS = ["In 2012, Zoë [MASK] 好", "", "a short one"]


@pytest.fixture(scope="module", params=FILES, ids=lambda cls: cls.__name__)
def tokenizer(request, shared):
    path = shared / FILES[request.param]
    return request.param(path, **OPTIONS[request.param])


@pytest.fixture(scope="module")
def ids(tokenizer):
    return tokenizer.encode_batch(TEXTS)


def test_output_type_follows_the_input(tokenizer, ids):
    assert tokenizer(TEXTS) == ids
    assert tokenizer(TEXTS[0]) == ids[0]
    assert tokenizer(TEXTS[0].encode()) == ids[0]
    assert tokenizer(np.array(TEXTS)) == ids
    ragged = tokenizer(tf.constant(TEXTS))
    assert ragged.dtype == tf.int32
    assert ragged.row_splits.dtype == tf.int64
    assert ragged.to_list() == ids
    assert tokenizer(tf.constant(TEXTS[0])).numpy().tolist() == ids[0]


def test_arguments_of_keras_hub(tokenizer, ids):
    config = tokenizer.get_config() | {"sequence_length": 7, "add_eos": True}
    bounded = type(tokenizer).from_config(config)
    bounded._set_encoder(tokenizer.encoder)
    expected = [
        [*row, tokenizer.sep_token_id, *[tokenizer.pad_token_id] * 7][:7] for row in ids
    ]
    received = bounded(TEXTS)
    assert received.dtype == np.int32
    assert received.tolist() == expected
    assert bounded(tf.constant(TEXTS)).numpy().tolist() == expected
    assert bounded(tf.constant(TEXTS[2])).numpy().tolist() == expected[2]
    bounded.sequence_length, bounded.add_bos = None, True
    assert bounded(TEXTS[0]) == [bounded.cls_token_id, *ids[0], bounded.sep_token_id]
    nested = bounded(tf.constant([TEXTS, TEXTS])).to_list()
    assert nested[1] == bounded(TEXTS)
    assert bounded.fingerprint() == tokenizer.fingerprint()


def test_bytes_that_are_not_utf_8_are_dropped(tokenizer):
    content = [b"a\xff sh\xc3ort \xed\xa0\x80one", "a\0b é".encode() + b"\xc3", b"\xff"]
    expected = tokenizer([text.decode(errors="ignore") for text in content])
    assert tokenizer(content) == expected
    assert tokenizer(tf.constant(content)).to_list() == expected


def test_half_a_surrogate_pair_is_refused(tokenizer):
    with pytest.raises(ValueError, match=r"'\\ud83d', character 2 of 'hi\\ud83d'"):
        tokenizer.encode_batch(["é", "hi\ud83d"])
    with pytest.raises(ValueError, match="lone surrogates"):
        tokenizer.tokenize_with_offsets("hi\ud83d")


def test_tensors_of_higher_rank(tokenizer, ids):
    nested = [ids, ids[::-1]]
    assert tokenizer(tf.constant([TEXTS, TEXTS[::-1]])).to_list() == nested
    ragged = tokenizer(tf.ragged.constant([TEXTS, TEXTS[:1]]))
    assert ragged.to_list() == [ids, ids[:1]]


def test_traced_with_unknown_batch_size(tokenizer, ids):
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2).map(tokenizer)
    assert dataset.element_spec.shape.as_list() == [None, None]
    assert [row for batch in dataset for row in batch.to_list()] == ids


def test_first_use_inside_a_trace_leaks_nothing(shared, tokenizer, ids):
    fresh = type(tokenizer).from_config(tokenizer.get_config())
    fresh._set_encoder(tokenizer.encoder)
    traced = tf.function(lambda strings: fresh(strings).to_tensor())
    assert traced(tf.constant(TEXTS[:1])).numpy().tolist() == ids[:1]
    assert fresh(tf.constant(TEXTS)).to_list() == ids


def test_numbers_are_not_text(tokenizer):
    for wrong in (3, ["text", 3]):
        with pytest.raises(TypeError, match=r"Received: 3 \(of type int\)"):
            tokenizer(wrong)
    with pytest.raises(ValueError, match="an integer type. Received: dtype='string'"):
        type(tokenizer)(dtype="string")
    with pytest.raises(TypeError, match="Received: None"):
        tokenizer.tokenize_with_offsets(None)
    with pytest.raises(TypeError, match="must be a list. Received: texts=.text."):
        tokenizer.encode_batch("text")


def test_detokenize(tokenizer, ids):
    texts = tokenizer.detokenize(ids)
    assert len(texts) == len(TEXTS)
    assert texts[2] == TEXTS[2]
    assert tokenizer.detokenize(ids[2]) == TEXTS[2]
    assert tokenizer.detokenize(np.array(ids[2])) == TEXTS[2]
    assert tokenizer.detokenize([np.array(row, int) for row in ids]) == texts
    assert tokenizer.detokenize(tf.ragged.constant(ids)) == texts
    assert tokenizer.detokenize([]) == ""
    assert tokenizer.detokenize(ids[2][0]) == tokenizer.detokenize(ids[2][:1])


def test_pickles(tokenizer, ids):
    for pickled in (tokenizer, tokenizer.encoder):
        copy = pickle.loads(pickle.dumps(pickled))  # noqa: S301
        assert copy.encode_batch(TEXTS) == ids


def test_fingerprint_depends_on_vocabulary_and_options(tokenizer, shared, tmp_path):
    fingerprint = tokenizer.fingerprint()
    assert re.fullmatch("[0-9a-f]{16}", fingerprint)
    tokenizer.save_to_preset(str(tmp_path))
    cls = type(tokenizer)
    assert cls.from_preset(tmp_path).fingerprint() == fingerprint
    path = shared / FILES[cls]
    renamed = cls(path, **OPTIONS[cls], name="renamed", dtype="int64")
    assert renamed.fingerprint() == fingerprint
    assert cls(path, **{**OPTIONS[cls], "lowercase": True}).fingerprint() != fingerprint


def test_fingerprint_is_the_same_in_each_process():
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "好"]
    tokenizer = WordPieceTokenizer(vocabulary)
    assert tokenizer.fingerprint() == "463a9352f5b555fe"
    assert WordPieceTokenizer([*vocabulary, "a"]).fingerprint() != "463a9352f5b555fe"


def test_no_vocabulary(tokenizer):
    empty = type(tokenizer)()
    assert empty.start_token_id is None
    with pytest.raises(ValueError, match="must have a vocabulary. Received: None"):
        empty("text")


def test_preset_round_trip(tokenizer, ids, tmp_path):
    tokenizer.save_to_preset(str(tmp_path))
    loaded = type(tokenizer).from_preset(tmp_path)
    assert loaded.get_config() == tokenizer.get_config()
    assert loaded(TEXTS) == ids
    assert loaded(tf.constant(TEXTS)).to_list() == ids
    lowercase = type(tokenizer).from_preset(str(tmp_path), lowercase=True)
    assert lowercase("THE") == loaded("the")


def test_files_of_other_libraries(tmp_path):
    ours = load_tokenizer("albert_nano_en")
    save_vocabulary(ours, tmp_path)
    # transformers' own file of this name.
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    assert AlbertTokenizer.from_preset(tmp_path).fingerprint() == ours.fingerprint()
    cased = AlbertTokenizer.from_preset(tmp_path, lowercase=False)
    assert cased("The") != ours("The") == cased("the")
    theirs = keras_hub.models.AlbertTokenizer(proto=ours.encoder.proto)
    theirs.save_to_preset(str(tmp_path / "theirs"))
    assert AlbertTokenizer.from_preset(tmp_path / "theirs")("The") == ours("The")


def test_preset_errors(tokenizer, tmp_path):
    with pytest.raises(
        FileNotFoundError, match="a folder with one of them .* no files"
    ):
        type(tokenizer).from_preset(tmp_path)
    tokenizer.save_to_preset(str(tmp_path))
    (other,) = set(FILES) - {type(tokenizer)}
    message = f"must hold a `{other.__name__}`.*with a `{type(tokenizer).__name__}`"
    with pytest.raises(ValueError, match=message):
        other.from_preset(tmp_path)


def test_keras_file_round_trip(tokenizer, ids, tmp_path):
    strings = keras.Input(shape=(), dtype="string")
    model = keras.Model(strings, tokenizer(strings))
    assert model.output_shape == (None, None)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded(tf.constant(TEXTS)).to_list() == ids


@pytest.mark.slow
def test_without_tensorflow(shared):
    """Strings are tokenized on another Keras backend, with TensorFlow absent."""
    expected = {}
    for cls, file in FILES.items():
        tokenizer = cls(shared / file, **OPTIONS[cls])
        arguments = str(shared / file), OPTIONS[cls]
        expected[cls.__name__] = (*arguments, tokenizer.encode_batch(TEXTS))
    script = f"""
import os, sys
os.environ["KERAS_BACKEND"] = "jax"
sys.modules["tensorflow"] = sys.modules["tensorflow_text"] = None
try:
    import keras_hub
except ImportError:
    sys.exit(77)
from albert_keras import tokenizers
for name, (path, options, ids) in {expected!r}.items():
    tokenizer = getattr(tokenizers, name)(path, **options)
    assert tokenizer({TEXTS!r}) == ids
    preprocess = keras_hub.models.TextClassifierPreprocessor(
        tokenizer, sequence_length=17
    )
    assert preprocess({TEXTS!r})["token_ids"].shape == (3, 17)
"""
    root = pathlib.Path(__file__).parents[2]
    command = [sys.executable, "-c", script]
    outcome = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if outcome.returncode == 77:
        pytest.skip("this version of keras-hub imports TensorFlow")
    assert outcome.returncode == 0, outcome.stderr
