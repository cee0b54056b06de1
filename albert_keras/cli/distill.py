r"""Train a student with fewer layers on the outputs of its teacher.

The student starts as a copy of the teacher that applies its shared layers fewer times. By
default it applies them half as often, has as many parameters, and needs half the time.
With --sharing none each of its layers is its own copy. If the teacher's layers are not
shared, the student gets every second one.

A student of a `finetune` run learns from labels, the teacher's logits and its hidden
states at matched depths. Defaults for task, data and recipe are those of the teacher's
run. A student of a pretrained model learns from masked words, the teacher's logits for
them and its last hidden states, as in DistilBERT. The result is a run like the runs of
`finetune` and `pretrain`.

examples:
  albert-keras distill --teacher runs/sst2 --run runs/sst2_fast
  albert-keras distill --teacher runs/sst2 --num-layers 4 --sharing none --run runs/wide
  albert-keras distill --teacher albert_base_v2 --data records/ --num-layers 6 \
      --run runs/base_6 --num-steps 50000 --learning-rate 5e-4
"""

from albert_keras import runs
from albert_keras.cli.options import add_dry_run, add_options, config_from
from albert_keras.cli.results import train
from albert_keras.presets.hub import check_known
from albert_keras.runs.distillation_config import DistillationRunConfig

USAGE = "--teacher MODEL --run FOLDER [options]"


def add_arguments(parser):
    add_options(parser, DistillationRunConfig)
    add_dry_run(parser)


def run(arguments):
    config = config_from(arguments, DistillationRunConfig)
    check_known(config.teacher)
    train("distillation", runs.DistillationRun(config), arguments)
