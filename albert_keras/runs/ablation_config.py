"""Options of an ablation."""

import dataclasses

from albert_keras.options import Options, option
from albert_keras.runs.ablation_arms import ABLATIONS


@dataclasses.dataclass(frozen=True, kw_only=True)
class AblationConfig(Options):
    """Configuration of an `AblationRun`.

    Example:

    ```python
    config = AblationConfig(
        name="sharing", text=("corpus/",), output="ablations/sharing", budget=60
    )
    ```
    """

    name: str = option("what is varied", choices=ABLATIONS)
    text: tuple = option("files, folders, globs or TFDS names to train on")
    output: str = option(
        "folder of the runs, the table and the picture, which is resumed if it was begun"
    )
    tokenizer: str | None = option(
        "as of `pretrain` (default: a vocabulary trained on the text)", None
    )
    vocabulary_size: int = option(
        "pieces of that vocabulary", 2000, minimum=32, maximum=2**24
    )
    sequence_length: int = option(
        "tokens of a row: on short rows small models soon learn more than frequencies",
        16,
        minimum=5,
        maximum=512,
    )
    arms: tuple | None = option("arms to run (default: all)", None)
    seeds: int = option("runs of each arm", 3, minimum=2, maximum=1000)
    budget: float = option(
        "minutes that all runs together may take", 60.0, above=0, maximum=10**6
    )
    workers: int | None = option(
        "runs side by side, on one core each (default: one per core)",
        None,
        minimum=1,
        maximum=256,
    )
    checkpoint: str | None = option(
        "weights that all arms start from (default: random)", None
    )
    pretrain_option: tuple = option(
        "option of `pretrain` for all arms, such as =--num-layers=2; repeatable "
        "(default: none)",
        (),
    )

    def __post_init__(self):
        super().__post_init__()
        ablation = ABLATIONS[self.name]
        unknown = [arm for arm in self.arms or () if arm not in ablation.arms]
        if unknown or (self.arms and ablation.base not in self.arms):
            raise ValueError(
                f"The arms of {self.name} must be of {', '.join(ablation.arms)}, with "
                f"{ablation.base}, which the others are compared with. Received: "
                f"arms={', '.join(self.arms)}."
            )

    @property
    def chosen_arms(self):
        """The `Arm`s to run, by name."""
        arms = ABLATIONS[self.name].arms
        return {name: arms[name] for name in self.arms or arms}
