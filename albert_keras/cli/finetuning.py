"""A fine-tuning run: from rows to a model folder, with restarts after a collapse."""

import dataclasses
import math
import pathlib
import shutil

import keras

from albert_keras.cli.finetuning_report import save_report
from albert_keras.cli.results import note
from albert_keras.cli.run_folder import (
    check_fits,
    check_same_run,
    make_trainer,
    model_folder,
    print_dry_run,
    read_description,
    recorded_run,
    save_results,
    write_description,
)
from albert_keras.cli.task_arguments import configure_task, find_files, note_overlap
from albert_keras.cli.tokenizer_arguments import load_tokenizer
from albert_keras.converters import load_checkpoint
from albert_keras.models import AlbertBackbone, layer_rate_factors
from albert_keras.optimizers import AdamW, WarmupPolynomialDecay
from albert_keras.training import (
    CollapseGuard,
    TrainingCollapsedError,
    get_strategy,
)

# A collapsed run begins again at this share of its rate.
RESTART_FACTOR = 0.5


def finetune(arguments):
    """Runs or goes on with the run that the arguments describe.

    Returns:
        Dict of results; `None` after a dry run, which prints its own.

    Raises:
        TrainingCollapsedError: If it collapses more often than `--restarts` allows.
    """
    # First, since several workers would have to find each other first.
    strategy = get_strategy(arguments.strategy)
    if strategy.num_workers > 1:
        raise ValueError(
            "Fine-tuning runs on one machine: its rows are not dealt out to workers. "
            f"Received: --strategy {arguments.strategy} with {strategy.num_workers} "
            "workers. Use `default` or `mirrored`."
        )
    check_same_run(arguments)
    run = FinetuningRun(arguments, strategy)
    if arguments.dry_run:
        return run.dry_run()
    while True:
        try:
            return run.train()
        except TrainingCollapsedError as error:
            if len(run.restarts) >= arguments.restarts:
                raise
            run.restart(error)


