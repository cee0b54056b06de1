"""Recipes: that each can be run, and how they are scaled."""

import dataclasses

import pytest

from albert_keras import PRESETS
from albert_keras.optimizers import OPTIMIZERS, WarmupPolynomialDecay
from albert_keras.pretraining import RECIPES, PretrainingDataConfig, PretrainingRecipe


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_recipes_can_be_run(recipe):
    data = PretrainingDataConfig(**recipe.data_options)
    assert data.sequence_length <= PRESETS[recipe.preset].max_sequence_length
    schedule = WarmupPolynomialDecay(
        recipe.learning_rate, recipe.num_steps, recipe.warmup_steps
    )
    rates = [float(schedule(step)) for step in (0, recipe.warmup_steps)]
    assert rates[0] == 0 < 0.85 * recipe.learning_rate < rates[1]
    assert float(schedule(recipe.num_steps)) == 0
    assert recipe.optimizer in OPTIMIZERS
    assert recipe.text


def test_resized_recipe_keeps_its_shape():
    recipe = PretrainingRecipe(
        "a text",
        preset="albert_test",
        batch_size=12,
        num_steps=1000,
        learning_rate=0.5,
        warmup_steps=70,
        data_options={"sequence_length": 17},
    )
    assert recipe.resized() == recipe
    expected = dataclasses.replace(
        recipe, batch_size=3, num_steps=300, learning_rate=0.25, warmup_steps=21
    )
    assert recipe.resized(3, 300) == expected
    assert recipe.resized(num_steps=2000).warmup_steps == 140
    assert recipe.resized(num_steps=2000).learning_rate == 0.5
