"""The trainer: `compile` and `fit`, with logs, checkpoints and resume."""

import contextlib
import functools
import importlib.util
import math
import pathlib

import keras
import rich.console

from albert_keras.checks import is_number
from albert_keras.keras_internals import sync_variables
from albert_keras.system.files import claimed_folder
from albert_keras.system.progress import open_progress
from albert_keras.system.signals import StopSignals
from albert_keras.training.checkpoint_writer import CheckpointWriter
from albert_keras.training.checkpoints import (
    CheckpointFolder,
    best_of,
    restore_checkpoint,
)
from albert_keras.training.dry_run import measure_steps
from albert_keras.training.guards import DivergenceWarning, StopWhenNotFinite
from albert_keras.training.logs import JsonLines, RunLog
from albert_keras.training.progress import RichProgress, line_printer
from albert_keras.training.steps import (
    phase_around,
    spans_of_training,
    tokens_per_step,
)
from albert_keras.training.strategies import get_strategy
from albert_keras.training.tensorboard import TensorBoardScalars


class Trainer:
    """Trains a model in a run folder, and resumes it there where it was stopped.

    The folder gets `log.jsonl`, `checkpoints/step-*.npz`, and `tensorboard/` where
    TensorBoard and TensorFlow are installed. Killed at any moment and called again, `fit`
    ends with the same weights, bit by bit, and the same logs as an uninterrupted run.

    Args:
        run_folder: path. Made when absent. Holding checkpoints, it is resumed.
        config: `TrainerConfig`.
        strategy: `Strategy`, by default of one device. With several workers only the
            chief writes to the folder and shows progress.

    Example:

    ```python
    with get_strategy("mirrored").scope():
        backbone = ak.AlbertBackbone.from_preset("albert_nano_en")
        model = task.build_model(backbone)
        optimizer = ak.Lamb(schedule, global_clipnorm=1.0)
        trainer.compile(model, optimizer, task.losses(), task.metrics())
    history = trainer.fit(model, make_dataset, validation)
    ```
    """

    def __init__(self, run_folder, config, strategy=None):
        self.run_folder = pathlib.Path(run_folder)
        self.config = config
        self.strategy = strategy or get_strategy("default")
        self.writes = self.strategy.is_chief
        self.checkpoints = CheckpointFolder(
            self.run_folder / "checkpoints", config.num_checkpoints, self.writes
        )

    def compile(self, model, optimizer, losses, metrics):
        """Compiles `model` and builds the optimizer; call it inside the strategy's scope.

        Args:
            model: A task model of this package, an `ExactTrainStep`.
            optimizer: Keras optimizer.
            losses: Keras loss, or a dict of them by output name.
            metrics: List of Keras metrics, or a dict of lists; weighted like the losses.
        """
        model.compile(
            optimizer=optimizer,
            loss=losses,
            metrics=[],
            weighted_metrics=metrics,
            micro_batches=self.config.micro_batches,
            steps_per_execution=self.config.steps_per_execution,
            jit_compile=self.config.jit_compile,
            log_gradient_norm=True,
        )
        # Restoring needs the slots. Under float16 the model's own optimizer wraps the
        # given one to scale the loss.
        model.optimizer.build(model.trainable_variables)

    def fit(
        self,
        model,
        make_dataset,
        validation=None,
        *,
        guards=None,
        callbacks=(),
        enter_phase=lambda step: None,
    ):
        """Trains until `num_steps`, from the newest checkpoint if there is one.

        SIGTERM and SIGINT (Ctrl-C) end it after the current step, which is saved, with
        exit status 143 or a `KeyboardInterrupt`; a second signal ends it at once.

        Args:
            model: Compiled model.
            make_dataset: Function from a step to an endless dataset that begins with that
                step's batch.
            validation: Finite dataset; or a function without arguments that returns a
                dict, whose numbers are logged as `val_*`; or `None`.
            guards: Dict from a name to a guard, called with each entry of the log, whose
                state is kept for a resumed run; see `LogGuard`.
            callbacks: Further Keras callbacks, which run before all others.
            enter_phase: Function of a step, called before training begins there: at the
                start, when resumed, and at each of `TrainerConfig.phase_starts`. It may
                change what the model computes, such as its depth.

        Returns:
            Dict of the last logs, empty if the run was finished before.

        Raises:
            ValueError: If all checkpoints are damaged, the newest undamaged one belongs
                to another model, or workers found different ones.
            FloatingPointError: If loss or gradient are not finite.
            BlockingIOError: If another process trains in this folder.
        """
        config = self.config
        with contextlib.ExitStack() as stack:
            if self.writes:
                stack.enter_context(claimed_folder(self.run_folder))
            progress = stack.enter_context(open_progress(quiet=not self.writes))
            signals = stack.enter_context(StopSignals())
            tell = line_printer(progress.console)
            resumed = self.checkpoints.restore(model, tell)
            self.strategy.check_same_step(resumed.step)
            num_worse = resumed.state.get("num_worse", 0)
            is_finished = resumed.step >= config.num_steps
            if is_finished or (config.patience and num_worse >= config.patience):
                return {}
            make_dataset = functools.cache(make_dataset)
            divergence = DivergenceWarning(tell)
            guards = {"divergence": divergence, **(guards or {})}
            writers = [*self._log_writers(stack, resumed.step), *guards.values()]
            enter_phase(resumed.step)
            log = self._make_log(model, make_dataset(resumed.step), resumed, writers)
            callbacks = [
                *callbacks,
                StopWhenNotFinite(resumed.step, self.checkpoints),
                RichProgress(log, config.num_steps, progress),
                log,
                # Last, since the state of the others after a step is part of the
                # checkpoint.
                CheckpointWriter(
                    resumed,
                    self.checkpoints,
                    {"log": log, **guards},
                    signals,
                    tell,
                    config,
                ),
            ]
            if callable(validation):
                callbacks, validation = [Evaluation(validation), *callbacks], None

            def batches_from(step):
                if step in config.phase_starts:
                    enter_phase(step)
                    model.retrace()
                dataset = make_dataset(step)
                log.tokens_per_step = self._tokens_per_step(dataset)
                return dataset

            return self._train(model, batches_from, validation, callbacks, resumed.step)

    def _train(self, model, batches_from, validation, callbacks, step):
        """Calls Keras' `fit` for each span of the training; returns the last logs."""
        config = self.config
        for start, steps, parts in spans_of_training(
            step, config.num_steps, config.steps_per_evaluation, config.phase_starts
        ):
            batches = batches_from(start)
            per_execution = math.gcd(config.steps_per_execution, steps)
            if model.steps_per_execution != per_execution:
                model.steps_per_execution = per_execution
                # `fit` makes new ones.
                model.train_function = model.test_function = None
            history = model.fit(
                batches,
                epochs=parts,
                steps_per_epoch=steps,
                validation_data=validation,
                callbacks=callbacks,
                # The dataset is shuffled; keras-hub would warn that Keras cannot.
                shuffle=False,
                verbose=0,
            )
            if model.stop_training:
                break
        return {name: values[-1] for name, values in history.history.items()}

    def restore_best(self, model):
        """Loads the best checkpoint by `TrainerConfig.best_metric`; returns its `Best`.

        While there is none, it returns None and loads nothing. A damaged file, or one of
        another model, is a ValueError.
        """
        best = best_of(self.checkpoints.restore(model, _warn).state)
        if best:
            restore_checkpoint(self.checkpoints.file(best.step), model)
        return best

    def dry_run(self, model, make_dataset, enter_phase=lambda step: None):
        """Measures some real steps of each phase; weights and run folder stay the same.

        Returns:
            Dict of `measure_steps`, and what remains: `num_steps`, their `positions`,
            padding included, if known, and the `hours` they take without evaluations.
            Of several phases `phases` has such a dict each, by number from 1, and the
            sums follow.
        """
        config, step = self.config, self.checkpoints.newest_step()
        phases = {}
        for number, first in enumerate((0, *config.phase_starts), start=1):
            _, end = phase_around(first, config.num_steps, config.phase_starts)
            start = max(first, min(step, config.num_steps))
            if start >= end and number <= len(config.phase_starts):
                continue
            enter_phase(start)
            model.retrace()
            phases[str(number)] = self._measure(model, make_dataset(start), end - start)
        if not config.phase_starts:
            return phases["1"]
        sums = {
            name: sum(phase[name] for phase in phases.values())
            for name in ("num_steps", "positions", "hours")
        }
        return {"phases": phases, **sums}

    def _measure(self, model, dataset, num_steps):
        results = measure_steps(model, dataset, num_workers=self.strategy.num_workers)
        results["num_steps"] = num_steps
        if tokens := self._tokens_per_step(dataset):
            results["positions"] = num_steps * tokens
        results["hours"] = num_steps * results["seconds_per_step"] / 3600
        return results

    def _make_log(self, model, dataset, resumed, writers):
        # The means of an epoch begin with it.
        config = self.config
        start, _ = phase_around(resumed.step, config.num_steps, config.phase_starts)
        is_inside_epoch = (resumed.step - start) % config.steps_per_evaluation > 0
        metrics = resumed.metrics if is_inside_epoch else []
        if metrics:
            model.build_running_means(dataset.element_spec)
        return RunLog(resumed.step, config.steps_per_log, writers, metrics=metrics)

    def _tokens_per_step(self, dataset):
        return tokens_per_step(dataset, self.strategy.num_workers)

    def _log_writers(self, stack, step):
        if not self.writes:
            return []
        writers = [JsonLines(self.run_folder / "log.jsonl", step)]
        if all(map(importlib.util.find_spec, ("tensorboard", "tensorflow"))):
            scalars = TensorBoardScalars(self.run_folder / "tensorboard", step)
            writers.append(stack.enter_context(contextlib.closing(scalars)))
        return writers


class Evaluation(keras.callbacks.Callback):
    """Evaluates the model at the end of each epoch, in place of validation data.

    The numbers in the dict that `evaluate()` returns are added to the logs of the epoch
    as `val_*`, for all later callbacks.
    """

    def __init__(self, evaluate):
        super().__init__()
        self.evaluate = evaluate

    def on_epoch_end(self, epoch, logs=None):
        sync_variables(self.model)
        for name, value in self.evaluate().items():
            if is_number(value):
                logs[f"val_{name}"] = value


def _warn(line):
    line_printer(rich.console.Console(stderr=True))(line)
