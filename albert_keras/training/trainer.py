"""The one trainer: `compile` and `fit`, with logs, checkpoints and resume."""

import dataclasses
import importlib.util
import pathlib

import keras

from albert_keras.checks import check_positive_integers
from albert_keras.training import callbacks
from albert_keras.training.checkpoints import (
    list_checkpoint_files,
    restore_checkpoint_file,
)
from albert_keras.training.losses import GlobalMeanLoss


@dataclasses.dataclass(frozen=True)
class TrainerConfig:
    """How long to train, and how often to look.

    Args:
        num_steps: int > 0. Optimizer steps of the whole run.
        steps_per_evaluation: int > 0. Steps between evaluations, each followed by a
            checkpoint. Default 5000, the original's `save_checkpoints_steps`.
        steps_per_log: int > 0. Steps between lines of the log. Default 50.
        num_checkpoints: int > 0. Checkpoints kept. Default 5, as the original.
        jit_compile: bool. Compile the step with XLA. Default `False`: on CPUs the plain
            graph was faster, and under a strategy Keras cannot.

    Raises:
        ValueError: If a count is not a positive integer.
    """

    num_steps: int
    steps_per_evaluation: int = 5000
    steps_per_log: int = 50
    num_checkpoints: int = 5
    jit_compile: bool = False

    def __post_init__(self):
        check_positive_integers(self)


class Trainer:
    """Trains a model in a run folder, and goes on there where it was stopped.

    The folder gets `log.jsonl`, `checkpoints/step-*.npz`, and `tensorboard/` where
    TensorBoard is installed.

    Args:
        run_folder: path. Made when absent. Holding checkpoints, it is resumed.
        config: `TrainerConfig`.

    Example:

    ```python
    with get_strategy("mirrored").scope():
        model = task.build_model(backbone)
        optimizer = Lamb(schedule, global_clipnorm=1.0)
        trainer.compile(model, optimizer, task.losses(), task.metrics())
    history = trainer.fit(model, make_dataset, validation_dataset)
    ```
    """

    def __init__(self, run_folder, config):
        self.run_folder = pathlib.Path(run_folder)
        self.config = config

    def compile(self, model, optimizer, losses, metrics):
        """Compiles `model` with losses that are means over the global batch.

        Call it where the model was built, inside the scope of the strategy.

        Args:
            model: Keras model.
            optimizer: Keras optimizer.
            losses: `keras.losses.Loss`, or a dict of them by output name.
            metrics: List of Keras metrics, or a dict of lists by output name; weighted
                like the losses.
        """
        if isinstance(losses, dict):
            losses = {name: GlobalMeanLoss(loss) for name, loss in losses.items()}
        else:
            losses = GlobalMeanLoss(losses)
        model.compile(
            optimizer=optimizer,
            loss=losses,
            metrics=[],
            weighted_metrics=metrics,
            jit_compile=self.config.jit_compile,
        )
        # Now, inside the strategy's scope, since restoring needs the slots; and the
        # model's own, which under float16 scales the loss around the given one.
        model.optimizer.build(model.trainable_variables)

    def fit(self, model, make_dataset, validation_dataset=None):
        """Trains until `num_steps`, from the newest checkpoint if there is one.

        Args:
            model: Compiled model.
            make_dataset: Function from a step to an endless dataset whose first batch
                is that step's.
            validation_dataset: Finite dataset, or `None`.

        Returns:
            Dict of the last logs, empty if the run was finished before.

        Raises:
            ValueError: If the newest checkpoint is damaged or of another model.
            FloatingPointError: If the loss is not finite.
        """
        config = self.config
        self.run_folder.mkdir(parents=True, exist_ok=True)
        step = self.restore(model)
        if step >= config.num_steps:
            return {}
        interval = config.steps_per_evaluation
        with callbacks.open_progress_bar() as progress:
            history = model.fit(
                make_dataset(step),
                initial_epoch=step // interval,
                epochs=-(-config.num_steps // interval),
                steps_per_epoch=interval,
                validation_data=validation_dataset,
                callbacks=self._callbacks(step, progress),
                # The dataset is: keras-hub would warn that Keras cannot.
                shuffle=False,
                verbose=0,
            )
        return {name: values[-1] for name, values in history.history.items()}

    def restore(self, model):
        """Loads the newest checkpoint, if any, and returns the number of its steps."""
        files = list_checkpoint_files(self.run_folder / "checkpoints")
        return restore_checkpoint_file(files[-1], model) if files else 0

    def _callbacks(self, step, progress):
        config, folder = self.config, self.run_folder
        chosen = [
            callbacks.StopOnNonFiniteLoss(step),
            callbacks.StopAtStep(step, config.num_steps),
            callbacks.RichProgress(
                step, config.num_steps, progress, config.steps_per_log
            ),
            callbacks.JsonLinesLogger(step, folder / "log.jsonl", config.steps_per_log),
            callbacks.CheckpointWriter(
                step, folder / "checkpoints", config.num_checkpoints
            ),
        ]
        if importlib.util.find_spec("tensorboard"):
            chosen.append(
                keras.callbacks.TensorBoard(
                    folder / "tensorboard", write_graph=False, update_freq="epoch"
                )
            )
        return chosen
