"""Fixtures: a model, and its variables under Google's names."""

import pytest

from albert_keras.converters.google import GoogleCheckpoint
from albert_keras.models import AlbertBackbone, AlbertPretrainer
from tests.converters.google_files import CONFIG
from tests.helpers import randomize


@pytest.fixture(scope="module")
def pretrainer():
    return randomize(AlbertPretrainer(AlbertBackbone(**CONFIG.to_dict())))


@pytest.fixture
def tensors(pretrainer):
    return GoogleCheckpoint.tensors_of(pretrainer, "pretraining")
