"""SavedModels: padding, pairs, exits, precision, errors, and calls by Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.fingerprint_pb2 import FingerprintDef

from albert_keras.compression import ExitRule, logits_at, simulate_exits
from albert_keras.converters import change_architecture
from albert_keras.export import export_saved_model, load_exported
from albert_keras.models import (
    AlbertBackbone,
    AlbertEarlyExitClassifier,
    AlbertTextClassifier,
)
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from tests.helpers import max_difference
from tools.verify_conversion import random_inputs

LABELS = ["bad", "so-so", "göod"]


def test_rows_are_padded_to_the_longest_of_the_batch(backbone, tokenizer, tmp_path):
    export_saved_model(backbone, tmp_path / "served", tokenizer)
    serve = tf.saved_model.load(tmp_path / "served").signatures["serving_default"]

    def tokens_of(*texts):
        outputs = serve(text=tf.constant(texts, tf.string))
        assert outputs["pooled_output"].shape == (len(texts), 24)
        assert outputs["mean_output"].shape == (len(texts), 24)
        return outputs["sequence_output"].numpy()

    # [CLS] and [SEP], and the longest: the model has few positions.
    assert tokens_of("").shape == (1, 2, 24)
    assert tokens_of("", "storms " * 40).shape == (2, 19, 24)
    assert tokens_of().shape == (0, 1, 24)
    short, both = tokens_of("storms"), tokens_of("storms", "the storms")
    length = short.shape[1]
    assert length < both.shape[1] < 19
    assert max_difference(short, both[:1, :length]) <= 1e-5
    predict = load_exported(tmp_path / "served").predict
    found = predict(["storms", "the storms"], batch_size=1, all_positions=True)
    assert max_difference(found["sequence_output"][1], both[1]) <= 1e-5
    # Padding is no part of the mean.
    means = [both[0, :length].mean(axis=0), both[1].mean(axis=0)]
    assert max_difference(found["mean_output"], np.array(means)) <= 1e-5
    assert {*predict(["storms"])} == {"pooled_output", "mean_output"}


def test_keras_calls_signatures_of_any_number_of_inputs(
    classifier, tokenizer, tmp_path
):
    export_saved_model(classifier, tmp_path / "ids", tokenizer=None)
    features = random_inputs(classifier, 2)
    for endpoint in ("serve", "serving_default"):
        layer = keras.layers.TFSMLayer(tmp_path / "ids", call_endpoint=endpoint)
        found = layer(features)["logits"]
        assert max_difference(found, classifier(features)) < 1e-5
    export_saved_model(classifier, tmp_path / "text", tokenizer, sequence_length=13)
    text = keras.layers.TFSMLayer(tmp_path / "text")
    pairs = keras.layers.TFSMLayer(tmp_path / "text", call_endpoint="serve_pairs")
    texts = {"text": tf.constant(["a", "b"]), "text_pair": tf.constant(["gulls", "c"])}
    expected = tf.saved_model.load(tmp_path / "text").signatures
    for found, name, given in (
        (text(texts["text"]), "serving_default", {"text": texts["text"]}),
        (pairs(texts), "serve_pairs", texts),
    ):
        assert max_difference(found["logits"], expected[name](**given)["logits"]) == 0.0


def test_one_segment_has_no_pair_signature(tokenizer, tmp_path):
    backbone = AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=211, num_segments=1
    )
    export_saved_model(backbone, tmp_path / "served", tokenizer)
    signatures = tf.saved_model.load(tmp_path / "served").signatures
    assert list(signatures) == ["serving_default"]


def test_nothing_random_is_stored(classifier, tmp_path):
    other_seeds = type(classifier)(classifier.backbone, num_classes=3)
    other_seeds.set_weights(classifier.get_weights())
    for name, model in {"first": classifier, "second": other_seeds}.items():
        export_saved_model(model, tmp_path / name)
        fingerprint = FingerprintDef.FromString(
            (tmp_path / name / "fingerprint.pb").read_bytes()
        )
        assert fingerprint.uuid == ""
    first, second = (
        {file.name: file.read_bytes() for file in tmp_path.glob(f"{name}/variables/*")}
        for name in ("first", "second")
    )
    assert len(first) == 2
    assert first == second


@pytest.mark.slow
def test_rows_leave_a_model_with_exits_by_its_rule(
    backbone, tokenizer, texts, tmp_path
):
    model = AlbertEarlyExitClassifier(
        change_architecture(backbone, num_layers=4), 3, labels=LABELS
    )
    rule = ExitRule("patience", patience=2)
    model.exit_rule = rule.to_dict()
    export_saved_model(model, tmp_path / "ids", tokenizer=None)
    signatures = tf.saved_model.load(str(tmp_path / "ids")).signatures
    features = random_inputs(model, 7)
    logits = np.array(model.exit_logits(features))
    tensors = {name: tf.constant(value) for name, value in features.items()}

    def check(received, rule, logits):
        exits = simulate_exits(rule, logits)
        assert np.array(received["exit_depth"]).tolist() == exits.tolist()
        assert max_difference(received["logits"], logits_at(logits, exits)) < 1e-5

    check(signatures["serving_default"](**tensors), rule, logits)
    export_saved_model(model, tmp_path / "text", tokenizer=tokenizer)
    preprocessor = model.preprocessor_cls(tokenizer, sequence_length=19)
    served = load_exported(tmp_path / "text").predict(texts, batch_size=4)
    check(served, rule, np.array(model.exit_logits(preprocessor(texts))))


def test_products_in_bfloat16(classifier, tmp_path):
    exported = export_saved_model(classifier, tmp_path, None, quantization="bfloat16")
    plain = export_saved_model(classifier, tmp_path / "plain", None)
    assert exported.num_bytes == pytest.approx(plain.num_bytes, rel=0.3)
    features = random_inputs(classifier, 3)
    serve = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    logits = serve(**{n: tf.constant(x) for n, x in features.items()})["logits"]
    assert logits.dtype == tf.float32
    difference = max_difference(logits, classifier(features))
    # It rounds to 8 bits; logits are of order 1.
    assert 1e-5 < difference < 0.1


def test_ids_of_a_fixed_length(backbone, tokenizer, texts, tmp_path):
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, sequence_length=17)
    model = AlbertTextClassifier(backbone, 3, preprocessor)
    export_saved_model(model, tmp_path, None, sequence_length=11)
    found = load_exported(tmp_path).predict(texts)["logits"]
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, sequence_length=11)
    assert max_difference(found, model(preprocessor(texts))) < 1e-5


def test_an_older_saved_model_is_replaced(backbone, tmp_path):
    (tmp_path / "served").mkdir()
    for name in ("saved_model.pb", "older"):
        (tmp_path / "served" / name).touch()
    export_saved_model(backbone, tmp_path / "served")
    assert not (tmp_path / "served" / "older").exists()
    serve = tf.saved_model.load(tmp_path / "served").signatures["serving_default"]
    assert set(serve.structured_outputs) == {"sequence_output", "pooled_output"}
