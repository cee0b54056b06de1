"""Named pretraining recipes, and scaling to other batch sizes."""

import dataclasses
import functools

from albert_keras.pretraining.phases import Phase


def scaled_learning_rate(learning_rate, batch_size, reference_batch_size):
    """Scales a learning rate by the square root of the batch size.

    The noise of a batch's gradient decreases with the square root of its size. With a
    much higher rate, the loss of long trainings does not decrease, or diverges.

    Example:

    >>> scaled_learning_rate(0.00176, batch_size=256, reference_batch_size=4096)
    0.00044

    Reference: You et al. 2020, Large batch optimization for deep learning, section 4.
    """
    return learning_rate * (batch_size / reference_batch_size) ** 0.5


@dataclasses.dataclass(frozen=True)
class PretrainingRecipe:
    """Hyperparameters of a pretraining run. Defaults are the paper's.

    Args:
        text: str. Suitable text and vocabulary, and the source of the values.
        measured: str. Result of a run with this package; empty if there is none.
        preset: str. Key of `PRESETS`: the size of the model, except for the vocabulary.
        precision: str. Keras dtype policy.
        batch_size: int. Number of examples in a step.
        num_steps: int. Number of steps.
        optimizer: str. `"lamb"`, or for small batches `"adamw"` or `"muon"`.
        learning_rate: float. Peak of the learning rate.
        warmup_steps: int. Steps of linear warm-up; then the rate decays linearly to 0.
        data_options: dict. Fields of `PretrainingDataConfig`.
        phases: tuple of `Phase` with `num_steps` in total; empty for a single phase.

    Reference: Lan et al. 2020, section 4.1; google-research/albert run_pretraining.py.
    """

    text: str
    measured: str = ""
    preset: str = "albert_base_v2"
    precision: str = "float32"
    batch_size: int = 4096
    num_steps: int = 125_000
    optimizer: str = "lamb"
    learning_rate: float = 0.00176
    warmup_steps: int = 3125
    data_options: dict = dataclasses.field(default_factory=dict)
    phases: tuple = ()

    @property
    def batch_sizes(self):
        """Batch sizes of all phases."""
        return [phase.batch_size for phase in self.phases] or [self.batch_size]

    def resized(self, batch_size=None, num_steps=None):
        """Returns the recipe for another batch size or number of steps.

        The learning rate is scaled by the square root of the batch size, and the warm-up
        by the number of steps. The number of steps does not depend on the batch size.

        Example:

        >>> recipe = RECIPES["paper"].resized(batch_size=64, num_steps=2000)
        >>> recipe.learning_rate, recipe.warmup_steps
        (0.00022, 50)
        """
        batch_size = batch_size or self.batch_size
        num_steps = num_steps or self.num_steps
        rate = scaled_learning_rate(self.learning_rate, batch_size, self.batch_size)
        ratios = num_steps / self.num_steps, batch_size / self.batch_size
        return dataclasses.replace(
            self,
            batch_size=batch_size,
            num_steps=num_steps,
            learning_rate=rate,
            warmup_steps=self.warmup_steps * num_steps // self.num_steps,
            phases=tuple(phase.resized(*ratios) for phase in self.phases),
        )


SHORT_ROWS = {"sequence_length": 32, "masking": "token"}

_small_recipe = functools.partial(
    PretrainingRecipe,
    preset="albert_nano_en",
    batch_size=32,
    optimizer="adamw",
    data_options={"sequence_length": 128, "masked_rate": 0.2},
)

