"""Options of the analyses of trained models."""

import dataclasses

from albert_keras.config import MAX_POSITIONS
from albert_keras.options import SEEDS, Options, Range, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnalysisOptions(Options):
    """How much is analyzed, and of what."""

    num_texts: int = option("texts, the first ones", 64, Range(1, 10**6))
    sequence_length: int = option("most tokens of a row", 128, Range(4, MAX_POSITIONS))
    random_weights: bool = option(
        "compare with random weights, of the first model's shape", True
    )
    seed: int = option("seed of random weights", 0, SEEDS)
    num_predictions: int | None = option(
        "masked tokens of a row in training (default: 15 % of --sequence-length)",
        None,
        Range(1, MAX_POSITIONS),
    )
