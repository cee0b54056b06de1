r"""Pretrain on masked pieces and sentence pairs, from records or straight from text.

The learning rate defaults to the paper's 0.00176 at batch 4096, scaled by the square
root of the batch size.

examples:
  albert-keras pretrain --data records/ --validation-data held_out/ \
      --tokenizer 30k.model --preset albert_base_v2 --run runs/base --num-steps 125000
  albert-keras pretrain --text corpus/ --tokenizer 30k.model --run runs/small \
      --preset albert_base_v2 --num-layers 4 --hidden-dim 256 --num-steps 3000
"""

import pathlib

import keras

from albert_keras.cli.prepare_data import add_data_arguments, prepare
from albert_keras.cli.results import note, print_results
from albert_keras.cli.run_folder import (
    add_training_arguments,
    check_fits,
    load_tokenizer,
    make_trainer,
    save_results,
    write_description,
)
from albert_keras.config import PRESETS, SHARING, AlbertConfig
from albert_keras.data import read_description
from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from albert_keras.tasks import PretrainingTask, unigram_loss
from albert_keras.training import get_strategy

OVERRIDES = {
    "num_layers": int,
    "num_heads": int,
    "embedding_dim": int,
    "hidden_dim": int,
    "intermediate_dim": int,
    "num_groups": int,
    "num_inner_repetitions": int,
    "dropout": float,
    "attention_dropout": float,
    "max_sequence_length": int,
}


def add_arguments(parser):
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", help="folder of records, from `prepare-data`")
    source.add_argument("--text", nargs="+", help="text files; records go to the run")
    parser.add_argument("--validation-data", help="folder of held-out records")
    parser.add_argument("--tokenizer", required=True)
    add_training_arguments(parser)
    model = parser.add_argument_group("model")
    model.add_argument("--preset", default="albert_base_v2", choices=list(PRESETS))
    for name, kind in OVERRIDES.items():
        model.add_argument(f"--{name.replace('_', '-')}", type=kind)
    model.add_argument("--sharing", choices=SHARING)
    model.add_argument("--rematerialization", action="store_true", default=None)
    add_data_arguments(parser)
    parser.set_defaults(batch_size=64, num_steps=125000)


def run(arguments):
    tokenizer = load_tokenizer(arguments.tokenizer)
    config = model_config(arguments, tokenizer)
    records = arguments.data or prepare_records(arguments, tokenizer)
    description = read_description(records) or {}
    check_records(records, description, tokenizer)
    check_fits(tokenizer, config, description.get("sequence_length", 1))
    task = PretrainingTask(description.get("sentence_pairs", "sop") != "none")
    keras.utils.set_random_seed(arguments.seed)

    trainer = make_trainer(arguments, arguments.num_steps, steps_per_evaluation=5000)
    with get_strategy(arguments.strategy).scope():
        backbone = AlbertBackbone(**config.to_dict(), dtype=arguments.precision)
        model = task.build_model(backbone)
        trainer.compile(model, make_optimizer(arguments), task.losses(), task.metrics())
    write_description(
        arguments.run, arguments, task="pretraining", records=str(records)
    )
    validation = arguments.validation_data
    trainer.fit(
        model,
        lambda step: task.make_dataset(
            records, arguments.batch_size, seed=arguments.seed, start_step=step
        ),
        task.make_dataset(validation, arguments.batch_size) if validation else None,
    )
    save_results(arguments.run, model, tokenizer)
    results = {"run": arguments.run, "parameters": backbone.count_params()}
    if validation:
        results.update(task.evaluate(model, validation, arguments.batch_size))
        results["unigram_loss"] = unigram_loss(
            records, validation, config.vocabulary_size
        )
    print_results("pretraining", results, arguments.json)


def model_config(arguments, tokenizer):
    """Returns the preset with the arguments' overrides and the tokenizer's size.

    Width follows where only `--hidden-dim` is given: the feed-forward is four times it,
    and a head has 64 columns, as in the paper.
    """
    names = (*OVERRIDES, "sharing", "rematerialization")
    overrides = {name: getattr(arguments, name) for name in names}
    overrides = {name: value for name, value in overrides.items() if value is not None}
    if "hidden_dim" in overrides:
        overrides.setdefault("intermediate_dim", 4 * overrides["hidden_dim"])
        overrides.setdefault("num_heads", max(1, overrides["hidden_dim"] // 64))
    overrides["vocabulary_size"] = tokenizer.vocabulary_size()
    return AlbertConfig.from_preset(arguments.preset, **overrides)


def prepare_records(arguments, tokenizer):
    """Prepares the text's records in the run folder, unless that was done before."""
    records = pathlib.Path(arguments.run, "records")
    if (records / "dataset.json").is_file():
        note(f"records found in {records}")
    else:
        prepare(arguments.text, tokenizer, records, arguments)
    return records


def check_records(records, description, tokenizer):
    """Checks that records, where they are described, are of this vocabulary.

    Raises:
        ValueError: If they were made with a tokenizer of another size.
    """
    size = description.get("vocabulary_size", tokenizer.vocabulary_size())
    if size != tokenizer.vocabulary_size():
        raise ValueError(
            "The records must be made with the given tokenizer. "
            f"Received: '{records}' of {size} pieces, a tokenizer of "
            f"{tokenizer.vocabulary_size()}."
        )


def make_optimizer(arguments):
    """Returns LAMB with the paper's schedule, its rate scaled to the batch."""
    rate = arguments.learning_rate
    if rate is None:
        rate = 0.00176 * (arguments.batch_size / 4096) ** 0.5
    warmup_steps = arguments.warmup_steps
    if warmup_steps is None:
        warmup_steps = arguments.num_steps // 40
    note(f"learning rate {rate:.3g}, {warmup_steps} warm-up steps")
    schedule = WarmupPolynomialDecay(rate, arguments.num_steps, warmup_steps)
    return Lamb(schedule, global_clipnorm=1.0)
