"""A tiny model for all analyses."""

import keras
import pytest

from albert_keras.models import AlbertBackbone
from tests.helpers import make_config, randomize


@pytest.fixture(scope="session")
def backbone():
    """A backbone of three layers, not to be changed."""
    keras.utils.set_random_seed(3)
    return randomize(AlbertBackbone(**make_config().to_dict()))
