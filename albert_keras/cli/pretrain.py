r"""Pretrain on masked pieces and sentence pairs, from prepared data or from text.

From text, token ids are stored in the run once, and pairs and masks are drawn anew in
each epoch; with --static, records of finished examples are.

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

from albert_keras.cli.corpus_arguments import add_corpus_arguments
from albert_keras.cli.model_arguments import add_model_arguments, model_config
from albert_keras.cli.prepare_data import (
    add_data_arguments,
    add_worker_arguments,
    data_config,
    flag_of,
    given_data_options,
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
from albert_keras.data import PretrainingDataConfig, read_description
from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from albert_keras.tasks import PretrainingTask, unigram_loss
from albert_keras.training import get_strategy


def add_arguments(parser):
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", help="folder of `prepare-data`")
    source.add_argument(
        "--text", nargs="+", help="text files; their data goes to the run"
    )
    parser.add_argument(
        "--static", action="store_true", help="of text, make examples once and for all"
    )
    parser.add_argument("--validation-data", help="folder of held-out data")
    add_tokenizer_arguments(parser, required=True)
    add_training_arguments(parser)
    add_model_arguments(parser)
    add_corpus_arguments(parser)
    add_data_arguments(parser)
    add_worker_arguments(parser)
    parser.set_defaults(batch_size=64, num_steps=125000)


def run(arguments):
    check_same_run(arguments)
    tokenizer = load_tokenizer(arguments.tokenizer, arguments)
    config = model_config(arguments, vocabulary_size=tokenizer.vocabulary_size())
    validation = arguments.validation_data
    if validation:
        check_data(validation, tokenizer, config)
    data = find_data(arguments, tokenizer, config)
    examples = example_config(data, arguments)
    check_data(data, tokenizer, config, examples)
    pairs = (examples or read_config(data)).sentence_pairs
    task = PretrainingTask(sentence_pairs=pairs != "none")
    keras.utils.set_random_seed(arguments.seed)

    def make_dataset(step):
        return task.make_dataset(
            data,
            arguments.batch_size,
            seed=arguments.seed,
            start_step=step,
            config=examples,
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
    data = str(pathlib.Path(data).resolve())
    write_description(arguments, task="pretraining", data=data)
    trainer.fit(model, make_dataset, held_out)
    save_results(arguments.run, model, tokenizer)

    results = {"run": arguments.run, "parameters": backbone.count_params()}
    if validation:
        with strategy.scope():
            results.update(task.evaluate(model, validation, arguments.batch_size))
        results["unigram_loss"] = unigram_loss(data, validation, config.vocabulary_size)
    print_results("pretraining", results, arguments.json)


def find_data(arguments, tokenizer, config):
    """Returns the data's folder, after preparing that of a text which has none yet."""
    if arguments.data:
        return arguments.data
    # Before the long work, not after it.
    check_fits(tokenizer, config, data_config(arguments).sequence_length)
    folder = pathlib.Path(arguments.run, "records" if arguments.static else "tokens")
    prepare(arguments.text, tokenizer, folder, arguments, dynamic=not arguments.static)
    return folder


def example_config(folder, arguments):
    """Returns how examples are made of token ids; None if they are made already.

    Raises:
        ValueError: If options are given that the data is past.
    """
    description = read_description(folder) or {}
    given = given_data_options(arguments) if arguments.data else {}
    if arguments.data and arguments.static:
        given["static"] = True
    if description.get("kind") == "tokens":
        late = given.keys() & {"static", "word_segmenter", "num_shards", "dupe_factor"}
    else:
        late = given.keys()
    if late:
        raise ValueError(
            "Data is what it was prepared as: these options go with --text. "
            f"Received: {', '.join(map(flag_of, sorted(late)))} with --data "
            f"{arguments.data}."
        )
    if description.get("kind") != "tokens":
        return None
    return dataclasses.replace(read_config(folder), **given)


def read_config(folder):
    """Returns what data was prepared for; the defaults for files that do not say."""
    description = read_description(folder) or {"config": {}}
    return PretrainingDataConfig(**description["config"])


def check_data(folder, tokenizer, config, examples=None):
    """Checks data of ours against tokenizer and model; foreign one tells too little.

    Raises:
        ValueError: If it was made with another tokenizer, or is too long.
    """
    description = read_description(folder)
    if description is None:
        return
    examples = examples or read_config(folder)
    check_fits(tokenizer, config, examples.sequence_length)
    fingerprint = description["tokenizer_fingerprint"]
    if fingerprint != tokenizer.fingerprint():
        raise ValueError(
            "The data must be made with the given tokenizer. "
            f"Received: '{folder}' of {description['vocabulary_size']} pieces, "
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
