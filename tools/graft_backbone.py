#!/usr/bin/env python3
"""Puts the encoder of a fine-tuned run under the pretraining heads of a shipped model.

The output is a checkpoint for `pretrain`, which then fits the heads to the encoder. It
has as many layers as the run. The log and the figures are those of the shipped model, so
that `ship_model.py` describes the whole training.

example:
  tools/graft_backbone.py saved_models/albert_mini_en run/answers grafted
"""

import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras.converters import change_architecture, load_checkpoint
from tools.parser import new_parser


def main(argv=None):
    """Writes the checkpoint."""
    parser = new_parser(__doc__)
    parser.add_argument("shipped", type=pathlib.Path, help="folder of `ship_model.py`")
    parser.add_argument("run", help="run of `finetune` from this model")
    parser.add_argument("output", type=pathlib.Path, help="folder")
    arguments = parser.parse_args(argv)
    encoder = load_checkpoint(arguments.run).backbone
    model = load_checkpoint(arguments.shipped, head="pretraining")
    model = change_architecture(model, num_layers=encoder.num_layers)
    model.backbone.set_weights(encoder.get_weights())
    model.save_to_preset(str(arguments.output))
    for name in ("results.json", "log.jsonl"):
        shutil.copy(arguments.shipped / name, arguments.output)


if __name__ == "__main__":
    main()
