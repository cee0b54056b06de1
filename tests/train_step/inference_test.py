"""Inference on single batches: equal to `predict`, compiled once, without leaks."""

import gc
import weakref

import keras
import numpy as np
import pytest

from albert_keras.models import (
    AlbertBackbone,
    AlbertMultipleChoice,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
)
from albert_keras.train_step import infer, inference
from tests.helpers import max_difference, randomize


def make_model(kind=AlbertTextClassifier, *arguments):
    backbone = AlbertBackbone.from_config_preset("albert_test", dropout=0.4)
    return randomize(kind(backbone, *arguments))


def make_features(*shape):
    draw = np.random.default_rng(sum(shape))
    num_real = draw.integers(2, shape[-1], (*shape[:-1], 1))
    return {
        "token_ids": draw.integers(5, 61, shape, "int32"),
        "segment_ids": draw.integers(0, 2, shape, "int32"),
        "padding_mask": (np.arange(shape[-1]) < num_real).astype("int32"),
    }


@pytest.mark.parametrize(
    ("kind", "arguments", "shapes"),
    [
        (AlbertTextClassifier, [3], [(4, 11), (4, 7), (5, 7), (1, 18)]),
        # Four choices, then three.
        (AlbertMultipleChoice, [], [(2, 4, 11), (5, 4, 8), (5, 3, 8)]),
        (AlbertQuestionAnswerer, [], [(2, 9), (3, 17)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_same_as_the_model_for_batches_of_any_shape(kind, arguments, shapes):
    model = make_model(kind, *arguments)
    for shape in shapes:
        features = make_features(*shape)
        received = infer(model, features)
        assert all(isinstance(x, np.ndarray) for x in keras.tree.flatten(received))
        assert max_difference(received, model(features)) < 1e-5
    assert inference._FORWARDS[model].experimental_get_tracing_count() == 1


def test_same_as_predict_before_and_after_weights_change():
    model, features = make_model(AlbertTextClassifier, 3), make_features(4, 11)
    before = infer(model, features)
    assert max_difference(before, model.predict(features, verbose=0)) < 1e-5
    model.set_weights([weight * 0.5 for weight in model.get_weights()])
    after = infer(model, features)
    assert max_difference(after, model.predict(features, verbose=0)) < 1e-5
    assert max_difference(after, before) > 1e-3


def test_model_is_freed_with_its_last_reference():
    model = make_model(AlbertTextClassifier, 3)
    infer(model, make_features(4, 11))
    assert model in inference._FORWARDS
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None


def test_another_runtime_is_called_as_it_is():
    def model(features):
        return {"sum": features["token_ids"].sum(axis=1)}

    features = make_features(4, 11)
    outputs = infer(model, features)
    assert (outputs["sum"] == features["token_ids"].sum(axis=1)).all()
