r"""Pretrain on masked tokens and sentence pairs, from prepared data or from text.

Text becomes a token store in the run's folder. Pairs and masks are drawn again in each
epoch.

A recipe has the defaults of other options: model size, precision, optimizer, batch size,
steps, learning rate, and how to make examples from text or token ids (finished examples
do not change). Another batch size scales its learning rate by the square root; another
number of steps also scales its warm-up. The recipes are at the end of this help.

Some documents of the text are held out, and the results are the losses on them. If --data
has no held-out documents, or to measure on others, use --validation-data.

Phases are parts of a run under one learning rate schedule, each with its own rows, masks,
batch size and depth. The first phases may apply a shared layer fewer times, because a
shallow model learns faster, and a deeper one continues from it. Positions that a phase
does not train are copies of the trained ones.

A checkpoint keeps its size, except its number of positions: --max-sequence-length may be
larger, and the existing positions are then repeated.

examples:
  albert-keras pretrain --text news.jsonl --tokenizer albert_nano_en --run runs/news
  albert-keras pretrain --text news.jsonl --checkpoint albert_base_v2 --run runs/news
  albert-keras pretrain --data tokens/ \
      --tokenizer 30k.model --preset albert_base_v2 --run runs/base --num-steps 125000
  albert-keras pretrain --text corpus/ --tokenizer 30k.model --run runs/small \
      --preset albert_base_v2 --num-layers 4 --hidden-dim 256 --num-steps 3000
  KERAS_BACKEND=jax albert-keras pretrain --data tokens/ --tokenizer 30k.model \
      --run runs/base --strategy data_parallel
  albert-keras pretrain --text corpus/ --tokenizer 8k.model --run runs/short \
      --recipe two_cores --max-sequence-length 32
  albert-keras pretrain --text corpus/ --tokenizer 8k.model --run runs/nano \
      --recipe two_cores_long --checkpoint runs/short --max-sequence-length 128
  albert-keras pretrain --text corpus/ --tokenizer 8k.model --run runs/grown --phases \
      num_steps=2000,batch_size=64,sequence_length=32,num_layers=1 \
      num_steps=2000,batch_size=64,sequence_length=32 num_steps=2000,batch_size=32
"""

import textwrap

from albert_keras import runs
from albert_keras.cli.options import add_dry_run, add_option, add_options, config_from
from albert_keras.cli.results import train
from albert_keras.presets.hub import check_known
from albert_keras.pretraining import RECIPES
from albert_keras.runs.pretraining_config import PretrainingRunConfig

USAGE = "(--text TEXT ... | --data FOLDER) --run FOLDER [options]"


def add_arguments(parser):
    source = parser.add_mutually_exclusive_group(required=True)
    for name in ("data", "text"):
        add_option(source, PretrainingRunConfig, name)
    add_options(parser, PretrainingRunConfig, leave_out=("data", "text"))
    add_dry_run(parser)
    parser.epilog = describe_recipes()


def describe_recipes():
    """Returns a paragraph for each recipe, with its purpose and defaults."""
    paragraphs = []
    for name, recipe in RECIPES.items():
        length = recipe.data_options.get("sequence_length", "default")
        text = (
            f"{name}: {recipe.text}. {recipe.preset}, {recipe.optimizer}, rate "
            f"{recipe.learning_rate:.3g}, batch {recipe.batch_size}, {recipe.num_steps} "
            f"steps, length {length}"
        )
        if recipe.phases:
            text += f", in phases {' '.join(map(str, recipe.phases))}"
        indents = {"initial_indent": "  ", "subsequent_indent": "      "}
        paragraphs.append(textwrap.fill(text, 88, **indents))
    return "\n".join(["recipes:", *paragraphs])


def run(arguments):
    # Checks that need no Keras, which the run imports.
    config = config_from(arguments, PretrainingRunConfig)
    if config.checkpoint:
        check_known(config.checkpoint)
    if config.text:
        config.open_corpus(config.text)
    train("pretraining", runs.PretrainingRun(config), arguments)
