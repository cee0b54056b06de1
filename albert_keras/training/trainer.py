"""The trainer: `compile` and `fit`, with logs, checkpoints and resume."""

import contextlib
import dataclasses
import importlib.util
import math
import pathlib

import rich.console

from albert_keras.checks import check_positive_integer, check_positive_integers
from albert_keras.files import claimed_folder
from albert_keras.progress import open_progress
from albert_keras.training.checkpoint_writer import CheckpointWriter, best_of
from albert_keras.training.checkpoints import (
    CheckpointFolder,
    restore_checkpoint,
    step_of,
)
from albert_keras.training.dry_run import measure_steps
from albert_keras.training.evaluation import Evaluation
from albert_keras.training.guards import DivergenceWarning, StopWhenNotFinite
from albert_keras.training.logs import JsonLines, RunLog
from albert_keras.training.progress import RichProgress, line_printer
from albert_keras.training.signals import StopSignals
from albert_keras.training.steps import spans_of_training
from albert_keras.training.strategies import default_strategy
from albert_keras.training.tensorboard import TensorBoardScalars
from albert_keras.training.tokens import tokens_per_step


@dataclasses.dataclass(frozen=True)
class TrainerConfig:
    """Length of a training, and intervals of logs, evaluations and checkpoints.

    Args:
        num_steps: int > 0. Optimizer steps of the whole run.
        steps_per_evaluation: int > 0. Steps between evaluations, each followed by a
            checkpoint. Default 5000, the original's `save_checkpoints_steps`.
        steps_per_log: int > 0. Steps between lines of the log. Default 50.
        num_checkpoints: int > 0. Newest checkpoints kept, besides the best. Default 5, as
            the original.
        steps_per_checkpoint: int > 0, or `None`. Steps between additional checkpoints.
            Default `None`, only those after evaluations.
        best_metric: str. Metric of the evaluation that chooses the best checkpoint:
            losses are better when lower, others when higher. Default `"val_loss"`.
        patience: int > 0, or `None`. Evaluations in a row without a new best after which
            training ends. Default `None`, never.
        micro_batches: int > 0. Parts each batch is cut into to save memory; the steps
            stay the same. Default 1.
        steps_per_execution: int > 0. Steps per call, which saves host work on
            accelerators; where it does not divide the steps to an evaluation, the
            greatest common divisor is used. Default 1.
        jit_compile: bool or `"auto"`. Compile forward and backward passes with XLA.
            Default `"auto"`: where there is an accelerator.

    Raises:
        ValueError: If a count is not a positive integer.
    """

    num_steps: int
    steps_per_evaluation: int = 5000
    steps_per_log: int = 50
    num_checkpoints: int = 5
    steps_per_checkpoint: int | None = None
    best_metric: str = "val_loss"
    patience: int | None = None
    micro_batches: int = 1
    steps_per_execution: int = 1
    jit_compile: bool | str = "auto"

    def __post_init__(self):
        check_positive_integers(self)
        for name in ("steps_per_checkpoint", "patience"):
            if getattr(self, name) is not None:
                check_positive_integer(name, getattr(self, name))


