"""Declarative tests of layers and models, and small configurations for them."""

import copy
import json

import keras
import numpy as np

from albert_keras.config import AlbertConfig
from albert_keras.converters.stored_tensors import StoredTensors

# Largest difference to float32, over the largest value: a few times 2^-8 and 2^-11.
HALF_PRECISION = {"mixed_bfloat16": 0.03, "mixed_float16": 0.004}


def make_config(**overrides):
    """Returns a tiny config; its sizes and those of `make_inputs` are all different."""
    sizes = {
        **{"vocabulary_size": 61, "num_layers": 3, "num_heads": 4, "embedding_dim": 9},
        **{"hidden_dim": 28, "intermediate_dim": 40, "max_sequence_length": 19},
    }
    return AlbertConfig(**{**sizes, **overrides})


def make_inputs(batch=5, sequence_length=13):
    """Returns a batch for the backbone, with rows of different lengths, at least 6."""
    random = np.random.default_rng(7)
    shape = (batch, sequence_length)
    num_real = random.integers(6, sequence_length, (batch, 1))
    return {
        "token_ids": random.integers(0, 61, shape, "int32"),
        "segment_ids": random.integers(0, 2, shape, "int32"),
        "padding_mask": (np.arange(sequence_length) < num_real).astype("int32"),
    }


def randomize(model, seed=11):
    """Adds noise to every weight, so that lost or transposed weights are detected."""
    random = np.random.default_rng(seed)
    model.set_weights(
        [
            value + random.normal(0.0, 0.1, value.shape).astype("float32")
            for value in model.get_weights()
        ]
    )
    return model


def stored_arrays(arrays):
    """Returns `StoredTensors` of a dict of arrays."""
    shapes = {name: np.shape(array) for name, array in arrays.items()}
    return StoredTensors(shapes, lambda name: np.asarray(arrays[name]))


def max_difference(first, second):
    """Returns the largest absolute difference over all arrays of two structures."""
    pairs = zip(keras.tree.flatten(first), keras.tree.flatten(second), strict=True)
    # NumPy's maximum, unlike Python's, is NaN if one of the values is.
    return np.max([np.abs(_float64(a) - _float64(b)).max() for a, b in pairs])


def run_layer_test(make_layer, inputs, expected_shapes, tmp_path):
    """Checks a layer in a model of its own, as `run_model_test` but without padding.

    Args:
        make_layer: Function `(dtype=None)` that returns a new layer.
        inputs: Dict of arrays by argument name of the layer's `call`.
        expected_shapes: Shape of the output, or a tuple of them.
        tmp_path: Folder for saved files.
    """

    def make_model(**arguments):
        placeholders = {
            name: keras.Input((None, *value.shape[2:]), dtype=value.dtype, name=name)
            for name, value in inputs.items()
        }
        return keras.Model(placeholders, make_layer(**arguments)(**placeholders))

    layer = make_layer()
    layer(**inputs)
    restored = keras.layers.deserialize(_through_json(keras.layers.serialize(layer)))
    assert _through_json(restored.get_config()) == _through_json(layer.get_config())
    _check_model(make_model, inputs, expected_shapes, tmp_path)


def run_model_test(make_model, inputs, expected_shapes, tmp_path):
    """Checks that a model gives the same result however it is called, saved or loaded.

    Eager = `predict`; shapes are as declared, also for another batch size and
    length; padding changes no real token; config, `.keras`, `.weights.h5` and preset
    round trips are exact; half precision stays close to float32.

    Args:
        make_model: Function `(dtype=None)` that returns a new model.
        inputs: Dict of arrays.
        expected_shapes: Shape of the output, or a dict of them.
        tmp_path: Folder for saved files.
    """
    model = _check_model(make_model, inputs, expected_shapes, tmp_path)
    _check_padding(model, inputs)

    config = _through_json(model.get_config())
    restored = type(model).from_config(copy.deepcopy(config))
    assert _through_json(restored.get_config()) == config
    assert [w.path for w in restored.weights] == [w.path for w in model.weights]

    model.save_to_preset(str(tmp_path / "preset"))
    arguments = {"preprocessor": None} if hasattr(model, "preprocessor") else {}
    restored = type(model).from_preset(str(tmp_path / "preset"), **arguments)
    _check_same(restored, model, inputs)


def _check_model(make_model, inputs, expected_shapes, tmp_path):
    keras.utils.set_random_seed(13)
    model = randomize(make_model())
    outputs = model(inputs)
    assert _shapes(outputs) == expected_shapes
    # In a graph, for open lengths.
    predicted = model.predict(inputs, batch_size=2, verbose=0)
    assert max_difference(predicted, outputs) < 5e-6

    smaller = {
        name: value[1:, :-2] if value.ndim > 1 else value[1:]
        for name, value in inputs.items()
    }
    stated = model.compute_output_shape({n: v.shape for n, v in smaller.items()})
    assert _shapes(model(smaller)) == stated

    _check_saving(make_model, model, inputs, tmp_path)
    _check_half_precision(make_model, model, inputs)
    return model


def _check_saving(make_model, model, inputs, tmp_path):
    model.save(tmp_path / "model.keras")
    _check_same(keras.saving.load_model(tmp_path / "model.keras"), model, inputs)
    model.save_weights(tmp_path / "model.weights.h5")
    restored = make_model()
    restored.load_weights(tmp_path / "model.weights.h5")
    _check_same(restored, model, inputs)


def _check_same(restored, model, inputs):
    assert type(restored) is type(model)
    assert max_difference(restored.get_weights(), model.get_weights()) == 0.0
    assert max_difference(restored(inputs), model(inputs)) == 0.0


def _check_half_precision(make_model, model, inputs):
    expected = model(inputs)
    for policy, tolerance in HALF_PRECISION.items():
        half = make_model(dtype=policy)
        assert {v.dtype for v in half.trainable_variables} == {"float32"}
        half.set_weights(model.get_weights())
        received = half(inputs)
        scale = max(np.abs(_float64(x)).max() for x in keras.tree.flatten(expected))
        assert max_difference(received, expected) / scale < tolerance, policy


def _check_padding(model, inputs):
    real = inputs["padding_mask"].astype(bool)
    other_pieces = {
        **inputs,
        "token_ids": np.where(real, inputs["token_ids"], 7),
        "segment_ids": np.where(real, inputs["segment_ids"], 1 - inputs["segment_ids"]),
    }
    more_padding = {
        name: np.pad(value, [(0, 0)] * (value.ndim - 1) + [(0, 3)])
        if value.shape == real.shape
        else value
        for name, value in inputs.items()
    }
    expected = _real_outputs(model(inputs), real)
    for changed in (other_pieces, more_padding):
        assert max_difference(_real_outputs(model(changed), real), expected) < 1e-5


def _real_outputs(outputs, real):
    """Returns the outputs, those per token without padding."""
    sequence_length = real.shape[-1]

    def select(output):
        output = keras.ops.convert_to_numpy(output)
        if output.ndim < 2 or output.shape[1] < sequence_length:
            return output
        return output[:, :sequence_length][real]

    return keras.tree.map_structure(select, outputs)


def _through_json(config):
    """Returns a config after writing and reading it as JSON."""
    return json.loads(json.dumps(config))


def _shapes(outputs):
    return keras.tree.map_structure(lambda output: tuple(output.shape), outputs)


def _float64(value):
    # Cast to float32 first, since NumPy has no bfloat16.
    dtype = keras.backend.result_type(
        keras.ops.convert_to_tensor(value).dtype, "float32"
    )
    return keras.ops.convert_to_numpy(keras.ops.cast(value, dtype)).astype("float64")