class FinetuningRun:
    """What stays the same over the restarts of a run: task, rows, recipe.

    Args:
        arguments: Namespace of `finetune`.
        strategy: `Strategy`.
    """

    def __init__(self, arguments, strategy):
        self.arguments = arguments
        self.strategy = strategy
        task = configure_task(arguments.task, arguments)
        sources = find_files(task, arguments)
        rows = task.read(sources["train"])
        tokenizer = load_tokenizer(
            arguments.tokenizer or arguments.checkpoint, arguments
        )
        recorded = recorded_run(arguments.run)
        facts = {name: recorded[name] for name in task.facts if name in recorded}
        self.task = task.for_run(rows, tokenizer, **facts)
        self.recipe = task.recipe
        self.train_rows = self.task.prepare(rows, training=True)
        for line in self.task.notes(self.train_rows):
            note(line)
        self.held_out = {
            name: self.task.prepare(self.task.read(path))
            for name, path in sources.items()
            if name.startswith("validation")
        }
        self.num_known = {
            name: note_overlap(self.task, rows, prepared.rows)
            for name, prepared in self.held_out.items()
        }
        if "validation" not in self.held_out:
            note(
                "no held-out rows: nothing will be measured, the last weights are kept"
            )
        check_patience(arguments.patience, self.held_out)
        self.restarts = recorded.get("restarts", [])
        self.batch_multiple = strategy.num_replicas * arguments.micro_batches
        check_batch_multiple(recorded, self.batch_multiple)
        num_examples = self.train_rows.examples.num_examples
        check_examples(num_examples, sources["train"])
        self.num_steps, self.warmup_steps = self.recipe.steps_for(num_examples)
        self.trainer = make_trainer(
            arguments,
            strategy,
            self.num_steps,
            self._steps_per_evaluation(num_examples),
            best_metric=f"val_{self.task.main_metric}",
            patience=arguments.patience,
        )

    @property
    def learning_rate(self):
        """The recipe's rate, lowered by each restart."""
        return self.recipe.learning_rate * RESTART_FACTOR ** len(self.restarts)

    def dry_run(self):
        """Measures some steps, and prints what was measured."""
        model = self._compiled_model()
        measured = self.trainer.dry_run(model, self._make_dataset)
        buckets = self.task.buckets(
            self.train_rows, self.recipe.batch_size, **self._batching()
        )
        shapes = zip(buckets.batch_sizes, buckets.lengths, strict=True)
        measured["batches"] = [list(shape) for shape in shapes]
        print_dry_run(measured, self.arguments.json)

    def train(self):
        """Trains to the end, from the newest checkpoint if there is one.

        Returns:
            Dict of results.
        """
        model = self._compiled_model()
        self._note_recipe()
        self._write_description()
        held_out = self.held_out.get("validation")
        evaluate = held_out and (lambda: self._evaluate(model, held_out))
        self.trainer.fit(model, self._make_dataset, evaluate, guards=self._guards())
        results = {"run": self.arguments.run, "num_steps": self.num_steps}
        if held_out:
            scores, predictions = self._final_results(model)
            results |= {"main_metric": self.task.main_metric, **scores}
        save_results(self.arguments.run, self.task.servable(model), self.task.tokenizer)
        # After the model, which no report or picture may cost.
        if held_out:
            save_report(self.arguments.run, self.task, held_out, predictions)
        return results

    def restart(self, error):
        """Puts a collapsed run's files aside, and lowers the rate of the next one."""
        collapsed = {
            "step": error.step,
            "learning_rate": self.learning_rate,
            "reason": error.reason,
        }
        self.restarts.append(collapsed)
        note(
            f"{error.reason} Restart {len(self.restarts)} at {self.learning_rate:.3g}."
        )
        folder = pathlib.Path(self.arguments.run)
        aside = folder / f"collapsed-{len(self.restarts)}"
        # There already, if a restart was killed: then the same collapse came again.
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        for name in ("checkpoints", "log.jsonl", "tensorboard"):
            if (folder / name).exists():
                (folder / name).rename(aside / name)
        self._write_description()

    def _steps_per_evaluation(self, num_examples):
        """An epoch's steps, or a few more or less, so that the last evaluation is not
        just after the one before.
        """
        num_epochs = self.num_steps * self.recipe.batch_size / num_examples
        return math.ceil(self.num_steps / max(1, round(num_epochs)))

    def _compiled_model(self):
        arguments, recipe = self.arguments, self.recipe
        self.strategy.check_batch_size(recipe.batch_size)
        keras.utils.set_random_seed(arguments.seed)
        with self.strategy.scope():
            backbone = load_backbone(arguments, recipe.dropout)
            config = backbone.albert_config
            check_fits(self.task.tokenizer, config, recipe.sequence_length)
            model = self.task.build_model(backbone)
            freeze(backbone, arguments.freeze)
            schedule = WarmupPolynomialDecay(
                self.learning_rate, self.num_steps, self.warmup_steps
            )
            optimizer = AdamW(
                schedule,
                weight_decay=arguments.weight_decay,
                global_clipnorm=1.0,
                rate_factors=_rate_factors(config, arguments.layer_decay),
            )
            self.trainer.compile(
                model, optimizer, self.task.losses(), self.task.metrics()
            )
        return model

    def _make_dataset(self, step):
        return self.task.make_dataset(
            self.train_rows,
            self.recipe.batch_size,
            seed=self.arguments.seed,
            start_step=step,
            **self._batching(),
        )

    def _batching(self):
        # TPUs compile a step for one shape.
        is_padded = self.arguments.pad_to_maximum or self.arguments.strategy == "tpu"
        return {"by_length": not is_padded, "multiple": self.batch_multiple}

    def _evaluate(self, model, prepared):
        return self.task.evaluate(model, prepared, self.recipe.batch_size)

    def _guards(self):
        if not self.arguments.collapse_guard:
            return {}
        guard = CollapseGuard(
            self.task.prior_loss(self.train_rows),
            # All models give one answer at first: short runs are not judged.
            max(self.warmup_steps, self.num_steps // 5, 100),
            num_steps=max(200, self.num_steps // 3),
        )
        return {"collapse": guard}

    def _final_results(self, model):
        results = {}
        if self.arguments.keep == "best":
            best = self.trainer.restore_best(model)
            results["best_step"] = best.step if best else self.num_steps
        predictions = {
            name: self.task.predict(model, prepared, self.recipe.batch_size)
            for name, prepared in self.held_out.items()
        }
        self.task = self.task.fitted(
            self.held_out["validation"], predictions["validation"]
        )
        # With what was fitted.
        self._write_description()
        for name, prepared in self.held_out.items():
            scores = self.task.score(prepared, predictions[name])
            results.update(scores if name == "validation" else {name: scores})
        return results, predictions["validation"]

    def _note_recipe(self):
        recipe = self.recipe
        dropout = "the checkpoint's" if recipe.dropout is None else recipe.dropout
        note(
            f"learning rate {self.learning_rate:.3g}, batch {recipe.batch_size}, "
            f"{self.num_steps} steps of which {self.warmup_steps} warm up, length "
            f"{recipe.sequence_length}, dropout {dropout}, before the head "
            f"{recipe.classifier_dropout}; "
            f"{self.train_rows.examples.num_examples} training examples"
        )
        if recipe.starts_from not in (None, task_of_run(self.arguments.checkpoint)):
            note(
                f"the paper starts {self.arguments.task} from a run of "
                f"{recipe.starts_from}: give it by --checkpoint, if there is one"
            )

    def _write_description(self):
        write_description(
            self.arguments,
            **self.task.run_facts(),
            recipe=dataclasses.asdict(
                dataclasses.replace(
                    self.recipe,
                    num_steps=self.num_steps,
                    warmup_steps=self.warmup_steps,
                )
            ),
            batch_multiple=self.batch_multiple,
            restarts=self.restarts,
            held_out_texts_in_training=self.num_known,
        )


def check_examples(num_examples, source):
    """Checks that there is something to train on.

    Raises:
        ValueError: If there is not.
    """
    if not num_examples:
        raise ValueError(
            "There must be examples to train on. "
            f"Received: none in '{source}' that can be learned from."
        )


def check_patience(patience, held_out):
    """Checks that what ends a run early can be seen.

    Raises:
        ValueError: If evaluations are to be waited for that never come.
    """
    if patience and "validation" not in held_out:
        raise ValueError(
            "`--patience` counts evaluations, which need held-out rows. "
            f"Received: --patience {patience} without. Give them by --validation."
        )


def task_of_run(folder):
    """Returns the task that a run folder was fine-tuned on, or `None`."""
    if not pathlib.Path(folder, "run.json").is_file():
        return None
    return read_description(folder)["arguments"].get("task")


def check_batch_multiple(recorded, batch_multiple):
    """Checks that a run goes on with the batches it was begun with.

    Raises:
        ValueError: If batches by length are now rounded to another multiple.
    """
    before = recorded.get("batch_multiple", batch_multiple)
    if before != batch_multiple:
        raise ValueError(
            "A run must go on with as many devices times micro-batches, by which its "
            f"batches are rounded. Received: {batch_multiple} (was {before}). Take "
            "another --run, or the numbers of before."
        )


def load_backbone(arguments, dropout):
    """Returns the checkpoint's backbone in the asked precision, with a dropout.

    Args:
        arguments: Namespace of `finetune`.
        dropout: float for hidden and attention dropout, or `None` to leave them.
    """
    backbone = load_checkpoint(model_folder(arguments.checkpoint), head=None)
    config = backbone.albert_config
    if dropout is not None:
        config = dataclasses.replace(config, dropout=dropout, attention_dropout=dropout)
    is_same = config == backbone.albert_config and arguments.precision == "float32"
    if is_same and not arguments.random_weights:
        return backbone
    fresh = AlbertBackbone(**config.to_dict(), dtype=arguments.precision)
    if not arguments.random_weights:
        fresh.set_weights(backbone.get_weights())
    return fresh


def freeze(backbone, part):
    """Makes a part of a backbone untrainable: `embeddings`, `backbone` or `None`."""
    if part == "embeddings":
        backbone.embedding.trainable = False
    elif part == "backbone":
        backbone.trainable = False


def _rate_factors(config, layer_decay):
    return layer_rate_factors(config, layer_decay) if layer_decay != 1 else None
