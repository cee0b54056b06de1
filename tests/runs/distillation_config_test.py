"""Configurations of students, filled in by those of their teachers."""

import pytest

from albert_keras.runs import DistillationRunConfig

TAUGHT = {
    "task": "sst-2",
    "train": "a.tsv",
    "validation": "b.tsv",
    "num_epochs": 5,
    "learning_rate": 1e-3,
    "encoding": "cp1252",
    "seed": 7,
    "task_options": {"long_texts": "tail"},
}


def student(**options):
    config = DistillationRunConfig(run="student", teacher="teacher", **options)
    return config.of_task({"config": TAUGHT}, num_layers=7)


def test_what_is_not_given_is_the_teachers():
    config = student()
    of_task = config.task, config.task_options, config.encoding
    assert of_task == ("sst-2", {"long_texts": "tail"}, "cp1252")
    assert (config.train, config.validation) == ("a.tsv", "b.tsv")
    assert (config.num_epochs, config.learning_rate, config.seed) == (5, 1e-3, 0)
    assert (config.checkpoint, config.num_layers) == ("teacher", 3)


def test_what_is_given_stays():
    config = student(
        num_steps=9, data="folder", checkpoint="narrow", learning_rate=2e-3
    )
    assert (config.num_steps, config.num_epochs) == (9, None)
    assert (config.data, config.train, config.validation) == ("folder", None, None)
    assert (config.checkpoint, config.num_layers) == ("narrow", None)
    assert config.learning_rate == 2e-3


def test_only_given_options_of_losses():
    config = student(temperature=4.0, label_weight=0.0)
    assert config.loss_options() == {"temperature": 4.0, "label_weight": 0.0}
    with pytest.raises(ValueError, match="greater than 0.*temperature=0"):
        student(temperature=0)
