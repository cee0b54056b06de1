"""Recipes of pretraining runs, and options that change them."""

import pytest

from albert_keras import cli
from albert_keras.cli.options import config_from
from albert_keras.runs.pretraining_config import PretrainingRunConfig, choose_recipe

LENGTH = 23


@pytest.fixture(scope="module")
def store(prepare):
    return prepare(LENGTH)


def chosen(*words):
    """Returns the recipe and the configuration of a command that is not run."""
    words = ["pretrain", "--tokenizer", "a.model", "--run", "a_run", *words]
    arguments = cli.parse(list(map(str, words)))
    return choose_recipe(config_from(arguments, PretrainingRunConfig), {})


def test_the_default_recipe_is_small():
    recipe, config = chosen("--text", "a.txt")
    assert config.recipe == "small"
    assert config.preset == "albert_nano_en"
    assert recipe.optimizer == config.optimizer == "adamw"
    assert config.data_options["sequence_length"] == 128
    _, config = chosen("--text", "a.txt", "--checkpoint", "albert_base_v2")
    assert (config.recipe, config.preset) == ("adapt", None)


def test_a_resumed_run_keeps_its_recipe():
    words = ["--text", "a.txt", "--tokenizer", "a.model", "--run", "a_run"]
    config = config_from(cli.parse(["pretrain", *words]), PretrainingRunConfig)
    for recipe, preset in (("gpu_hour", "albert_small_zh"), (None, "albert_base_v2")):
        begun = {"config": {"recipe": recipe}}
        _, same = choose_recipe(config, begun)
        assert (same.recipe, same.preset) == (recipe, preset)


def test_a_run_without_a_tokenizer():
    options = {"run": "a_run", "text": ("a.txt",)}
    with pytest.raises(ValueError, match="or a checkpoint with one"):
        PretrainingRunConfig(**options)
    assert PretrainingRunConfig(**options, checkpoint="a").tokenizer is None


def test_the_recipe_of_a_preset_is_the_papers_at_batch_64():
    recipe, config = chosen("--text", "a.txt", "--preset", "albert_base_v2")
    assert recipe.optimizer == config.optimizer == "lamb"
    assert recipe.learning_rate == pytest.approx(0.00176 / 8)
    assert recipe.num_steps == config.num_steps == 125_000
    assert recipe.warmup_steps == 3125
    assert config.batch_size == 64
    assert config.preset == "albert_base_v2"
    assert config.precision == "float32"
    # By the defaults of data.
    assert config.data_options == {}


def test_a_recipe_sets_the_options_that_are_not_given(capsys):
    recipe, config = chosen("--text", "a.txt", "--recipe", "albert_zh")
    assert "albert_zh: 30 GB of Chinese" in capsys.readouterr().err
    assert recipe.warmup_steps == 12_500
    assert recipe.learning_rate == 0.00176
    assert config.batch_size == 4096
    assert config.data_options["masking"] == "whole_word"
    assert config.data_options["masked_rate"] == 0.1


def test_options_override_a_recipe():
    words = ["--text", "a.txt", "--recipe", "two_cores"]
    recipe, config = chosen(*words, "--batch-size", 8, "--num-steps", 400)
    # Rate and warm-up go along, unless they are given as well.
    assert recipe.learning_rate == pytest.approx(0.002 / 8**0.5)
    assert recipe.warmup_steps == 10
    rate = ["--learning-rate", 0.5, "--warmup-steps", 0]
    recipe, config = chosen(*words, "--batch-size", 8, *rate)
    assert (recipe.learning_rate, recipe.warmup_steps) == (0.5, 0)
    assert recipe.optimizer == "adamw"
    assert config.data_options["sequence_length"] == 32
    lamb = [*words, "--optimizer", "lamb"]
    recipe, config = chosen(*lamb, "--learning-rate", 0.003)
    assert (recipe.optimizer, recipe.learning_rate) == ("lamb", 0.003)
    with pytest.raises(ValueError, match="0.002 is for adamw"):
        chosen(*lamb)
    _, config = chosen(*words, "--sequence-length", 61, "--preset", "albert_test")
    assert config.data_options["sequence_length"] == 61
    assert config.preset == "albert_test"


def test_a_recipe_only_changes_examples_that_are_not_made_yet(prepare, store):
    records = ["--format", "tfrecord", "--dupe-factor", 1]
    _, config = chosen("--data", store, "--recipe", "two_cores_long")
    assert config.data_options["sequence_length"] == 128
    for words in (
        ["--data", prepare(LENGTH, *records), "--recipe", "two_cores"],
        ["--data", store],
    ):
        _, config = chosen(*words)
        assert "sequence_length" not in config.data_options
