"""Pretraining runs: from text or prepared data to a model folder."""

import contextlib
import copy
import dataclasses
import pathlib
import tempfile

import keras

from albert_keras.optimizers import make_optimizer
from albert_keras.options import check_unused
from albert_keras.pretraining import PretrainingTask, read_description
from albert_keras.pretraining.datasets import plain_errors
from albert_keras.runs.folder import RunFolder
from albert_keras.runs.phases import RunPhases
from albert_keras.runs.preparation import CORPUS_OPTIONS
from albert_keras.runs.pretraining_config import choose_recipe
from albert_keras.runs.pretraining_data import (
    check_data,
    data_folder,
    example_config,
    find_data,
    fingerprint_data,
    held_out_of,
    read_config,
)
from albert_keras.runs.reporting import note
from albert_keras.runs.starting_models import PretrainingStart
from albert_keras.runs.training import (
    check_micro_batches,
    check_unchanged,
    make_trainer,
)
from albert_keras.system.files import write_json
from albert_keras.system.progress import format_value
from albert_keras.system.storage import absolute
from albert_keras.tokenizers.loading import check_vocabulary_size
from albert_keras.training import get_strategy


class PretrainingRun:
    """Trains on masked tokens and sentence pairs in a run folder, or resumes a run there.

    Example:

    ```python
    config = PretrainingRunConfig(
        run="runs/base", data="records/", tokenizer="30k.model", num_steps=125_000
    )
    results = PretrainingRun(config).fit()
    ```
    """

    def __init__(self, config):
        # First, because several workers must find each other before they compute.
        self.strategy = get_strategy(config.strategy)
        self.folder = RunFolder(config.run)
        self.recipe, self.config = choose_recipe(config, self.folder.read_if_begun())

    def fit(self):
        """Prepares data and model, trains, saves the model and evaluates it.

        Returns:
            Dict: `run`, `parameters`, and for held-out documents or data the losses and
                accuracies of `PretrainingTask.evaluate`. None in workers other than the
                chief.

        Raises:
            ValueError: If data, tokenizer, model or an earlier run do not fit each other.
            BlockingIOError: If another process works in the run's folder.
        """
        writes = self.strategy.is_chief
        with (
            self.folder.claimed() if writes else contextlib.nullcontext(),
            self.strategy.ends_together(),
            plain_errors(),
        ):
            self.prepare()
            self.train()
            return self.report()

    def dry_run(self):
        """Measures some steps, as `Trainer.dry_run`; the run's folder stays as it is.

        Returns:
            Dict; None in workers other than the chief.
        """
        with _aside(self.config, self.folder, self.strategy) as config:
            run = copy.copy(self)
            run.config, run.folder = config, RunFolder(config.run)
            with self.strategy.ends_together():
                run.prepare()
                # All workers take part in a step.
                measured = run.trainer.dry_run(
                    run.model, run.training_dataset, run.enter_phase
                )
        return measured if self.strategy.is_chief else None

    def prepare(self):
        """Checks everything, prepares data from text, and builds the model."""
        config = self.config
        for batch_size in {*self.recipe.batch_sizes}:
            self.strategy.check_batch_size(batch_size)
            check_micro_batches(config.micro_batches, batch_size, self.strategy)
        self.folder.check_resumable(config)
        if config.data:
            unused = (*CORPUS_OPTIONS, "runner", "runner_option", "validation_split")
            check_unused(vars(config), unused, "data that is prepared")
        elif config.validation_data:
            check_unused(vars(config), ["validation_split"], "validation data")
        self.tokenizer = config.load_tokenizer(config.tokenizer or config.checkpoint)
        start = self.make_start()
        check_vocabulary_size(self.tokenizer, start.shape.vocabulary_size)
        if config.validation_data:
            check_data(config.validation_data, self.tokenizer, start.shape)
        self.data = find_data(config, self.tokenizer, start.shape, self.strategy)
        self.held_out = config.validation_data or held_out_of(self.data)
        self.examples = example_config(self.data, config)
        check_data(self.data, self.tokenizer, start.shape, self.examples)
        self.training_files = fingerprint_data(self.data)
        self.example_config = self.examples or read_config(self.data)
        check_unchanged(self.training_files, self.folder.read_if_begun())
        self.folder.check_steps(config)
        facts = dataclasses.asdict(self.example_config)
        self.folder.check_resumable(config, **facts)
        self.phases = RunPhases(config, self.examples, start.shape)
        self.task = self.make_task()
        keras.utils.set_random_seed(config.seed)
        num_steps = config.num_steps
        self.trainer = make_trainer(
            config,
            self.strategy,
            num_steps,
            steps_per_evaluation=min(5000, max(50, num_steps // 8)),
            phase_starts=self.phases.starts[1:],
        )
        with self.strategy.scope():
            self.model = start.build(self.task)
            losses, metrics = self.task.losses(), self.task.metrics()
            recipe = self.recipe
            optimizer = make_optimizer(
                recipe.learning_rate,
                recipe.optimizer,
                num_steps=recipe.num_steps,
                warmup_steps=recipe.warmup_steps,
                **config.optimizer_options(),
            )
            self.trainer.compile(self.model, optimizer, losses, metrics)
        self._note_start(start.shape)

    def make_start(self):
        """Returns the model to start from, a `PretrainingStart`."""
        return PretrainingStart(self.config, self.tokenizer.vocabulary_size())

    def make_task(self):
        """Returns the `PretrainingTask`."""
        pairs = self.example_config.sentence_pairs
        return PretrainingTask(pairs, self.config.hardest_pairs)

    def train(self):
        """Trains to the end, from the newest checkpoint if there is one, and saves."""
        config, shard, held_out = self.config, self.strategy.shard, None
        if self.held_out:
            held_out = self.task.make_validation_dataset(
                self.held_out, config.batch_size, shard=shard
            )
        if self.strategy.is_chief:
            names = ("learning_rate", "warmup_steps")
            self.folder.write(
                config,
                data=absolute(self.data),
                schedule={name: getattr(self.recipe, name) for name in names},
                training_files=self.training_files,
                examples=dataclasses.asdict(self.example_config),
            )
        # Also when a run is resumed: the model has the first weights until `fit`.
        self.start = self._measure() if config.checkpoint and self.held_out else {}
        if self.start and self.strategy.is_chief:
            scores = (f"{n} {format_value(v)}" for n, v in self.start.items())
            note(f"step 0: {', '.join(scores)}")
        with self.strategy.scope():
            self.trainer.fit(
                self.model,
                self.training_dataset,
                held_out,
                callbacks=self.phases.callbacks(self.model.backbone),
                enter_phase=self.enter_phase,
            )
        if self.strategy.is_chief:
            finished = self.task.finished_model(self.model, self.tokenizer)
            self.folder.save_model(finished, self.tokenizer)

    def report(self):
        """Evaluates the trained model on the held-out data; returns as `fit`."""
        results = self._measure() if self.held_out else {}
        if not self.strategy.is_chief:
            return None
        if self.start:
            results["start"] = self.start
        if self.held_out:
            write_json(self.folder.path / "report.json", {"scores": results})
        self.folder.save_learning_curve()
        parameters = self.model.backbone.count_params()
        return {"run": str(self.config.run), "parameters": parameters, **results}

    def _measure(self):
        """Returns the scores on the held-out data; all workers take part."""
        shard, batch_size = self.strategy.shard, self.config.batch_size
        with self.strategy.scope():
            return self.task.evaluate(
                self.model, self.held_out, batch_size, shard=shard
            )

    def _note_start(self, shape):
        recipe, config = self.recipe, self.config
        model = (
            f"{shape.num_layers} layers of width {shape.hidden_dim}, "
            f"{shape.vocabulary_size:,} pieces, "
            f"{self.model.backbone.count_params():,} parameters"
        )
        training = (
            f"{recipe.optimizer}, learning rate {recipe.learning_rate:.3g}, batch "
            f"{config.batch_size}, {config.num_steps} steps with {recipe.warmup_steps} "
            f"of warm-up, length {self.example_config.sequence_length}"
        )
        note(f"{model}; {training}")
        for number, phase in enumerate(config.phases or (), start=1):
            note(f"phase {number}: {phase.replace(',', ', ')}")
        if not self.held_out:
            note(
                "nothing is held out, so no loss will be measured: give data of other "
                "documents by --validation-data"
            )

    def training_dataset(self, step):
        """Returns endless training batches from a step on."""
        shard = self.strategy.shard
        return self.phases.make_dataset(self.task, self.data, step, shard)

    def enter_phase(self, step):
        """Sets the depth for the training of the model from a step on."""
        self.phases.enter(self.model.backbone, step)


@contextlib.contextmanager
def _aside(config, folder, strategy):
    """Yields a configuration with a temporary run folder for a dry run.

    The folder links to the run's checkpoints and complete data. A dry run that writes
    neither data nor logs of workers uses the run's own folder.
    """
    if not config.text and strategy.num_workers == 1:
        yield config
        return
    folder.check_resumable(config)
    found = [folder.path / "checkpoints"]
    if config.text and read_description(data_folder(config)) is not None:
        found.append(data_folder(config))
    with tempfile.TemporaryDirectory() as temporary:
        for path in found:
            pathlib.Path(temporary, path.name).symlink_to(path.resolve())
        yield dataclasses.replace(config, run=temporary)
