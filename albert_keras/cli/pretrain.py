r"""Pretrain on masked pieces and sentence pairs, from prepared data or from text.

From text, token ids are stored in the run once, and pairs and masks are drawn anew in
each epoch; with --static, records of finished examples are.

A recipe sets what is not given: shape, float type, optimizer, batch, steps, rate, and
how examples are made of text or of token ids (finished records stay what they are).
With another batch its rate is scaled by the square root, with other steps its warm-up
goes along. Without a recipe, the paper's is scaled to batch 64.

A checkpoint's shape stays, but for its positions: where --max-sequence-length asks for
more, those it has are repeated.

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

import contextlib
import dataclasses
import pathlib
import tempfile

import keras

from albert_keras.analysis import trigram_loss, unigram_loss
from albert_keras.cli.corpus_arguments import CORPUS_ARGUMENTS, add_corpus_arguments
from albert_keras.cli.model_arguments import add_model_arguments
from albert_keras.cli.options import check_unused, flag_of
from albert_keras.cli.prepare_data import (
    add_data_arguments,
    add_worker_arguments,
    data_config,
    given_data_options,
    prepare,
)
from albert_keras.cli.pretraining_start import PretrainingStart
from albert_keras.cli.results import note, print_results
from albert_keras.cli.run_folder import (
    add_training_arguments,
    check_fits,
    check_same_run,
    make_trainer,
    print_dry_run,
    save_results,
    write_description,
)
from albert_keras.cli.tokenizer_arguments import (
    add_tokenizer_arguments,
    load_tokenizer,
)
from albert_keras.cli.worker_loss import workers_watched
from albert_keras.files import claimed_folder
from albert_keras.optimizers import AdamW, Lamb, WarmupPolynomialDecay
from albert_keras.pretraining import (
    RECIPES,
    PretrainingDataConfig,
    PretrainingTask,
    read_description,
)
from albert_keras.tokenizers.loading import check_vocabulary_size
from albert_keras.training import get_strategy

OPTIMIZERS = {"lamb": Lamb, "adamw": AdamW}


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
    parser.add_argument("--recipe", choices=list(RECIPES), help="see above")
    parser.add_argument(
        "--checkpoint",
        help="weights to begin with, in any format of `convert`, instead of random ones",
    )
    add_tokenizer_arguments(parser, required=True)
    add_training_arguments(parser)
    add_model_arguments(parser)
    add_corpus_arguments(parser)
    add_data_arguments(parser)
    add_worker_arguments(parser)
    parser.add_argument(
        "--optimizer", choices=OPTIMIZERS, help="that of the recipe, or lamb"
    )
    parser.set_defaults(preset=None, precision=None)


def run(arguments):
    # First, since several workers must find each other before anything is computed.
    strategy = get_strategy(arguments.strategy)
    recipe = choose_recipe(arguments)
    with dry_run_aside(arguments, strategy):
        with workers_watched(strategy, arguments.run):
            train(arguments, recipe, strategy)


def train(arguments, recipe, strategy):
    """Trains, measures and saves: what `run` is about."""
    strategy.check_batch_size(arguments.batch_size)
    check_same_run(arguments)
    if arguments.data:
        unused = (*CORPUS_ARGUMENTS, "runner", "runner_option")
        check_unused(arguments, unused, "data that is prepared")
    tokenizer = load_tokenizer(arguments.tokenizer, arguments)
    start = PretrainingStart(arguments, tokenizer.vocabulary_size())
    config = start.config
    check_vocabulary_size(tokenizer, config.vocabulary_size)
    validation = arguments.validation_data
    if validation:
        check_data(validation, tokenizer, config)
    data = find_data(arguments, tokenizer, config, strategy)
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
            shard=strategy.shard,
        )

    def make_validation_dataset():
        return task.make_validation_dataset(
            validation, arguments.batch_size, shard=strategy.shard
        )

    trainer = make_trainer(
        arguments, strategy, arguments.num_steps, steps_per_evaluation=5000
    )
    with strategy.scope():
        model = start.build(task)
        trainer.compile(model, make_optimizer(recipe), task.losses(), task.metrics())
    if arguments.dry_run:
        # All workers take part in a step.
        measured = trainer.dry_run(model, make_dataset)
        if strategy.is_chief:
            print_dry_run(measured, arguments.json)
        return
    held_out = make_validation_dataset() if validation else None
    data = str(pathlib.Path(data).resolve())
    schedule = {
        "learning_rate": recipe.learning_rate,
        "warmup_steps": recipe.warmup_steps,
    }
    if strategy.is_chief:
        write_description(arguments, task="pretraining", data=data, schedule=schedule)
    with strategy.scope():
        trainer.fit(model, make_dataset, held_out)
    if strategy.is_chief:
        save_results(arguments.run, model, tokenizer)

    results = {"run": arguments.run, "parameters": model.backbone.count_params()}
    if validation:
        with strategy.scope():
            results.update(
                task.evaluate(
                    model, validation, arguments.batch_size, shard=strategy.shard
                )
            )
    # What follows takes no other worker.
    if not strategy.is_chief:
        return
    if validation:
        results.update(ngram_losses(data, validation, tokenizer))
    print_results("pretraining", results, arguments.json)


def choose_recipe(arguments):
    """Returns the recipe as the options change it, and fills in those not given.

    Rate and warm-up are not filled in, because they follow from other options.
    """
    if arguments.recipe:
        recipe = RECIPES[arguments.recipe]
        measured = recipe.measured or "not measured here"
        note(f"{arguments.recipe}: {recipe.text}; {recipe.source}; {measured}")
    else:
        recipe = RECIPES["paper"].resized(batch_size=64)
    names = ("precision", "batch_size", "num_steps", "optimizer")
    options = {name: getattr(recipe, name) for name in names}
    if not arguments.checkpoint:
        options["preset"] = recipe.preset
    if arguments.recipe and (arguments.text or is_store(arguments.data)):
        options.update(recipe.data_options)
    for name, value in options.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    if arguments.optimizer != recipe.optimizer and arguments.learning_rate is None:
        raise ValueError(
            "Another optimizer than the recipe's needs a rate of its own. Received: "
            f"--optimizer {arguments.optimizer}, where {recipe.learning_rate:.3g} is a "
            f"rate of {recipe.optimizer}. Add --learning-rate."
        )
    given = {
        name: getattr(arguments, name)
        for name in ("optimizer", "learning_rate", "warmup_steps")
        if getattr(arguments, name) is not None
    }
    recipe = recipe.resized(arguments.batch_size, arguments.num_steps)
    return dataclasses.replace(recipe, **given)


def is_store(folder):
    """Returns whether a folder holds token ids, of which examples are still made."""
    return (read_description(folder) or {}).get("kind") == "tokens"


@contextlib.contextmanager
def dry_run_aside(arguments, strategy):
    """Takes a dry run that must write, data or logs, to a folder deleted after it.

    It sees what the run has already: checkpoints, and data that is complete.
    """
    if not (arguments.dry_run and (arguments.text or strategy.num_workers > 1)):
        yield
        return
    check_same_run(arguments)
    found = [pathlib.Path(arguments.run, "checkpoints")]
    if read_description(data_folder(arguments)) is not None:
        found.append(data_folder(arguments))
    with tempfile.TemporaryDirectory() as folder:
        for path in found:
            pathlib.Path(folder, path.name).symlink_to(path.resolve())
        arguments.run = folder
        yield


def find_data(arguments, tokenizer, config, strategy):
    """Returns the data's folder, after preparing that of a text which has none yet.

    Raises:
        ValueError: If several workers would prepare it.
    """
    if arguments.data:
        return arguments.data
    if strategy.num_workers > 1:
        raise ValueError(
            "Several workers read data that stands ready. Received: --text and "
            f"{strategy.num_workers} workers. Make it by prepare-data, on a disk that "
            "all of them see, and pass --data."
        )
    # Before the long work, not after it.
    check_fits(tokenizer, config, data_config(arguments).sequence_length)
    folder = data_folder(arguments)
    with claimed_folder(arguments.run):
        prepare(
            arguments.text, tokenizer, folder, arguments, dynamic=not arguments.static
        )
    return folder


def data_folder(arguments):
    """Returns where a run keeps the data of `--text`."""
    return pathlib.Path(arguments.run, "records" if arguments.static else "tokens")


def example_config(folder, arguments):
    """Returns how examples are made of token ids; None if they are made already.

    Raises:
        ValueError: If options are given that the data is past.
    """
    given = given_data_options(arguments) if arguments.data else {}
    if arguments.data and arguments.static:
        given["static"] = True
    if is_store(folder):
        late = given.keys() & {"static", "word_segmenter", "num_shards", "dupe_factor"}
    else:
        late = given.keys()
    if late:
        raise ValueError(
            "Data is what it was prepared as: these options go with --text. "
            f"Received: {', '.join(map(flag_of, sorted(late)))} with --data "
            f"{arguments.data}."
        )
    if not is_store(folder):
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


def ngram_losses(data, held_out, tokenizer):
    """Returns what a masked-word loss is compared with."""
    return {
        "unigram_loss": unigram_loss(data, held_out, tokenizer),
        "trigram_loss": trigram_loss(data, held_out, tokenizer),
    }


def make_optimizer(recipe):
    """Returns the recipe's optimizer, with the paper's schedule."""
    rate, warmup_steps = recipe.learning_rate, recipe.warmup_steps
    note(f"{recipe.optimizer}, learning rate {rate:.3g}, {warmup_steps} warm-up steps")
    schedule = WarmupPolynomialDecay(rate, recipe.num_steps, warmup_steps)
    return OPTIMIZERS[recipe.optimizer](schedule, global_clipnorm=1.0)
