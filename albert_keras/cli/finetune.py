r"""Fine-tune on labelled text, from a checkpoint.

Tasks: `sst-2` (GLUE's files) and `text-classification` (any TSV, CSV or JSONL file with
a text and a label column). Hyperparameters default to the task's recipe, for SST-2 that
of the paper's table 14.

examples:
  albert-keras finetune --task sst-2 --train SST-2/train.tsv --validation SST-2/dev.tsv \
      --checkpoint runs/base --run runs/sst2
  albert-keras finetune --task text-classification --train reviews.csv \
      --checkpoint albert_base_v2/ --tokenizer 30k-clean.model --run runs/reviews
"""

import dataclasses

import keras

from albert_keras.cli.results import note, print_results
from albert_keras.cli.run_folder import (
    add_training_arguments,
    check_fits,
    check_same_run,
    make_preprocessor,
    make_trainer,
    model_folder,
    positive_int,
    print_dry_run,
    save_results,
    write_description,
)
from albert_keras.cli.tokenizer_arguments import (
    add_tokenizer_arguments,
    load_tokenizer,
)
from albert_keras.converters import load_checkpoint
from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import AdamW, WarmupPolynomialDecay
from albert_keras.shipped import SHIPPED_MODELS
from albert_keras.tasks import TASKS
from albert_keras.training import get_strategy


def add_arguments(parser):
    parser.add_argument("--task", required=True, choices=list(TASKS))
    parser.add_argument("--train", required=True, help="TSV, CSV or JSONL file")
    parser.add_argument("--validation", help="TSV, CSV or JSONL file of held-out rows")
    parser.add_argument(
        "--checkpoint",
        required=True,
        help="run, preset, Google or Hugging Face folder, or a shipped model: "
        + ", ".join(SHIPPED_MODELS),
    )
    add_tokenizer_arguments(parser)
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="take only shape and tokenizer of the checkpoint, as a baseline",
    )
    parser.add_argument("--sequence-length", type=positive_int)
    parser.add_argument("--text-column")
    parser.add_argument("--label-column")
    parser.add_argument("--num-epochs", type=positive_int, help="for --num-steps")
    add_training_arguments(parser)


def run(arguments):
    # First, since several workers would have to find each other first.
    strategy = get_strategy(arguments.strategy)
    if strategy.num_workers > 1:
        raise ValueError(
            "Fine-tuning runs on one machine: its rows are not dealt out to workers. "
            f"Received: --strategy {arguments.strategy} with {strategy.num_workers} "
            "workers. Use `default` or `mirrored`."
        )
    check_same_run(arguments)
    task, recipe = configure_task(arguments)
    rows = task.read(arguments.train)
    validation = task.read(arguments.validation) if arguments.validation else None
    tokenizer = load_tokenizer(arguments.tokenizer or arguments.checkpoint, arguments)
    preprocessor = make_preprocessor(tokenizer, recipe.sequence_length)
    task = task.for_run(rows, preprocessor)
    keras.utils.set_random_seed(arguments.seed)

    def make_dataset(step):
        return task.make_dataset(
            rows, recipe.batch_size, seed=arguments.seed, start_step=step
        )

    num_steps, warmup_steps = recipe.steps_for(len(rows.texts))
    steps_per_epoch = max(1, len(rows.texts) // recipe.batch_size)
    trainer = make_trainer(arguments, num_steps, min(num_steps, steps_per_epoch))
    strategy.check_batch_size(recipe.batch_size)
    with strategy.scope():
        backbone = load_backbone(arguments)
        check_fits(tokenizer, backbone.albert_config, recipe.sequence_length)
        model = task.build_model(backbone)
        schedule = WarmupPolynomialDecay(recipe.learning_rate, num_steps, warmup_steps)
        optimizer = AdamW(schedule, global_clipnorm=1.0)
        trainer.compile(model, optimizer, task.losses(), task.metrics())
    if arguments.dry_run:
        return print_dry_run(trainer.dry_run(model, make_dataset), arguments.json)
    # Made now, so that a label that is not there stops the run before it begins.
    held_out = task.make_dataset(validation, recipe.batch_size) if validation else None
    note(
        f"learning rate {recipe.learning_rate:.3g}, batch {recipe.batch_size}, "
        f"{num_steps} steps of which {warmup_steps} warm up, "
        f"length {recipe.sequence_length}, labels {', '.join(task.labels)}"
    )
    write_description(
        arguments, labels=list(task.labels), recipe=dataclasses.asdict(recipe)
    )
    with strategy.scope():
        trainer.fit(model, make_dataset, held_out)
    results = {"run": arguments.run, "num_steps": num_steps}
    if validation:
        with strategy.scope():
            results.update(task.evaluate(model, validation, recipe.batch_size))
    model.preprocessor = preprocessor
    save_results(arguments.run, model, tokenizer)
    print_results(arguments.task, results, arguments.json)


def configure_task(arguments):
    """Returns the task and its recipe with the arguments' changes."""
    task = TASKS[arguments.task]
    changes = {
        field.name: getattr(arguments, field.name)
        for field in dataclasses.fields(task.recipe)
        if getattr(arguments, field.name, None) is not None
    }
    if arguments.num_epochs and not arguments.num_steps:
        changes["num_steps"] = None
    # The recipe's warm-up belongs to its own number of steps.
    if "num_steps" in changes:
        changes.setdefault("warmup_steps", None)
    recipe = dataclasses.replace(task.recipe, **changes)
    task = task.with_columns(arguments.text_column, arguments.label_column)
    return dataclasses.replace(task, recipe=recipe), recipe


def load_backbone(arguments):
    """Returns the checkpoint's backbone in the asked precision."""
    backbone = load_checkpoint(model_folder(arguments.checkpoint), head=None)
    if not arguments.random_weights and arguments.precision == "float32":
        return backbone
    config = backbone.albert_config.to_dict()
    fresh = AlbertBackbone(**config, dtype=arguments.precision)
    if not arguments.random_weights:
        fresh.set_weights(backbone.get_weights())
    return fresh
