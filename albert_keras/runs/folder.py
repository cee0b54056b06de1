"""The folder of a run: `run.json`, `log.jsonl`, `checkpoints/` and `model/`."""

import contextlib
import importlib.util
import pathlib

from albert_keras.runs.predictions import mistakes_of, write_table
from albert_keras.runs.report_page import write_page
from albert_keras.system.files import (
    atomic_folder,
    claimed_folder,
    read_json,
    write_json,
)

# Version 1 kept the options of the command in one flat dict, without `version`.
VERSION = 2

# Options that may change when a run is resumed. Training data may be at another path,
# because `training_files` in `run.json` has fingerprints of its content.
CHANGEABLE = {
    *("num_steps", "steps_per_evaluation", "steps_per_checkpoint", "data", "text"),
    *("steps_per_execution", "micro_batches", "strategy", "jit_compile", "train"),
    *("workers", "runner", "runner_option", "validation", "validation_data"),
    *("keep", "patience", "restarts", "collapse_guard"),
}


class RunFolder:
    """The folder of a run, described in its `run.json`.

    `run.json` holds `version`, `kind` (`"pretraining"` or `"finetuning"`), `config` (the
    fields of the run's configuration) and facts that the run found, such as `labels`:
    `RunFolder("runs/sst2").read()["config"]["task"]`.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)

    @contextlib.contextmanager
    def claimed(self):
        """Locks the folder. A run that fails before its first log leaves nothing there.

        Raises:
            BlockingIOError: If another process works in the folder.
        """
        with claimed_folder(self.path):
            try:
                yield
            except BaseException:
                if not (self.read_if_begun() or (self.path / "log.jsonl").exists()):
                    (self.path / "run.json").unlink(missing_ok=True)
                raise

    def read(self):
        """Reads `run.json`.

        Raises:
            FileNotFoundError: If the folder is not a run.
            ValueError: If the file does not describe a run.
        """
        file = self.path / "run.json"
        if not file.is_file():
            raise FileNotFoundError(
                "A run folder holds `run.json`, written by `pretrain` or `finetune`. "
                f"Received: '{self.path}'."
            )
        content = read_json(file)
        is_dict = isinstance(content.get("config"), dict)
        if content.get("version") != VERSION or not is_dict:
            raise ValueError(
                f"`run.json` must describe a run, in version {VERSION}. "
                f"Received: '{file}'. Use the version of albert_keras that wrote it."
            )
        return content

    def read_if_begun(self):
        """Reads `run.json` of a run that has saved something; otherwise returns `{}`.

        A run that ended before its first checkpoint may start with other options.
        """
        has_model = (self.path / "model").is_dir()
        was_restarted = any(self.path.glob("collapsed-*"))
        has_begun = has_model or was_restarted or self._checkpoints().files()
        return describe_run(self.path) if has_begun else {}

    def write(self, config, **facts):
        """Writes `run.json`: a configuration, and `facts` for later commands."""
        content = {"version": VERSION, "kind": config.kind, "config": _recorded(config)}
        write_json(self.path / "run.json", {**content, **facts})

    def check_resumable(self, config, **facts):
        """Checks that a run in the folder can be resumed with a configuration and facts.

        Options that only one of the two versions of the package knows are not compared.

        Args:
            config: Configuration of the run.
            **facts: Facts in `run.json` that must be the same, such as options of
                examples.

        Raises:
            ValueError: If options that change the result differ, with both values, or the
                run has taken more steps than `num_steps`.
        """
        before = self.read_if_begun()
        if not before:
            return
        old = {**before.get("examples", {}), **before, **before["config"]}
        new = {**facts, "kind": config.kind, **_recorded(config)}
        differences = [
            difference
            for name in sorted((old.keys() & new.keys()) - CHANGEABLE)
            for difference in _differences(name, old[name], new[name])
        ]
        if differences:
            raise ValueError(
                f"The run '{self.path}' was begun with other options. Received: "
                f"{', '.join(differences)}. Repeat them, or take another run folder."
            )
        done = self._checkpoints().newest_step()
        if config.num_steps is not None and config.num_steps < done:
            raise ValueError(
                f"A run cannot end before the step it has reached, {done}. Received: "
                f"num_steps={config.num_steps}. Take another folder than '{self.path}'."
            )

    def save_model(self, model, tokenizer):
        """Writes `model/`, a preset with the tokenizer."""
        with atomic_folder(self.path / "model") as temporary:
            model.save_to_preset(str(temporary))
            tokenizer.save_to_preset(str(temporary))

    def save_learning_curve(self):
        """Draws the log and `report.json` if matplotlib is installed."""
        if importlib.util.find_spec("matplotlib"):
            from albert_keras.analysis import plot_learning_curve

            plot_learning_curve(self.path, self.path / "learning_curve.png")

    def _checkpoints(self):
        # Imported here, because it imports Keras, which `read` does not need.
        from albert_keras.training.checkpoints import CheckpointFolder

        return CheckpointFolder(self.path / "checkpoints", keep=1)


def describe_run(folder):
    """Reads `run.json` of a run; returns `{}` for another model."""
    is_run = pathlib.Path(folder, "run.json").is_file()
    return RunFolder(folder).read() if is_run else {}


def kind_of_run(folder):
    """Returns the kind of a run, or `None` for another model."""
    return describe_run(folder).get("kind")


def save_report(folder, task, prepared, predictions, known_texts=(), **facts):
    """Writes a report on predictions for held-out `PreparedRows` to a folder.

    The files are `report.json`, `mistakes.csv`, the page `report.html`, a plot of
    confused classes, if the task has classes, and of the learning curve, if the folder is
    a run.

    Args:
        folder: str or path.
        task: `FinetuningTask`.
        prepared, predictions: Labelled rows, and the task's predictions for them.
        known_texts: Held-out texts that are in the training rows too.
        **facts: Further fields of `report.json`.
    """
    scores = task.score(prepared, predictions)
    report = {**facts, "scores": scores, **task.report(prepared, predictions)}
    folder = pathlib.Path(folder)
    write_json(folder / "report.json", report)
    mistakes = mistakes_of(task, prepared, predictions)
    write_table(folder / "mistakes.csv", mistakes)
    figures = {}
    if importlib.util.find_spec("matplotlib"):
        from albert_keras.analysis import plot_confusion_matrix, plot_learning_curve

        if (folder / "log.jsonl").is_file():
            path = folder / "learning_curve.png"
            figures["Learning curves"] = plot_learning_curve(folder, path)
        if "confusion_matrix" in report:
            path = folder / "confusion_matrix.png"
            figures["Confused classes"] = plot_confusion_matrix(folder, path)
    write_page(folder, report, figures, mistakes, known_texts)


def _recorded(config):
    # Without the folder, which may be moved.
    return {k: v for k, v in config.to_dict().items() if k != "run"}


def _differences(name, old, new):
    """Yields `name=new (was old)` for each option that differs, also within dicts."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differences(key, old.get(key), new.get(key))
    elif old != new:
        yield f"{name}={new!r} (was {old!r})"