RECIPES = {
    "paper": PretrainingRecipe(
        text="16 GB of English text, 30,000 pieces; from Lan et al. 2020, section 4.1"
    ),
    "albert_zh": PretrainingRecipe(
        text="30 GB of Chinese text, --word-segmenter jieba; from brightmart/albert_zh",
        warmup_steps=12_500,
        data_options={"masking": "whole_word", "masked_rate": 0.1},
    ),
    # Both durations are computed for 28 TFLOP/s, and not measured.
    "gpu_day": PretrainingRecipe(
        text="4 GB or more, 30,000 pieces; the paper's rate, scaled; not tested on a GPU",
        precision="mixed_bfloat16",
        batch_size=512,
        num_steps=60_000,
        learning_rate=scaled_learning_rate(0.00176, 512, 4096),
        warmup_steps=1500,
        data_options={"sequence_length": 128},
    ),
    "gpu_hour": PretrainingRecipe(
        text="100 MB or more, 30,000 pieces; between others; not tested on a GPU",
        preset="albert_small_zh",
        precision="mixed_bfloat16",
        batch_size=256,
        num_steps=15_000,
        learning_rate=0.002,
        warmup_steps=375,
        data_options={"sequence_length": 128},
    ),
    "small": _small_recipe(
        text="1 MB or more, 8,000 pieces as albert_nano_en; by trial; the default",
        measured="loss 6.01 per masked piece (unigrams 6.58) after 1000 steps, 7 minutes",
        num_steps=3000,
        learning_rate=0.002,
        warmup_steps=100,
    ),
    "adapt": PretrainingRecipe(
        text="1 MB or more of domain text; default with --checkpoint; by trial",
        measured="albert_nano_en on 5 MB of news: loss from 5.09 to 4.95 in 250 steps",
        batch_size=32,
        num_steps=1000,
        optimizer="adamw",
        learning_rate=0.0001,
        warmup_steps=50,
        data_options={"sequence_length": 128},
    ),
    # Short rows first: on long rows, such a small model learns only word frequencies and
    # topics for thousands of steps, before it attends to neighbouring words. The model
    # has 32 positions; the positions of longer rows begin as copies of them.
    "two_cores": _small_recipe(
        text="26 MB, 8,000 pieces; with --max-sequence-length 32; by trial",
        measured="loss 4.76 per masked piece of short rows in 24 minutes on one core",
        batch_size=64,
        num_steps=4000,
        learning_rate=0.002,
        warmup_steps=100,
        data_options={**SHORT_ROWS, "masked_rate": 0.2},
    ),
    "two_cores_long": _small_recipe(
        text="continues two_cores: its --checkpoint, --max-sequence-length 128; by trial",
        measured="loss 4.93 (trigrams 6.19), 63.8 ± 2.2 % of orders, in 31 more minutes",
        num_steps=2800,
        learning_rate=0.0015,
        warmup_steps=50,
    ),
    # At first the layer is applied once. With 12 applications from the start, the loss
    # stays at that of unigrams for the time that one application needs to get below it.
    "two_cores_mini": _small_recipe(
        text="100 MB, 8,000 pieces; by trial; two_cores_mini_long continues it",
        measured="loss 4.79 per masked piece (trigrams 6.18) in 2.2 hours, one core",
        preset="albert_mini_12",
        precision="mixed_bfloat16",
        batch_size=64,
        num_steps=16_700,
        learning_rate=0.0015,
        warmup_steps=400,
        phases=(
            Phase(5000, 64, 1, SHORT_ROWS),
            Phase(7500, 64, 3, SHORT_ROWS),
            Phase(2500, 32, 3),
            Phase(1200, 32, 6),
            Phase(500, 32),
        ),
    ),
    # With 3 instead of 12 applications at first, steps are 3 times as fast, and the loss
    # is the same.
    "two_cores_mini_long": _small_recipe(
        text="continues two_cores_mini, with --checkpoint of its run; by trial",
        measured="loss 4.62 per masked piece (trigrams 6.18) in 1.9 more hours, one core",
        preset="albert_mini_12",
        precision="mixed_bfloat16",
        num_steps=4550,
        learning_rate=0.0012,
        warmup_steps=200,
        phases=(Phase(2800, 32, 3), Phase(1000, 32, 6), Phase(750, 32)),
    ),
    # Whole documents of the sample fit in a row. A logistic regression on the pieces of
    # both segments gets 80 % of their orders right, and 70 % for shorter rows.
    "quickstart": PretrainingRecipe(
        text="0.2 MB, the embedded sample; 800 pieces; by trial",
        measured="79.6 ± 3.6 % of orders in 2 minutes with seed 0; 2 of 6 seeds fail",
        preset="albert_quickstart",
        batch_size=16,
        num_steps=900,
        learning_rate=0.003,
        warmup_steps=90,
        data_options={"sequence_length": 128, "short_sequence_prob": 0.0},
    ),
}
