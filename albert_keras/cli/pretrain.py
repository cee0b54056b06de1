r"""Pretrain on masked pieces and sentence pairs, from records or straight from text.

The learning rate defaults to the paper's 0.00176 at batch 4096, scaled by the square
root of the batch size.

examples:
  albert-keras pretrain --data records/ --validation-data held_out/ \
      --tokenizer 30k.model --preset albert_base_v2 --run runs/base --num-steps 125000
  albert-keras pretrain --text corpus/ --tokenizer 30k.model --run runs/small \
      --preset albert_base_v2 --num-layers 4 --hidden-dim 256 --num-steps 3000
"""

import dataclasses
import pathlib

import keras

from albert_keras.cli.model_arguments import add_model_arguments, model_config
from albert_keras.cli.prepare_data import (
    add_data_arguments,
    data_config,
    given_data_arguments,
    prepare,
)
from albert_keras.cli.results import note, print_results
from albert_keras.cli.run_folder import (
    add_training_arguments,
    check_fits,
    check_same_run,
    make_trainer,
    save_results,
    write_description,
)
from albert_keras.cli.tokenizer_arguments import (
    add_tokenizer_arguments,
    load_tokenizer,
)
from albert_keras.data import read_description
from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from albert_keras.tasks import PretrainingTask, unigram_loss
from albert_keras.training import get_strategy


def add_arguments(parser):
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", help="folder of records, from `prepare-data`")
    source.add_argument("--text", nargs="+", help="text files; records go to the run")
    parser.add_argument("--validation-data", help="folder of held-out records")
    add_tokenizer_arguments(parser, required=True)
    add_training_arguments(parser)
    add_model_arguments(parser)
    add_data_arguments(parser)
    parser.set_defaults(batch_size=64, num_steps=125000)


def run(arguments):
    check_same_run(arguments)
    tokenizer = load_tokenizer(arguments.tokenizer, arguments)
    config = model_config(arguments, vocabulary_size=tokenizer.vocabulary_size())
    records = find_records(arguments, tokenizer)
    validation = arguments.validation_data
    for source in filter(None, (records, validation)):
        check_records(source, tokenizer, config)
    pairs = (read_description(records) or {}).get("sentence_pairs", "sop")
    task = PretrainingTask(sentence_pairs=pairs != "none")
    keras.utils.set_random_seed(arguments.seed)

    def make_dataset(step):
        return task.make_dataset(
            records, arguments.batch_size, seed=arguments.seed, start_step=step
        )

    def make_validation_dataset():
        return task.make_dataset(validation, arguments.batch_size)

    trainer = make_trainer(arguments, arguments.num_steps, steps_per_evaluation=5000)
    strategy = get_strategy(arguments.strategy)
    with strategy.scope():
        backbone = AlbertBackbone(**config.to_dict(), dtype=arguments.precision)
        model = task.build_model(backbone)
        trainer.compile(model, make_optimizer(arguments), task.losses(), task.metrics())
    held_out = make_validation_dataset() if validation else None
    records = str(pathlib.Path(records).resolve())
    write_description(arguments, task="pretraining", records=records)
    trainer.fit(model, make_dataset, held_out)
    save_results(arguments.run, model, tokenizer)

    results = {"run": arguments.run, "parameters": backbone.count_params()}
    if validation:
        with strategy.scope():
            results.update(task.evaluate(model, validation, arguments.batch_size))
        results["unigram_loss"] = unigram_loss(
            records, validation, config.vocabulary_size
        )
    print_results("pretraining", results, arguments.json)


def find_records(arguments, tokenizer):
    """Returns the records' folder, after preparing those of a text that has none yet.

    Raises:
        ValueError: If options of the preparation come with records that are there.
    """
    given = given_data_arguments(arguments)
    if arguments.data:
        if given:
            raise ValueError(
                "Records are what they were prepared as: these options go with --text. "
                f"Received: {', '.join(given)} with --data {arguments.data}."
            )
        return arguments.data
    records = pathlib.Path(arguments.run, "records")
    description = read_description(records) if records.is_dir() else None
    if description is None:
        prepare(arguments.text, tokenizer, records, arguments)
    elif description["config"] != dataclasses.asdict(data_config(arguments)):
        raise ValueError(
            "The run holds records that were prepared with other options. "
            f"Received: '{records}'. Delete them, or take another --run."
        )
    else:
        note(f"records found in {records}")
    return records


def check_records(records, tokenizer, config):
    """Checks records of ours against tokenizer and model; foreign ones tell too little.

    Raises:
        ValueError: If they were made with another tokenizer, or are too long.
    """
    description = read_description(records)
    if description is None:
        return
    check_fits(tokenizer, config, description["sequence_length"])
    fingerprint = description.get("tokenizer_fingerprint", "unknown")
    if fingerprint != tokenizer.fingerprint():
        raise ValueError(
            "The records must be made with the given tokenizer. "
            f"Received: '{records}' of {description['vocabulary_size']} pieces, "
            f"fingerprint {fingerprint}; a tokenizer of "
            f"{tokenizer.vocabulary_size()}, fingerprint {tokenizer.fingerprint()}."
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
