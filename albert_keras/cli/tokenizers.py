"""Options for the tokenizer of a model that has its own, or may have none."""

from albert_keras.cli.options import add_option, config_from
from albert_keras.runs.preparation import TokenizerOptions


def add_tokenizer_options(group):
    """Adds `--tokenizer`, `--cased` and `--keep-accents` to a group."""
    group.add_argument(
        "--tokenizer",
        help="SentencePiece model, vocab.txt, tokenizer.json, a folder with one, a "
        "preset, a name or an address (default: that of the checkpoint)",
    )
    for name in ("cased", "keep_accents"):
        add_option(group, TokenizerOptions, name)


def given_tokenizer(arguments, checkpoint):
    """Returns the tokenizer that options ask for, or `None` if there are none."""
    if not (arguments.tokenizer or arguments.cased or arguments.keep_accents):
        return None
    options = config_from(arguments, TokenizerOptions)
    return options.load_tokenizer(arguments.tokenizer or checkpoint)
