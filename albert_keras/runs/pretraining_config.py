"""Configuration of a pretraining run, and its defaults from a recipe."""

import dataclasses

from albert_keras.config import PRESETS
from albert_keras.options import Range, check_unused, given_of, option
from albert_keras.pretraining import RECIPES, read_description
from albert_keras.pretraining.phases import Phase
from albert_keras.pretraining.token_store import is_store
from albert_keras.runs.preparation import PreparationOptions
from albert_keras.runs.reporting import note
from albert_keras.runs.training import PRECISIONS, ShapeOptions, TrainingOptions

# Batch size of a run without a recipe, for the memory of one machine.
DEFAULT_BATCH_SIZE = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingRunConfig(TrainingOptions, PreparationOptions, ShapeOptions):
    """Configuration of a `PretrainingRun`, with either `data` or `text`.

    None stands for the value of the recipe. The default recipe is `small`, or `adapt`
    with a checkpoint; with a preset it is the paper's, scaled to batch size 64.

    Example:

    ```python
    config = PretrainingRunConfig(
        run="runs/small", text=["corpus/"], tokenizer="30k.model",
        preset="albert_base_v2", model_options={"num_layers": 4}, num_steps=3000
    )
    ```
    """

    kind = "pretraining"

    data: str | None = option(
        "folder of `prepare-data` to train on (default: none, see --text)", None
    )
    text: tuple | None = option(
        "texts to train on, prepared in the run (default: none, see --data)", None
    )
    recipe: str | None = option(
        "recipe with the defaults of other options (default: small, or adapt with a "
        "checkpoint; with a preset the paper's, scaled to batch size 64)",
        None,
        choices=RECIPES,
    )
    validation_data: str | None = option(
        "folder of held-out data (default: documents held out of --text or --data)",
        None,
    )
    checkpoint: str | None = option(
        "weights to start from, in any format of `convert` (default: random)", None
    )
    preset: str | None = option(
        "size of the model (default: the recipe's)", None, choices=PRESETS
    )
    hardest_pairs: float = option(
        "share of the sentence pairs to train on: those with the largest loss",
        1.0,
        Range(above=0, maximum=1),
    )
    precision: str | None = option(
        "Keras dtype policy (default: the recipe's)", None, choices=PRECISIONS
    )
    optimizer: str | None = option(
        "optimizer (default: the recipe's)", None, choices=("lamb", "adamw", "muon")
    )
    phases: tuple | None = option(
        "phases under one learning rate schedule, each num_steps=N,batch_size=N and, "
        "if they differ from the run's, num_layers=N (applications of the shared layer), "
        "sequence_length=N and other options of examples (default: the recipe's)",
        None,
    )

    def __post_init__(self):
        super().__post_init__()
        if (self.data is None) == (self.text is None):
            raise ValueError(
                "Exactly one of `data` and `text` must be given. "
                f"Received: data={self.data!r}, text={self.text!r}."
            )
        if not (self.tokenizer or self.checkpoint):
            raise ValueError(
                "There must be a tokenizer, or a checkpoint with one. Received: neither. "
                "Train one by `train-vocabulary`, or take that of albert_base_v2."
            )


def choose_recipe(config, begun):
    """Returns the `PretrainingRecipe` of a run, and its configuration with no gaps.

    The configuration gets no learning rate and warm-up, which depend on other options.

    Args:
        config: `PretrainingRunConfig`.
        begun: dict, `run.json` of the run to resume, which keeps its recipe; or empty.

    Raises:
        ValueError: If the optimizer is not the recipe's and has no learning rate.
    """
    changes_examples = bool(config.text) or (
        config.recipe and is_store(read_description(config.data))
    )
    if not config.recipe:
        recipe = None if config.preset else "small"
        if begun:
            recipe = begun["config"]["recipe"]
        elif config.checkpoint:
            recipe = "adapt"
        config = dataclasses.replace(config, recipe=recipe)
    if config.recipe:
        recipe = RECIPES[config.recipe]
        measured = recipe.measured or "not measured here"
        note(f"{config.recipe}: {recipe.text}; {measured}")
    else:
        recipe = RECIPES["paper"].resized(batch_size=DEFAULT_BATCH_SIZE)
    phases = tuple(map(Phase.parse, config.phases or ()))
    if phases:
        check_unused(vars(config), ["num_steps"], "phases, which have their own steps")
        num_steps = sum(phase.num_steps for phase in phases)
        config = dataclasses.replace(config, num_steps=num_steps)
    names = ["precision", "batch_size", "num_steps", "optimizer"]
    if not config.checkpoint:
        names.append("preset")
    missing = {n: getattr(recipe, n) for n in names if getattr(config, n) is None}
    if config.recipe and changes_examples:
        missing["data_options"] = {**recipe.data_options, **config.data_options}
    config = dataclasses.replace(config, **missing)
    if config.optimizer != recipe.optimizer and config.learning_rate is None:
        raise ValueError(
            "Another optimizer than the recipe's needs a `learning_rate`. Received: "
            f"{config.optimizer}; {recipe.learning_rate:.3g} is for {recipe.optimizer}."
        )
    given = given_of(config, ("optimizer", "learning_rate", "warmup_steps"))
    recipe = recipe.resized(config.batch_size, config.num_steps)
    recipe = dataclasses.replace(recipe, **given, phases=phases or recipe.phases)
    if recipe.phases:
        num_steps = sum(phase.num_steps for phase in recipe.phases)
        recipe = dataclasses.replace(recipe, num_steps=num_steps)
        phases = tuple(map(str, recipe.phases))
        config = dataclasses.replace(config, num_steps=num_steps, phases=phases)
    return recipe, config
