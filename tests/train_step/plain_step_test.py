"""A backend without a step of ours trains with Keras' own, in one part."""

import pytest

from albert_keras.models import AlbertBackbone, AlbertPretrainer
from albert_keras.train_step.plain_step import PlainStep


def test_the_whole_batch_is_its_own_sum():
    assert PlainStep().sum_over_replicas([1.0, 2.0]) == [1.0, 2.0]


def test_parts_are_refused(monkeypatch):
    monkeypatch.setattr(AlbertPretrainer, "can_split", PlainStep.can_split)
    model = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
    model.compile("sgd")
    with pytest.raises(ValueError, match="Received: micro_batches=2. Leave it out"):
        model.compile("sgd", micro_batches=2)
