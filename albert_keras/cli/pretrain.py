r"""Pretrain masked tokens and sentence pairs, from prepared data or from text.

From text, token ids are stored in the run once, and pairs and masks are drawn again in
each epoch; with --static, finished examples are stored.

A recipe sets the options that are not given: shape, float type, optimizer, batch, steps,
rate, and how examples are made from text or token ids (finished examples do not change).
With another batch its rate is scaled by the square root, with other steps its warm-up
too. Without a recipe, the paper's is scaled to batch 64.

A checkpoint's shape stays, but for its positions: where --max-sequence-length asks for
more, the existing ones are repeated.

examples:
  albert-keras pretrain --data records/ --validation-data held_out/ \
      --tokenizer 30k.model --preset albert_base_v2 --run runs/base --num-steps 125000
  albert-keras pretrain --text corpus/ --tokenizer 30k.model --run runs/small \
      --preset albert_base_v2 --num-layers 4 --hidden-dim 256 --num-steps 3000
  KERAS_BACKEND=jax albert-keras pretrain --data records/ --tokenizer 30k.model \
      --run runs/base --strategy data_parallel
  albert-keras pretrain --text corpus/ --tokenizer 8k.model --run runs/short \
      --recipe two_cores --max-sequence-length 32
  albert-keras pretrain --text corpus/ --tokenizer 8k.model --run runs/nano \
      --recipe two_cores_long --checkpoint runs/short --max-sequence-length 128
  albert-keras pretrain --text clinical/ --checkpoint albert_base_v2/ \
      --tokenizer 30k-clean.model --run runs/clinical --learning-rate 0.0002
"""

from albert_keras import runs
from albert_keras.cli.options import (
    EXAMPLES_GROUP,
    MODEL_GROUP,
    TRAINING_GROUPS,
    add_dry_run,
    add_option,
    add_options,
    config_from,
)
from albert_keras.cli.results import print_dry_run, print_results
from albert_keras.runs.preparation import CORPUS_OPTIONS, WORKER_OPTIONS
from albert_keras.runs.pretraining_config import PretrainingRunConfig

FIRST = ("tokenizer", "run", "recipe", "num_steps", "batch_size", "learning_rate")
GROUPS = {
    "model": ("preset", "checkpoint"),
    "data": ("validation_data", "static", *CORPUS_OPTIONS),
    "workers": WORKER_OPTIONS,
    **TRAINING_GROUPS,
    **MODEL_GROUP,
    **EXAMPLES_GROUP,
}


def add_arguments(parser):
    source = parser.add_mutually_exclusive_group(required=True)
    for name in ("data", "text"):
        add_option(source, PretrainingRunConfig, name)
    add_options(parser, PretrainingRunConfig, FIRST, GROUPS)
    add_dry_run(parser)


def run(arguments):
    pretraining = runs.PretrainingRun(config_from(arguments, PretrainingRunConfig))
    if arguments.dry_run:
        print_dry_run(pretraining.dry_run(), arguments.json)
    else:
        print_results("pretraining", pretraining.fit(), arguments.json)
