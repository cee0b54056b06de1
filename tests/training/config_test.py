"""The trainer's configuration refuses counts that are not positive."""

import pytest

from albert_keras.training import TrainerConfig


@pytest.mark.parametrize(
    "name", ["num_steps", "steps_per_evaluation", "steps_per_checkpoint", "patience"]
)
def test_counts_must_be_positive(name):
    with pytest.raises(ValueError, match=f"{name}=0"):
        TrainerConfig(**{"num_steps": 5, name: 0})
