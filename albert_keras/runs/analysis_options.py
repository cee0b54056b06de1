"""Options of the analyses of trained models."""

import dataclasses

from albert_keras.config import MAX_POSITIONS
from albert_keras.options import MAX_SEED, Options, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnalysisOptions(Options):
    """How much is analyzed, and of what."""

    num_texts: int = option("texts, the first ones", 64, minimum=1, maximum=10**6)
    sequence_length: int = option(
        "most tokens of a row", 128, minimum=4, maximum=MAX_POSITIONS
    )
    random_weights: bool = option(
        "compare with random weights, of the first model's shape", True
    )
    seed: int = option("seed of random weights", 0, minimum=0, maximum=MAX_SEED)
    num_predictions: int | None = option(
        "masked tokens of a row in training (default: 15 % of --sequence-length)",
        None,
        minimum=1,
        maximum=MAX_POSITIONS,
    )
