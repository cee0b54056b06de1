"""Fine-tuning runs: training on labelled rows, with restarts and several seeds."""

import dataclasses
import functools
import math
import pathlib
import shutil
import statistics

import keras

from albert_keras import converters
from albert_keras.models import AlbertBackbone, layer_rate_factors
from albert_keras.optimizers import make_optimizer
from albert_keras.optimizers.adamw import rounded_rate
from albert_keras.options import check_unused
from albert_keras.runs.finetuning_config import SWEEP
from albert_keras.runs.finetuning_task import (
    configure_task,
    find_files,
    fingerprint_rows,
    fit_rate,
    fit_recipe,
    hold_out,
    read_rows,
    report_overlap,
    split_rows,
    warn_of_unknown_pieces,
)
from albert_keras.runs.folder import RunFolder, describe_run, save_report
from albert_keras.runs.reporting import flatten, note
from albert_keras.runs.training import (
    check_fits,
    check_micro_batches,
    check_unchanged,
    make_trainer,
)
from albert_keras.system.files import write_json
from albert_keras.training import CollapseGuard, TrainingCollapsedError, get_strategy

# A collapsed run restarts at this share of its learning rate.
RESTART_FACTOR = 0.5

# Fewer steps say nothing about a learning rate.
LEAST_TRIAL_STEPS = 50

# A run with more epochs does not evaluate after each of them.
MAX_EVALUATIONS = 50