class Trainer:
    """Trains a model in a run folder, and resumes it there where it was stopped.

    The folder gets `log.jsonl`, `checkpoints/step-*.npz`, and `tensorboard/` where
    TensorBoard is installed. Killed at any moment and called again, `fit` ends with the
    same weights, bit by bit, and the same logs as an uninterrupted run.

    Args:
        run_folder: path. Made when absent. Holding checkpoints, it is resumed.
        config: `TrainerConfig`.
        strategy: `Strategy` under which the model is trained. With several workers only
            the chief writes to the folder and shows progress. Default: one device.

    Example:

    ```python
    with get_strategy("mirrored").scope():
        model = task.build_model(backbone)
        optimizer = Lamb(schedule, global_clipnorm=1.0)
        trainer.compile(model, optimizer, task.losses(), task.metrics())
    history = trainer.fit(model, make_dataset, validation)
    ```
    """

    def __init__(self, run_folder, config, strategy=None):
        self.run_folder = pathlib.Path(run_folder)
        self.config = config
        self.strategy = strategy or default_strategy()
        self.writes = self.strategy.is_chief
        self.checkpoints = CheckpointFolder(
            self.run_folder / "checkpoints", config.num_checkpoints, self.writes
        )

    def compile(self, model, optimizer, losses, metrics):
        """Compiles `model`, and builds the optimizer, whose slots are filled on resume.

        Call it inside the strategy's scope, as the model's constructor.

        Args:
            model: A task model of this package, an `ExactTrainStep`.
            optimizer: Keras optimizer.
            losses: `keras.losses.Loss`, or a dict of them by output name.
            metrics: List of Keras metrics, or a dict of lists by output name; weighted
                like the losses.
        """
        model.compile(
            optimizer=optimizer,
            loss=losses,
            metrics=[],
            weighted_metrics=metrics,
            micro_batches=self.config.micro_batches,
            steps_per_execution=self.config.steps_per_execution,
            jit_compile=self.config.jit_compile,
        )
        # Inside the strategy's scope, since restoring needs the slots; of the model's own
        # optimizer, which under float16 wraps the given one to scale the loss.
        model.optimizer.build(model.trainable_variables)

    def fit(self, model, make_dataset, validation=None, *, guards=None):
        """Trains until `num_steps`, from the newest checkpoint if there is one.

        SIGTERM and SIGINT (Ctrl-C) end it after the current step, which is saved; a
        second signal ends it at once.

        Args:
            model: Compiled model.
            make_dataset: Function from a step to an endless dataset whose first batch
                is that step's.
            validation: Finite dataset; or a function without arguments that returns a
                dict, whose numbers are logged as `val_*`; or `None`.
            guards: Dict from a name to an object whose `write(entry, model)` is called
                with each entry of the log, and whose `state()` is kept for a resumed run,
                which calls its `restore(state)`.

        Returns:
            Dict of the last logs, empty if the run was finished before.

        Raises:
            ValueError: If all checkpoints are damaged, the newest undamaged one belongs
                to another model, or workers found different ones.
            FloatingPointError: If loss or gradient are not finite.
            BlockingIOError: If another process trains in this folder.
            SystemExit: With status 143, after SIGTERM.
            KeyboardInterrupt: After SIGINT.
        """
        config = self.config
        with contextlib.ExitStack() as stack:
            if self.writes:
                stack.enter_context(claimed_folder(self.run_folder))
            progress = stack.enter_context(open_progress(quiet=not self.writes))
            signals = stack.enter_context(StopSignals())
            resumed = self.checkpoints.restore(model, line_printer(progress.console))
            self.strategy.check_same_step(resumed.step)
            callbacks, logs = None, {}
            if config.patience and resumed.state.get("num_worse", 0) >= config.patience:
                return logs
            for step, steps, parts in spans_of_training(
                resumed.step, config.num_steps, config.steps_per_evaluation
            ):
                dataset = make_dataset(step)
                callbacks = callbacks or [
                    *([Evaluation(validation)] if callable(validation) else []),
                    *self._callbacks(
                        stack, model, dataset, resumed, progress, signals, guards or {}
                    ),
                ]
                _set_steps_per_execution(
                    model, math.gcd(config.steps_per_execution, steps)
                )
                epoch = step // config.steps_per_evaluation
                history = model.fit(
                    dataset,
                    initial_epoch=epoch,
                    epochs=epoch + parts,
                    steps_per_epoch=steps,
                    validation_data=None if callable(validation) else validation,
                    callbacks=callbacks,
                    # The dataset is shuffled; keras-hub would warn that Keras cannot.
                    shuffle=False,
                    verbose=0,
                )
                logs = {name: values[-1] for name, values in history.history.items()}
                if model.stop_training:
                    break
        return logs

    def restore_best(self, model):
        """Loads the best checkpoint by `TrainerConfig.best_metric`.

        Returns:
            `Best`, its step and value; None, without loading anything, while there is
            none.

        Raises:
            ValueError: If it is damaged or of another model.
        """
        best = best_of(self.checkpoints.restore(model, _warn).state)
        if best:
            restore_checkpoint(self.checkpoints.file(best.step), model)
        return best

    def dry_run(self, model, make_dataset):
        """Measures some real steps; model and run folder do not change.

        Args:
            model: Compiled model.
            make_dataset: As of `fit`.

        Returns:
            Dict of `measure_steps`, and `num_steps` that remain and the `hours` they
            take, without evaluations.
        """
        files = self.checkpoints.files()
        step = step_of(files[-1]) if files else 0
        results = measure_steps(
            model, make_dataset(step), num_shards=self.strategy.num_shards
        )
        num_steps = max(0, self.config.num_steps - step)
        hours = num_steps * results["seconds_per_step"] / 3600
        return {**results, "num_steps": num_steps, "hours": hours}

    def _callbacks(self, stack, model, dataset, resumed, progress, signals, guards):
        config, step = self.config, resumed.step
        tell = line_printer(progress.console)
        tokens = tokens_per_step(dataset, self.strategy.num_shards)
        # The means of an epoch begin with it.
        is_inside_epoch = step % config.steps_per_evaluation > 0
        metrics = resumed.metrics if is_inside_epoch else []
        if metrics:
            model.build_running_means(dataset.element_spec)
        divergence = DivergenceWarning(tell)
        writers = [*self._log_writers(stack, step), divergence, *guards.values()]
        log = RunLog(step, config.steps_per_log, writers, tokens, metrics)
        parts = {"log": log, "divergence": divergence, **guards}
        for name, part in parts.items():
            part.restore(resumed.state.get(name, {}))
        # TensorFlow's chief has the sums of its own replicas alone.
        keeps_means = self.strategy.name != "multi_worker"
        writer = CheckpointWriter(
            step, self.checkpoints, parts, signals, tell, config, keeps_means
        )
        writer.restore(resumed.state)
        return [
            StopWhenNotFinite(step, self.checkpoints),
            RichProgress(
                step, config.num_steps, progress, config.steps_per_log, tokens
            ),
            log,
            # Last, since the state of the others after a step is part of the checkpoint.
            writer,
        ]

    def _log_writers(self, stack, step):
        if not self.writes:
            return []
        self.run_folder.mkdir(parents=True, exist_ok=True)
        writers = [JsonLines(self.run_folder / "log.jsonl", step)]
        if importlib.util.find_spec("tensorboard"):
            folder = self.run_folder / "tensorboard"
            writers.append(
                stack.enter_context(
                    contextlib.closing(TensorBoardScalars(folder, step))
                )
            )
        return writers


def _set_steps_per_execution(model, steps):
    if model.steps_per_execution != steps:
        model.steps_per_execution = steps
        # `fit` makes new ones.
        model.train_function = model.test_function = None


def _warn(line):
    line_printer(rich.console.Console(stderr=True))(line)
