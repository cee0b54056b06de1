"""Trainer: `compile` and `fit` with logs, checkpoints and resume."""

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
from albert_keras.training.steps import phase_around, spans_of_training, tokens_per_step
from albert_keras.training.strategies import get_strategy
from albert_keras.training.tensorboard import TensorBoardScalars


class Trainer:
    """Trains a model in a run folder, or resumes a stopped training there.

    The folder contains `log.jsonl`, `checkpoints/step-*.npz`, and `tensorboard/` if
    TensorBoard and TensorFlow are installed. If the process is killed and `fit` is called
    again, it ends with exactly the same weights and logs as without the interruption.

    Args:
        run_folder: str or path. Created if it does not exist. If it has checkpoints, the
            training is resumed from the newest one.
        config: `TrainerConfig`.
        strategy: `Strategy`. Default: a single device. With several workers, only the
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
        """Compiles `model` and builds its optimizer, inside the scope of the strategy.

        Args:
            model: Model of this package, an `ExactTrainStep`.
            optimizer: Keras optimizer.
            losses: Keras loss, or a dict of losses by output name.
            metrics: List of Keras metrics, or a dict of lists by output name. They are
                weighted like the losses.
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
        # Checkpoints are restored into the slots. Under float16 the model wraps the given
        # optimizer in one that scales the loss.
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

        On SIGTERM or SIGINT (Ctrl-C) it finishes the current step, writes a checkpoint
        and ends, with exit status 143 or a `KeyboardInterrupt`. A second signal ends it
        at once.

        Args:
            model: Compiled model.
            make_dataset: Function from a step to an endless dataset, whose first batch is
                the batch of that step.
            validation: Finite dataset; or a function without arguments that returns a
                dict, whose numbers are logged as `val_*`; or `None`.
            guards: Dict of guards by name, or `None`. Each is called with every entry of
                the log, and its state is saved in checkpoints; see `LogGuard`.
            callbacks: Further Keras callbacks, which are called before all others.
            enter_phase: Function of a step, called before training starts or resumes at
                that step, and at each of `TrainerConfig.phase_starts`. It may change what
                the model computes, such as its depth.

        Returns:
            Dict of the last logs, empty if the training was already finished.

        Raises:
            ValueError: If all checkpoints are damaged, the newest undamaged one belongs
                to another model, or the workers found different ones.
            FloatingPointError: If the loss or the gradient is not finite.
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
            guards = {"divergence": DivergenceWarning(tell), **(guards or {})}
            writers = [*self._log_writers(stack, resumed.step), *guards.values()]
            enter_phase(resumed.step)
            log = RunLog(resumed.step, config.steps_per_log, writers)
            parts = {"log": log, **guards}
            writer = CheckpointWriter(
                resumed, self.checkpoints, parts, signals, tell, config
            )
            if log.running_means:
                model.build_running_means(make_dataset(resumed.step).element_spec)
            callbacks = [
                *callbacks,
                StopWhenNotFinite(resumed.step, self.checkpoints),
                RichProgress(log, config.num_steps, progress),
                log,
                writer,  # Last, because its files contain the states of the others.
            ]
            if callable(validation):
                callbacks.insert(0, _evaluation_callback(model, validation))
                validation = None

            def batches_from(step):
                if step in config.phase_starts:
                    enter_phase(step)
                    model.retrace()
                dataset = make_dataset(step)
                num_workers = self.strategy.num_workers
                log.tokens_per_step = tokens_per_step(dataset, num_workers)
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
                # `fit` creates new functions.
                model.train_function = model.test_function = None
            history = model.fit(
                batches,
                epochs=parts,
                steps_per_epoch=steps,
                validation_data=validation,
                callbacks=callbacks,
                # The dataset is shuffled already; with True, keras-hub would warn.
                shuffle=False,
                verbose=0,
            )
            if model.stop_training:
                break
        return {name: values[-1] for name, values in history.history.items()}

    def restore_best(self, model):
        """Loads the best checkpoint by `TrainerConfig.best_metric`.

        Returns:
            Its `Best`; `None` if there is none yet, and then nothing is loaded.

        Raises:
            ValueError: If the file is damaged, or belongs to another model.
        """
        warn = line_printer(rich.console.Console(stderr=True))
        best = best_of(self.checkpoints.restore(model, warn).state)
        if best:
            restore_checkpoint(self.checkpoints.file(best.step), model)
        return best

    def dry_run(self, model, make_dataset, enter_phase=lambda step: None):
        """Measures some real steps of each phase, without changing weights or files.

        Returns:
            Dict of `measure_steps` for the remaining steps. If there are several phases,
            `phases` has such a dict for each remaining phase, by number from 1, besides
            the sums of `num_steps`, `positions` and `hours`.
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
            phases[str(number)] = measure_steps(
                model, make_dataset(start), end - start, self.strategy.num_workers
            )
        if not config.phase_starts:
            return phases["1"]
        sums = {
            name: sum(phase[name] for phase in phases.values())
            for name in ("num_steps", "positions", "hours")
        }
        return {"phases": phases, **sums}

    def _log_writers(self, stack, step):
        if not self.writes:
            return []
        writers = [JsonLines(self.run_folder / "log.jsonl", step)]
        if all(map(importlib.util.find_spec, ("tensorboard", "tensorflow"))):
            scalars = TensorBoardScalars(self.run_folder / "tensorboard", step)
            writers.append(stack.enter_context(contextlib.closing(scalars)))
        return writers


def _evaluation_callback(model, evaluate):
    """Returns a callback that evaluates a model at the end of each epoch.

    It adds the numbers in the dict that `evaluate()` returns to the logs of the epoch, as
    `val_*`, for all later callbacks.
    """

    def add_scores(epoch, logs):
        sync_variables(model)
        scores = {f"val_{name}": value for name, value in evaluate().items()}
        logs.update({name: v for name, v in scores.items() if is_number(v)})

    return keras.callbacks.LambdaCallback(on_epoch_end=add_scores)
