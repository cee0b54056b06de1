"""A backend without a step of ours trains with Keras' own, in one part."""

import os
import subprocess
import sys

import pytest

from albert_keras.train_step.plain_step import PlainStep

REFUSES_PARTS = """
from albert_keras.models import AlbertBackbone, AlbertPretrainer
model = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
model.compile("sgd")
try:
    model.compile("sgd", micro_batches=2)
except ValueError as error:
    print(error)
"""


def test_the_whole_batch_is_its_own_sum():
    assert PlainStep().sum_over_replicas([1.0, 2.0]) == [1.0, 2.0]


def test_torch_refuses_parts():
    pytest.importorskip("torch", reason="needs torch")
    output = subprocess.run(
        [sys.executable, "-c", REFUSES_PARTS],
        env={**os.environ, "KERAS_BACKEND": "torch"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "Received: micro_batches=2" in output
