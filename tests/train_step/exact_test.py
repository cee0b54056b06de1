"""Equal steps through `fit` however a batch is divided; arguments that are refused."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertBackbone, AlbertPretrainer, AlbertTextClassifier
from albert_keras.optimizers import Lamb
from albert_keras.train_step import ExactTrainStep
from tests.forked_processes import forked_processes
from tests.helpers import max_difference
from tests.train_step import cut_batches

TOLERANCES = {"float32": 1e-6, "whole batches": 1e-6, "float64": 1e-12}
SEVERAL_AT_ONCE = "2 replicas, 3 micro-batches, 5 steps a call, rematerialized, XLA"


@pytest.fixture(scope="module")
def table():
    """Differences by process, float type and division; see `cut_batches.py`."""
    with forked_processes() as start:
        processes = {
            "tensorflow 2": start(cut_batches.compare_on_two_devices, num_devices=2),
            "jax 1": start(cut_batches.compare_on_jax, KERAS_BACKEND="jax"),
        }
        results = {}
        for name, process in processes.items():
            out, err = process.communicate()
            assert process.returncode == 0, err
            results[name] = json.loads(out)
    return results


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "dtype", "way"),
    [
        ("tensorflow 2", "float32", "2 replicas, 2 micro-batches"),
        ("tensorflow 2", "float64", SEVERAL_AT_ONCE),
        ("jax 1", "float32", "2 micro-batches"),
        ("tensorflow 2", "whole batches", "4 micro-batches, XLA"),
        ("tensorflow 2", "whole batches", "2 replicas, 2 micro-batches"),
        ("jax 1", "whole batches", "2 micro-batches"),
    ],
)
def test_weights_and_logs_do_not_depend_on_the_division_of_a_batch(
    table, process, dtype, way
):
    differences = table[process][dtype][way]
    assert differences["weights"] <= TOLERANCES[dtype]
    # Keras keeps metrics in float32.
    assert differences["logs"] < 2e-6


@pytest.mark.slow
def test_dropout_differs_between_replicas_and_is_seeded(table):
    assert table["tensorflow 2"]["dropout"] == {
        "replicas that drop the same": 0,
        "runs that differ": 0,
    }


@pytest.mark.slow
def test_outputs_of_several_replicas_are_those_of_one(table):
    assert table["tensorflow 2"]["inference"] < 1e-5


def make_backbone(**fields):
    return AlbertBackbone.from_config_preset("albert_test", num_layers=1, **fields)


def make_pretrainer():
    return AlbertPretrainer(make_backbone())


def test_gradient_accumulation_of_keras_is_refused():
    optimizer = Lamb(gradient_accumulation_steps=3)
    with pytest.raises(ValueError, match="Received: 3. Pass `micro_batches`"):
        make_pretrainer().compile(optimizer)


def test_targets_are_required():
    model = AlbertTextClassifier(make_backbone(), num_classes=3)
    with pytest.raises(ValueError, match="targets and a loss. Received: y=None"):
        model.evaluate(classifier_data().map(lambda x, y: x), verbose=0)


@pytest.mark.parametrize("micro_batches", [0, 2.0, "4"])
def test_micro_batches_must_be_a_positive_integer(micro_batches):
    with pytest.raises(ValueError, match=f"micro_batches={micro_batches!r}"):
        make_pretrainer().compile(micro_batches=micro_batches)


def classifier_data(batch_size=4):
    draw = np.random.default_rng(9)
    features = {
        "token_ids": draw.integers(5, 61, (11, 17), "int32"),
        "segment_ids": np.zeros((11, 17), "int32"),
        "padding_mask": np.ones((11, 17), "int32"),
    }
    data = tf.data.Dataset.from_tensor_slices((features, np.arange(11) % 3))
    return data.batch(batch_size)


def test_the_gradient_norm_in_the_logs_is_that_before_clipping():
    keras.utils.set_random_seed(3)
    model = AlbertTextClassifier(make_backbone(), num_classes=3, dropout=0.0)
    optimizer = keras.optimizers.SGD(1.0, global_clipnorm=1e-3)
    model.compile(optimizer, log_gradient_norm=True)
    before = model.get_weights()
    data = classifier_data().take(1)
    history = keras.Model.fit(model, data, shuffle=False, verbose=0)
    after = model.get_weights()
    assert history.history["gradient_norm"][0] > 1e-2
    moved = np.sqrt(
        sum(((a - b) ** 2).sum() for a, b in zip(before, after, strict=True))
    )
    # Approximately, since lookups of the same row enter the norm one by one.
    assert moved == pytest.approx(1e-3, rel=0.1)


class OnFirstTokens(ExactTrainStep, keras.Model):
    """Does not read the pooled output, so that the pooler has no gradient."""


@pytest.mark.slow
def test_variables_without_gradient_are_allowed_with_micro_batches():
    weights = []
    for micro_batches in (1, 2):
        keras.utils.set_random_seed(3)
        backbone = make_backbone()
        first_tokens = backbone(backbone.input)["sequence_output"][:, 0]
        logits = keras.layers.Dense(3, kernel_regularizer="l2")(first_tokens)
        model = OnFirstTokens(backbone.input, logits)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss, micro_batches=micro_batches)
        keras.Model.fit(model, classifier_data(), shuffle=False, verbose=0)
        weights.append(model.get_weights())
    assert max_difference(*weights) < 1e-6


def test_a_frozen_model_can_be_evaluated():
    model = AlbertTextClassifier(make_backbone(), num_classes=3)
    expected = model.evaluate(classifier_data(), verbose=0)
    model.trainable = False
    assert model.evaluate(classifier_data(), verbose=0) == expected


def test_evaluation_of_a_number_of_batches_that_steps_per_execution_does_not_divide():
    model = AlbertTextClassifier(make_backbone(), num_classes=3)
    model.compile("sgd", steps_per_execution=2)
    # The `fit` of Keras, since that of keras-hub warns about shuffling a dataset.
    keras.Model.fit(model, classifier_data(3), shuffle=False, verbose=0)
    assert int(model.optimizer.iterations) == 4
    results = [
        model.evaluate(classifier_data(size), verbose=0, return_dict=True)
        for size in (4, 11)
    ]
    assert results[0] == pytest.approx(results[1], rel=1e-5)


def test_arguments_of_compile_are_saved_with_the_model(tmp_path):
    model = make_pretrainer()
    arguments = {"micro_batches": 2, "log_gradient_norm": True}
    model.compile(Lamb(0.01), **arguments, jit_compile=False)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert (again.micro_batches, again.log_gradient_norm) == (2, True)
    assert again.get_compile_config()["jit_compile"] is False


def test_a_clone_is_a_plain_model_that_trains_alike():
    model = AlbertTextClassifier(make_backbone(), num_classes=3, dropout=0.0)
    model.compile("sgd", micro_batches=2)
    clone = keras.models.clone_model(model)
    assert not isinstance(clone, ExactTrainStep)
    clone.set_weights(model.get_weights())
    x, y = next(iter(classifier_data()))
    logs = [each.train_on_batch(x, y, return_dict=True) for each in (model, clone)]
    assert logs[0] == pytest.approx(logs[1], rel=1e-5)
    assert logs[0].keys() == {"loss", "accuracy"}
    assert max_difference(model.get_weights(), clone.get_weights()) < 1e-7


@pytest.mark.slow
def test_a_skipped_step_of_half_precision_leaves_the_weights():
    backbone = make_backbone(dtype="mixed_float16")
    model = AlbertTextClassifier(backbone, num_classes=3)
    model.compile(Lamb(0.1), log_gradient_norm=True)
    # Scaled by 2^120 the gradients overflow.
    model.optimizer.build(model.trainable_variables)
    model.optimizer.dynamic_scale.assign(2.0**120)
    before = [np.array(variable) for variable in model.trainable_variables]
    data = classifier_data().take(1)
    history = keras.Model.fit(model, data, shuffle=False, verbose=0)
    assert not np.isfinite(history.history["gradient_norm"][0])
    for variable, value in zip(model.trainable_variables, before, strict=True):
        assert np.array_equal(variable, value), variable.path
    assert float(model.optimizer.dynamic_scale) == 2.0**119
