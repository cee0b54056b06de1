"""Task of a pretraining run, by its objective."""

from albert_keras.pretraining import PretrainingTask, ReplacedTokensTask
from albert_keras.runs.pretraining_config import DETECTION_OPTIONS


def make_task(config, examples, tokenizer):
    """Returns the task of a pretraining run.

    Args:
        config: `PretrainingRunConfig`.
        examples: `PretrainingDataConfig`.
        tokenizer: Tokenizer of the run.
    """
    if config.objective == "mlm":
        return PretrainingTask(examples.sentence_pairs, config.hardest_pairs)
    options = {name: getattr(config, name) for name in DETECTION_OPTIONS}
    return ReplacedTokensTask(
        sentence_pairs=examples.sentence_pairs,
        hardest_pairs=config.hardest_pairs,
        special_token_ids=tuple(map(int, tokenizer.special_token_ids)),
        **{name: value for name, value in options.items() if value is not None},
    )
