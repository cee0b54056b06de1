"""One place makes the optimizers of `compile`, fine-tuning and pretraining."""

import pytest

from albert_keras.optimizers import OPTIMIZERS, make_optimizer
from albert_keras.runs.training import OptimizerOptions


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_options_of_runs_are_those_of_every_optimizer(name):
    options = OptimizerOptions(weight_decay=0.25).optimizer_options()
    optimizer = make_optimizer(0.5, name, num_steps=8, warmup_steps=4, **options)
    config = optimizer.get_config()
    assert {key: config[key] for key in options} == options
    assert config["global_clipnorm"] == 1.0
    assert [float(optimizer._learning_rate(step)) for step in (2, 6)] == [0.25, 0.125]


def test_what_is_not_given_is_the_optimizers_own():
    assert make_optimizer().has_default_rate
    config = make_optimizer(0.5, "lamb", weight_decay=None).get_config()
    assert config["weight_decay"] == 0.01
