"""Turn a Google TensorFlow 1 or Hugging Face checkpoint into a preset folder.

The source is told from the files. The folder loads with
`AlbertPretrainer.from_preset`, `finetune --checkpoint` and keras-hub's own loaders.

example:
  albert-keras convert albert_base_v2/ --tokenizer 30k-clean.model --output presets/base
"""

from albert_keras.cli.results import print_results
from albert_keras.cli.run_folder import check_fits
from albert_keras.cli.tokenizer_arguments import (
    add_tokenizer_arguments,
    load_tokenizer,
)
from albert_keras.converters import load_checkpoint
from albert_keras.files import atomic_folder, check_replaceable_folder

HEADS = {"pretraining": "pretraining", "classifier": "sequence_classification"}


def add_arguments(parser):
    parser.add_argument("checkpoint", help="folder, or prefix of a Google checkpoint")
    parser.add_argument("--output", required=True, help="preset folder to write")
    parser.add_argument("--head", default="pretraining", choices=[*HEADS, "none"])
    add_tokenizer_arguments(parser)


def run(arguments):
    check_replaceable_folder(arguments.output, "config.json")
    tokenizer = None
    if arguments.tokenizer:
        tokenizer = load_tokenizer(arguments.tokenizer, arguments)
    model = load_checkpoint(arguments.checkpoint, head=HEADS.get(arguments.head))
    backbone = model.backbone if arguments.head != "none" else model
    if tokenizer:
        check_fits(tokenizer, backbone.albert_config, sequence_length=1)
    with atomic_folder(arguments.output) as folder:
        model.save_to_preset(str(folder))
        if tokenizer:
            tokenizer.save_to_preset(str(folder))
    results = {
        "output": arguments.output,
        "parameters": model.count_params(),
        "config": backbone.albert_config.to_dict(),
    }
    print_results("conversion", results, arguments.json)
