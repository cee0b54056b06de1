"""Options that all training runs share, and the trainer made from them."""

import dataclasses

import pytest

from albert_keras.config import AlbertConfig
from albert_keras.runs.training import (
    TrainingOptions,
    check_fits,
    check_micro_batches,
    check_unchanged,
    make_trainer,
)
from albert_keras.training import TrainerConfig, get_strategy


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(TrainingOptions):
    """A run."""


def make(tmp_path, num_steps=1000, steps_per_evaluation=100, **options):
    config = Config(run=tmp_path, tokenizer="a.model", **options)
    strategy = get_strategy("default")
    defaults = {"steps_per_evaluation": steps_per_evaluation}
    return make_trainer(config, strategy, num_steps, **defaults).config


def test_given_options_replace_the_defaults_of_a_run(tmp_path):
    assert make(tmp_path).steps_per_evaluation == 100
    assert make(tmp_path, steps_per_checkpoint=7).steps_per_checkpoint == 7
    config = Config(
        run=tmp_path, tokenizer="a.model", steps_per_evaluation=13, jit_compile=False
    )
    trainer = make_trainer(
        config, get_strategy("default"), 300, steps_per_evaluation=100
    )
    assert trainer.config == TrainerConfig(
        300, steps_per_evaluation=13, steps_per_log=15, jit_compile=False
    )


def test_without_any_the_trainers_own_defaults_hold(tmp_path):
    config = Config(run=tmp_path, tokenizer="a.model")
    trainer = make_trainer(config, get_strategy("default"), 5)
    assert trainer.config == TrainerConfig(5, steps_per_log=1)


class FakeTokenizer:
    def vocabulary_size(self):
        return 61


@pytest.mark.parametrize(
    ("vocabulary_size", "sequence_length", "message"),
    [(61, 30, "sequence_length=30, max_sequence_length=29"), (59, 29, "61 .* 59")],
)
def test_what_does_not_fit_a_model(vocabulary_size, sequence_length, message):
    shape = AlbertConfig.from_preset(
        "albert_test", vocabulary_size=vocabulary_size, max_sequence_length=29
    )
    with pytest.raises(ValueError, match=message):
        check_fits(FakeTokenizer(), shape, sequence_length)


def test_changed_training_data_are_an_error():
    begun = [["a.tsv", "1f"], ["b.tsv", "2e"]]
    recorded = {"training_files": begun}
    check_unchanged([["moved/a.tsv", "1f"], ["b.tsv", "2e"]], recorded)
    # Runs of earlier versions, and new ones.
    check_unchanged([["b.tsv", "2e"]], {})
    message = "data that the run began with. Received: 'moved/b.tsv', which has"
    with pytest.raises(ValueError, match=message):
        check_unchanged([["a.tsv", "1f"], ["moved/b.tsv", "3d"]], recorded)


def test_each_device_has_an_example_for_each_micro_batch():
    strategy = get_strategy("default")
    check_micro_batches(3, 3, strategy)
    with pytest.raises(ValueError, match="batch_size=3, micro_batches=4, 1 devices"):
        check_micro_batches(4, 3, strategy)
