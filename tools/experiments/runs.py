"""Runs of experiments: commands on one core each, and pretrained models measured."""

import os
import subprocess
import sys

from albert_keras.converters import load_checkpoint
from albert_keras.models import AlbertPretrainer
from albert_keras.pretraining import PretrainingTask
from albert_keras.system.files import read_json

# One thread each, for processes that run side by side.
ONE_THREAD = {
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # No GPU, whose memory TensorFlow would reserve.
    "CUDA_VISIBLE_DEVICES": "-1",
}
# Objectives whose first classes are in order and swapped.
ORDERS = ("sop", "ternary")


def run_on_one_core(words, stdout=subprocess.DEVNULL, stderr=None):
    """Runs a command of the package in a process of its own, and waits for it.

    Args:
        words: List of str, the command and its arguments.
        stdout, stderr: As of `subprocess.run`.

    Returns:
        `subprocess.CompletedProcess`.

    Raises:
        subprocess.CalledProcessError: If the command fails.
    """
    command = [sys.executable, "-P", "-m", "albert_keras", *map(str, words)]
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": path}
    return subprocess.run(
        command, env=environment, stdout=stdout, stderr=stderr, check=True
    )


def measure_pretrained(run, data, *, pairs=True, config=None):
    """Measures a pretraining run on held-out rows of any sentence task.

    Args:
        run: path of the run.
        data: Held-out data, see `pretraining_validation_dataset`.
        pairs: bool. Whether the rows are pairs in order or swapped, so that the accuracy
            of their order is measured where the model learned it.
        config: `PretrainingDataConfig` of a token store, or None for its own.

    Returns:
        Dict as of `PretrainingTask.evaluate`, with the accuracy of two classes.
    """
    trained = load_checkpoint(run)
    learned = read_json(run / "run.json")["examples"]["sentence_pairs"]
    knows_order = pairs and learned in ORDERS
    model = with_pair_classes(trained, 2 if knows_order else 0)
    if knows_order:
        kernel, bias = trained.pair_head.get_weights()
        model.pair_head.set_weights([kernel[:, :2], bias[:2]])
    task = PretrainingTask("sop" if knows_order else "none")
    return task.evaluate(model, data, 32, config=config)


def with_pair_classes(trained, num_classes):
    """Returns a pretrained model with another head of sentence pairs, which is new."""
    model = AlbertPretrainer(trained.backbone, num_classes)
    model.mlm_head.set_weights(trained.mlm_head.get_weights())
    return model