class FinetuningRun:
    """Trains a task in a run folder, or resumes a run there.

    Example:

    ```python
    run = FinetuningRun(ak.FinetuningRunConfig(
        run="runs/sst2", task="sst-2", data="GLUE/SST-2", checkpoint="albert_base_v2",
        num_epochs=3,
    ))
    run.fit()["accuracy"]
    ```
    """

    def __init__(self, config):
        self.config = config
        self.folder, self.split_seed = RunFolder(config.run), config.seed
        # Whether it is a trial of a sweep, which measures on a part of the training rows.
        self.is_trial = False

    def fit(self):
        """Trains to the end, evaluates, and saves the model; repeats this for each seed.

        Returns:
            Dict of the scores, `run` and `num_steps`; for several seeds see `fit_seeds`.

        Raises:
            TrainingCollapsedError: If it collapses more often than `restarts` allows.
            ValueError: If data, checkpoint, options or an earlier run do not fit each
                other.
            BlockingIOError: If another process works in the run's folder.
        """
        with self.folder.claimed():
            if self.config.seeds > 1:
                return fit_seeds(self.config, type(self))
            self.prepare()
            if self.config.learning_rate == SWEEP:
                rate = self.sweep_rates()
                self.recipe = dataclasses.replace(self.recipe, learning_rate=rate)
            while True:
                try:
                    self.train()
                    return self.report()
                except TrainingCollapsedError as error:
                    if len(self.restarts) >= self.config.restarts:
                        raise
                    self._restart(error)

    def dry_run(self):
        """Measures some steps and leaves the run's folder as it is.

        Returns:
            Dict of `Trainer.dry_run`, and `batches`, pairs of a number of examples and
            their length.
        """
        self.prepare()
        self.build()
        measured = self.trainer.dry_run(self.learner, self.training_dataset)
        rows, batching = self.train_rows, self._batching()
        buckets = self.task.buckets(rows, self.recipe.batch_size, **batching)
        shapes = zip(buckets.batch_sizes, buckets.lengths, strict=True)
        return {**measured, "batches": [list(shape) for shape in shapes]}

    def prepare(self):
        """Reads and tokenizes the rows, and checks everything."""
        config = self.config
        # First, because several workers must find each other before they compute.
        self.strategy = get_strategy(config.strategy)
        if self.strategy.num_workers > 1:
            raise ValueError(
                f"Fine-tuning runs on one machine. Received: {config.strategy} with "
                f"{self.strategy.num_workers} workers. Use `default` or `mirrored`."
            )
        # The numbers of examples of all batches are multiples of it.
        self.batch_multiple = self.strategy.num_replicas * config.micro_batches
        self.folder.check_resumable(config, batch_multiple=self.batch_multiple)
        recorded = self.folder.read_if_begun()
        self.restarts = recorded.get("restarts", [])
        self._prepare_rows(recorded)
        self._prepare_trainer()

    def train(self):
        """Trains to the end, from the newest checkpoint if there is one."""
        self.build()
        self._note_recipe()
        self._write_description()
        evaluate, held_out = None, self.held_out.get("validation")
        if held_out:
            measured = self.model, held_out, self.recipe.batch_size
            evaluate = functools.partial(self.task.evaluate, *measured)
        self.trainer.fit(
            self.learner, self.training_dataset, evaluate, guards=self.guards()
        )

    def report(self):
        """Evaluates the checkpoint to keep, saves model and report; returns as `fit`."""
        results = {"run": str(self.config.run), "num_steps": self.recipe.num_steps}
        if held_out := self.held_out.get("validation"):
            scores, predictions = self._final_scores()
            results |= {"main_metric": self.task.main_metric, **scores}
        self.folder.save_model(self.task.servable(self.model), self.task.tokenizer)
        # After the model, which must not be lost if a report or picture fails.
        if not held_out:
            self.folder.save_learning_curve()
            return results
        facts = {n: results[n] for n in ("main_metric", "best_step") if n in results}
        known, folder = self.known_texts["validation"], self.folder.path
        save_report(folder, self.task, held_out, predictions, known, **facts)
        if guard := self.guards().get("collapse"):
            end = {"step": self.recipe.num_steps, "learning_rate": self.learning_rate}
            guard.judge_result(end, scores)
        return results

    @property
    def learning_rate(self):
        """The recipe's learning rate, lowered by each restart."""
        return self.recipe.learning_rate * RESTART_FACTOR ** len(self.restarts)

    def _prepare_rows(self, recorded):
        config = self.config
        task = self.configure_task()
        check_micro_batches(config.micro_batches, task.recipe.batch_size, self.strategy)
        sources = find_files(task, config.data, config.train, config.validation)
        self.training_files = fingerprint_rows(sources["train"])
        check_unchanged(self.training_files, recorded)
        rows = {name: read_rows(task, source) for name, source in sources.items()}
        # Before the tokenizer, because its error lists the known names.
        self.shape = converters.load_config(config.checkpoint)
        tokenizer = config.load_tokenizer(config.tokenizer or config.checkpoint)
        task = fit_recipe(task, config, self.shape)
        facts = {name: recorded[name] for name in task.facts if name in recorded}
        self.task = task.for_run(rows["train"], tokenizer, **facts)
        rows, self.validation_split = hold_out(
            self.task, rows, config.validation_split, self.split_seed, recorded
        )
        if self.is_trial:
            parts = split_rows(self.task, rows["train"], 0.1, config.seed)
            rows = dict(zip(("train", "validation"), parts, strict=True))
        self.train_rows = self.task.prepare(rows["train"], training=True)
        for line in self.task.notes(self.train_rows):
            note(line)
        warn_of_unknown_pieces(tokenizer, self.train_rows.examples)
        if not self.train_rows.examples.num_examples:
            raise ValueError(
                "There must be examples to train on. "
                f"Received: none in '{sources['train']}' that can be learned from."
            )
        self._prepare_held_out(rows)

    def configure_task(self):
        """Returns the task with the options of the configuration."""
        return configure_task(self.config)

    def _prepare_trainer(self):
        num_examples = self.train_rows.examples.num_examples
        num_steps, warmup_steps = self.task.recipe.steps_for(num_examples)
        recipe = dataclasses.replace(
            self.task.recipe, num_steps=num_steps, warmup_steps=warmup_steps
        )
        self.recipe = fit_rate(recipe, self.config, self.shape)
        # About once in an epoch, at equal distances: the last evaluation must not come
        # just after the one before.
        num_epochs = num_steps * self.recipe.batch_size / num_examples
        num_evaluations = min(max(1, round(num_epochs)), MAX_EVALUATIONS)
        self.trainer = make_trainer(
            self.config,
            self.strategy,
            num_steps,
            steps_per_evaluation=math.ceil(num_steps / num_evaluations),
            best_metric=f"val_{self.task.main_metric}",
        )

    def _prepare_held_out(self, rows):
        self.held_out = {
            name: self.task.prepare(part)
            for name, part in rows.items()
            if name.startswith("validation")
        }
        self.known_texts = {
            name: report_overlap(self.task, rows["train"], prepared.rows)
            for name, prepared in self.held_out.items()
        }
        if "validation" not in self.held_out:
            note(
                "no held-out rows: nothing is measured, the last weights are kept; "
                "--validation gives a file, --validation-split a share"
            )
            check_unused(vars(self.config), ["patience"], "a run without held-out rows")

    def build(self):
        """Builds the task's `model`, and compiles `learner`, which trains it."""
        config, recipe, task = self.config, self.recipe, self.task
        self.strategy.check_batch_size(recipe.batch_size)
        keras.utils.set_random_seed(config.seed)
        with self.strategy.scope():
            backbone = self.load_backbone()
            shape = backbone.albert_config
            check_fits(task.tokenizer, shape, recipe.sequence_length)
            self.model = task.build_model(backbone)
            parts = {"embeddings": backbone.embedding, "backbone": backbone}
            if config.freeze:
                parts[config.freeze].trainable = False
            if getattr(task, "early_exit", None) == "two-stage":
                add_exits_to_classifier(self.model, config)
            self.learner = self.make_learner()
            decay = recipe.layer_decay
            optimizer = make_optimizer(
                self.learning_rate,
                num_steps=recipe.num_steps,
                warmup_steps=recipe.warmup_steps,
                rate_factors=None if decay == 1 else layer_rate_factors(shape, decay),
                **config.optimizer_options(),
            )
            self.trainer.compile(self.learner, optimizer, task.losses(), task.metrics())

    def load_backbone(self):
        """Returns the backbone that training starts from."""
        return load_backbone(self.config, self.recipe.dropout)

    def make_learner(self):
        """Returns the Keras model whose `fit` trains `model`."""
        return self.task.learner_of(self.model)

    def training_dataset(self, step):
        """Returns the endless training batches from a step on."""
        return self.task.make_dataset(
            self.train_rows,
            self.recipe.batch_size,
            seed=self.config.seed,
            start_step=step,
            **self._batching(),
        )

    def _batching(self):
        # TPUs compile a step for one shape.
        is_padded = self.config.pad_to_maximum or self.config.strategy == "tpu"
        return {"by_length": not is_padded, "multiple": self.batch_multiple}

    def guards(self):
        """Returns the guards of the training, for `Trainer.fit`."""
        if not self.config.collapse_guard:
            return {}
        num_steps = self.recipe.num_steps
        guard = CollapseGuard(
            self.task.prior_loss(self.train_rows),
            # All models give one answer at first, so short runs are not judged.
            max(self.recipe.warmup_steps, num_steps // 5, 100),
            num_steps=max(200, num_steps // 3),
        )
        return {"collapse": guard}

    def _final_scores(self):
        results = {}
        if self.config.keep == "best":
            best = self.trainer.restore_best(self.learner)
            results["best_step"] = best.step if best else self.recipe.num_steps
        predictions = {
            name: self.task.predict(self.model, prepared, self.recipe.batch_size)
            for name, prepared in self.held_out.items()
        }
        self.task = self.task.fitted(
            self.held_out["validation"], predictions["validation"]
        )
        # The fitted parameters are facts in `run.json`.
        self._write_description()
        for name, prepared in self.held_out.items():
            scores = self.task.score(prepared, predictions[name])
            results.update(scores if name == "validation" else {name: scores})
        return results, predictions["validation"]

    def sweep_rates(self):
        """Returns the best of three learning rates, tried on nine tenths of the rows."""
        recorded = self.folder.read_if_begun()
        if recorded:
            return recorded["recipe"]["learning_rate"]
        folder = self.folder.path / SWEEP
        rule, num_steps = self.recipe.learning_rate, self.recipe.num_steps
        num_steps = min(num_steps, max(num_steps // 10, LEAST_TRIAL_STEPS))
        unset = dict.fromkeys(("num_epochs", "warmup_steps", "patience"))
        trial = dataclasses.replace(
            self.config, num_steps=num_steps, collapse_guard=False, **unset
        )
        scores = {}
        for rate in map(rounded_rate, (rule / 3, rule, rule * 3)):
            changes = {"learning_rate": rate, "run": str(folder / f"{rate:g}")}
            run = type(self)(dataclasses.replace(trial, **changes))
            run.is_trial = True
            scores[rate] = run.fit()[self.task.main_metric]
        shutil.rmtree(folder)
        best = max(scores, key=scores.get)
        tried = ", ".join(f"{rate:g}: {score:.4g}" for rate, score in scores.items())
        note(
            f"learning rate {best:g}: {self.task.main_metric} on a tenth of the training "
            f"rows after {trial.num_steps} steps is {tried}"
        )
        return best

    def _restart(self, error):
        """Moves the files of a collapsed run away, and lowers the learning rate."""
        collapsed = {"step": error.step, "learning_rate": self.learning_rate}
        self.restarts.append({**collapsed, "reason": error.reason})
        note(
            f"{error.reason} Restart {len(self.restarts)} at {self.learning_rate:.3g}."
        )
        aside = self.folder.path / f"collapsed-{len(self.restarts)}"
        # It exists if a restart was killed. Then the run has collapsed there again.
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        for name in ("checkpoints", "log.jsonl", "tensorboard"):
            if (self.folder.path / name).exists():
                (self.folder.path / name).rename(aside / name)
        self._write_description()

    def _note_recipe(self):
        recipe = self.recipe
        dropout = "the checkpoint's" if recipe.dropout is None else recipe.dropout
        num_examples = self.train_rows.examples.num_examples
        num_epochs = recipe.num_steps * recipe.batch_size / num_examples
        note(
            f"learning rate {self.learning_rate:.3g}, batch {recipe.batch_size}, "
            f"{recipe.num_steps} steps with {recipe.warmup_steps} of warm-up, length "
            f"{recipe.sequence_length}, dropout {dropout}, before the head "
            f"{recipe.classifier_dropout}; {num_examples} training examples, each read "
            f"{num_epochs:.3g} times (--num-epochs)"
        )
        started = describe_run(self.config.checkpoint).get("config", {})
        if recipe.starts_from not in (None, started.get("task")):
            note(
                f"the paper starts {self.config.task} from a run of "
                f"{recipe.starts_from}: give it by --checkpoint, if there is one"
            )

    def _write_description(self):
        self.folder.write(
            self.config,
            **self.task.run_facts(),
            recipe=dataclasses.asdict(self.recipe),
            training_files=self.training_files,
            validation_split=self.validation_split,
            batch_multiple=self.batch_multiple,
            restarts=self.restarts,
            held_out_texts_in_training={n: len(x) for n, x in self.known_texts.items()},
        )


def load_backbone(config, dropout):
    """Loads the backbone of a fine-tuning run's checkpoint.

    `dropout` is the rate for hidden values and attention, or None for the checkpoint's.
    """
    backbone = converters.load_checkpoint(config.checkpoint, head=None)
    if config.model_options:
        backbone = converters.change_architecture(backbone, **config.model_options)
    shape = backbone.albert_config
    if dropout is not None:
        shape = dataclasses.replace(shape, dropout=dropout, attention_dropout=dropout)
    is_same = shape == backbone.albert_config and config.precision == "float32"
    if is_same and not config.random_weights:
        return backbone
    fresh = AlbertBackbone(**shape.to_dict(), dtype=config.precision)
    if not config.random_weights:
        fresh.set_weights(backbone.get_weights())
    return fresh


def add_exits_to_classifier(model, config):
    """Copies the head of a fine-tuning run's checkpoint to the exits of a model.

    Raises:
        ValueError: If the checkpoint is not a classifier with the same labels.
    """
    checkpoint = config.checkpoint
    check_unused(
        {"num_layers": None, **dataclasses.asdict(config), **config.model_options},
        ("random_weights", "freeze", "num_layers"),
        "early_exit=two-stage, where a finished classifier stays as it is",
    )
    if converters.find_checkpoint(checkpoint).head != "sequence_classification":
        raise ValueError(
            f"Exits in two stages need a finished classifier. Received: '{checkpoint}', "
            "which is not one. Fine-tune it first, or take early_exit=joint."
        )
    classifier = converters.load_checkpoint(checkpoint, head="sequence_classification")
    same_labels = classifier.labels in (None, model.labels)
    if classifier.num_classes != model.num_classes or not same_labels:
        raise ValueError(
            "Exits must have the labels of the classifier. Received: "
            f"{model.labels or model.num_classes} for '{checkpoint}', which has "
            f"{classifier.labels or classifier.num_classes}."
        )
    model.take_over_head(classifier)


def fit_seeds(config, run_class):
    """Fits a run for each seed of a `FinetuningRunConfig`, each in its own folder.

    Returns:
        Dict, also in `seeds.json`: `median` and `spread` (greatest minus smallest) of a
        score over the runs that did not collapse, and `runs`, the scores by folder.

    Raises:
        TrainingCollapsedError: If all runs collapse.
    """
    runs = {}
    for seed in range(config.seed, config.seed + config.seeds):
        folder = str(pathlib.Path(config.run, f"seed-{seed}"))
        note(f"seed {seed}, in {folder}")
        one = dataclasses.replace(config, seed=seed, seeds=1, run=folder)
        try:
            runs[folder] = run_class(one).fit()
        except TrainingCollapsedError as error:
            collapsed = error
            note(error.reason)
            runs[folder] = {"collapsed": error.reason}
    finished = [result for result in runs.values() if "collapsed" not in result]
    if not finished:
        raise collapsed
    results = {
        "seeds": config.seeds,
        "collapsed_seeds": config.seeds - len(finished),
        **summarize(finished),
        "runs": runs,
    }
    write_json(pathlib.Path(config.run, "seeds.json"), results)
    return results


def summarize(results):
    """Returns median and spread of each number that is in all results, by dotted name.

    Example:

    >>> summarize([{"a": 1.0, "b": {"c": 5}}, {"a": 2.0, "b": {"c": 9}}])
    {'median': {'a': 1.5, 'b.c': 7.0}, 'spread': {'a': 1.0, 'b.c': 4}}
    """
    flat = [dict(flatten(result)) for result in results]
    values = {
        name: [result[name] for result in flat]
        for name, value in flat[0].items()
        if isinstance(value, (int, float)) and all(name in result for result in flat)
    }
    return {
        "median": {name: statistics.median(xs) for name, xs in values.items()},
        "spread": {name: max(xs) - min(xs) for name, xs in values.items()},
    }
