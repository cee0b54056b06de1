"""Models on the JAX and PyTorch backends, without TensorFlow."""

import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

BATCH = {
    **{"token_ids": (5, 13), "segment_ids": (5, 13), "padding_mask": (5, 13)},
    **{"mask_positions": (5, 6), "answer_mask": (5, 13), "start_positions": (5,)},
}
LABELS = {
    "pretrainer": {"mlm_logits": np.ones((5, 6)), "sop_logits": np.ones(5)},
    "answerer": {
        "start_logits": np.zeros(5, "int32"),
        "end_logits": np.zeros(5, "int32"),
        "answerability_logits": np.ones(5, "int32"),
    },
}


def make_inputs(model):
    random = np.random.default_rng(3)
    inputs = {n: random.integers(0, 2, shape, "int32") for n, shape in BATCH.items()}
    inputs["token_ids"] = random.integers(0, 61, BATCH["token_ids"], "int32")
    inputs["padding_mask"][:, :4] = inputs["answer_mask"][:, :4] = 1
    return {name: inputs[name] for name in model.input}


def make_models():
    from albert_keras.models import (
        AlbertBackbone,
        AlbertJointQuestionAnswerer,
        AlbertPretrainer,
    )

    # Dropout and rematerialization act only in training.
    fields = {"dropout": 0.1, "rematerialization": True}
    make = functools.partial(AlbertBackbone.from_config_preset, "albert_test")
    return {
        "pretrainer": AlbertPretrainer(make(**fields)),
        "answerer": AlbertJointQuestionAnswerer(make(num_layers=1)),
    }


def run_models(models):
    """Returns the outputs of all models, and of the beam, as arrays."""
    from keras import ops

    models = {**models, "beam": models["answerer"].beam_model(num_starts=3)}
    outputs = {name: model(make_inputs(model)) for name, model in models.items()}
    return {
        f"{name} {output}": ops.convert_to_numpy(value)
        for name, values in outputs.items()
        for output, value in values.items()
    }


def run_without_tensorflow(folder):
    """Computes outputs and some training steps; the main function of a new process."""
    # Importing these raises ImportError, as if they were not installed.
    sys.modules.update(dict.fromkeys(["tensorflow", "tensorflow_text"]))
    from albert_keras.optimizers import Lamb, WarmupPolynomialDecay

    models = make_models()
    for name, model in models.items():
        model.load_weights(folder / f"{name}.weights.h5")
    np.savez(folder / "outputs.npz", **run_models(models))

    losses = {}
    for name, model in models.items():
        rate = WarmupPolynomialDecay(0.01, decay_steps=9, warmup_steps=0)
        model.compile(Lamb(rate, global_clipnorm=1.0))
        history = model.fit(make_inputs(model), LABELS[name], epochs=3, verbose=0)
        losses[name] = history.history["loss"]
    report = {"losses": losses, "tensorflow": sys.modules["tensorflow"] is not None}
    (folder / "report.json").write_text(json.dumps(report))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_same_outputs_and_a_training_step_without_tensorflow(backend, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"needs {backend}")
    # Imports TensorFlow.
    from tests.helpers import randomize

    models = make_models()
    for name, model in models.items():
        # Random, so that no two positions have equal embeddings.
        randomize(model).save_weights(tmp_path / f"{name}.weights.h5")
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    # Keras' own way of turning PyTorch's tensors into arrays.
    keras_own = "ignore:__array__ implementation:DeprecationWarning"
    warnings = ["-W", "error", "-W", keras_own]
    command = [sys.executable, *warnings, __file__, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    with np.load(tmp_path / "outputs.npz") as outputs:
        for name, expected in run_models(models).items():
            assert np.abs(outputs[name] - expected).max() < 1e-5, name
    report = json.loads((tmp_path / "report.json").read_text())
    assert not report["tensorflow"]
    for losses in report["losses"].values():
        assert losses[-1] < losses[0]


if __name__ == "__main__":
    run_without_tensorflow(pathlib.Path(sys.argv[1]))
