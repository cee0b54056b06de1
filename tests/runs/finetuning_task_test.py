"""Tasks with the options, the recipe and the files of a run, and bad options."""

import dataclasses

import pytest

from albert_keras.config import PRESETS
from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.runs.finetuning_task import (
    configure_task,
    find_files,
    fit_rate,
    fit_recipe,
)
from albert_keras.tasks import TASKS


def configured(task, **options):
    return configure_task(
        FinetuningRunConfig(task=task, checkpoint="a", run="b", **options)
    )


def test_options_and_columns_reach_the_task():
    task = configured(
        "imdb", text_column="review", task_options={"long_texts": "windows"}
    )
    assert task.columns.text == "review"
    assert task.tfds_columns is None or task.tfds_columns.text == "review"
    assert task.long_texts == "windows"


def test_narrow_models_take_more_epochs_of_small_files():
    own = {"task": "text-classification", "checkpoint": "a", "run": "b"}
    small, base = PRESETS["albert_nano_en"], PRESETS["albert_base_v2"]

    def num_steps(shape, num_examples, **options):
        config = FinetuningRunConfig(**own, **options)
        recipe = fit_recipe(configure_task(config), config, shape).recipe
        return recipe.steps_for(num_examples)[0]

    # Batches of 32: 3 epochs, or up to 50 for 300 steps.
    sizes = (64, 320, 3200, 6400)
    assert [num_steps(base, size) for size in sizes] == [6, 30, 300, 600]
    assert [num_steps(small, size) for size in sizes] == [100, 300, 300, 600]
    assert num_steps(small, 320, num_epochs=2) == 20
    assert num_steps(small, 320, num_steps=7) == 7


def test_the_score_that_chooses_is_one_that_is_reported():
    task = configured("text-classification")
    assert task.metrics_reported == ("accuracy", "macro_f1")
    task = configured("text-classification", metric="macro_f1")
    assert task.main_metric == "macro_f1"
    assert task.metrics_reported == ("macro_f1", "accuracy")
    assert configured("squad", metric="f1") == configured("squad")
    for name, known in (("text-regression", "pearson"), ("squad", "f1")):
        with pytest.raises(ValueError, match=f"{known}.* Received: metric='accuracy'"):
            configured(name, metric="accuracy")


def test_recipe_fits_the_model(capsys):
    small, base = PRESETS["albert_nano_en"], PRESETS["albert_base_v2"]
    given = FinetuningRunConfig(
        task="rte", checkpoint="a", run="b", sequence_length=200, learning_rate=1e-3
    )
    default = FinetuningRunConfig(task="rte", checkpoint="a", run="b")
    task = configure_task(given)
    # Lengths and rates that were asked for stay, the first to be refused later. The steps
    # of the paper are for wide models.
    fitted = fit_recipe(task, given, small).recipe
    assert (fitted.sequence_length, fitted.learning_rate) == (200, 1e-3)
    assert (fitted.num_steps, fitted.num_epochs, fitted.warmup_steps) == (None, 3, None)
    task = configure_task(default)
    assert fit_recipe(task, default, base) == task
    assert capsys.readouterr().err == ""
    assert fit_recipe(task, default, small).recipe.sequence_length == 128
    lines = capsys.readouterr().err.splitlines()
    assert [line[:30] for line in lines] == ["examples have at most 128 toke"]
    decays = [fit_recipe(task, default, s).recipe.layer_decay for s in (small, base)]
    assert decays == [0.9, 1]
    for changes in ({"layer_decay": 1.0}, {"random_weights": True}):
        config = dataclasses.replace(default, **changes)
        assert fit_recipe(task, config, small).recipe.layer_decay == 1


def test_rate_fits_the_model_and_the_steps(capsys):
    shapes = {name: PRESETS[name] for name in ("albert_mini_en", "albert_base_v2")}

    def rate(name, num_steps, **options):
        config = FinetuningRunConfig(task="rte", checkpoint="a", run="b", **options)
        recipe = dataclasses.replace(configure_task(config).recipe, num_steps=num_steps)
        return fit_rate(recipe, config, shapes[name]).learning_rate

    own = TASKS["rte"].recipe.learning_rate
    assert rate("albert_base_v2", 300) == own
    assert rate("albert_mini_en", 300, learning_rate=7e-4) == 7e-4
    assert capsys.readouterr().err == ""
    rates = [rate("albert_mini_en", steps) for steps in (300, 2000, 9000)]
    assert rates == [1e-3, 7.1e-4, 5e-4]
    assert "0.00071, the rule for width 256, 3 layers and" in capsys.readouterr().err
    assert rate("albert_mini_en", 300, model_options={"num_layers": 6}) == 5e-4
    assert rate("albert_base_v2", 9000, random_weights=True) == 1e-4
    assert "width 768, 12 layers, random weights" in capsys.readouterr().err


def test_other_steps_take_their_own_warm_up():
    own = TASKS["sst-2"].recipe
    assert own.warmup_steps is not None
    assert configured("sst-2").recipe == own
    recipe = configured("sst-2", num_steps=60, dropout=0.25).recipe
    assert (recipe.num_steps, recipe.warmup_steps, recipe.dropout) == (60, None, 0.25)
    recipe = configured("sst-2", num_steps=60, warmup_steps=7).recipe
    assert recipe.warmup_steps == 7
    assert configured("sst-2", num_epochs=2).recipe.num_steps is None


def test_given_files_go_before_those_of_a_folder(tmp_path):
    (tmp_path / "train.tsv").touch()
    (tmp_path / "test.tsv").touch()
    task = TASKS["sst-2"]
    assert find_files(task, tmp_path) == {"train": str(tmp_path / "train.tsv")}
    found = find_files(task, tmp_path, train="more.tsv", validation="held.tsv")
    assert found == {"train": "more.tsv", "validation": "held.tsv"}
    assert find_files(task, "tfds:mine")["train"] == "tfds:mine:train"


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("race", {"task_options": {"label_smoothing": 0.1}}, "label_smoothing for the"),
        ("squad", {"pair_column": "x"}, "the task squad, which .* pair_column="),
        (
            "sst-2",
            {"num_steps": 5, "num_epochs": 2},
            "num_steps=5. Received: num_epochs=2",
        ),
    ],
)
def test_options_that_a_task_does_not_have(task, options, message):
    with pytest.raises(ValueError, match=message):
        configured(task, **options)
