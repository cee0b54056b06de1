"""The folder of a run: `run.json`, `log.jsonl`, `checkpoints/` and `model/`."""

import importlib.util
import pathlib

from albert_keras.analysis import plot_confusion_matrix, plot_learning_curve
from albert_keras.config import AlbertConfig
from albert_keras.files import atomic_folder, claimed_folder, read_json, write_json
from albert_keras.pretraining import PretrainingDataConfig
from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.training.checkpoints import CheckpointFolder, step_of

# Version 1, which has no `version`, kept the options of the command in one flat dict.
VERSION = 2

PRETRAINING, FINETUNING = "pretraining", "finetuning"

# Options that may change when a run is resumed.
CHANGEABLE = {
    *(
        "num_steps",
        "steps_per_evaluation",
        "steps_per_checkpoint",
        "steps_per_execution",
    ),
    *("micro_batches", "strategy", "jit_compile", "workers", "runner", "runner_option"),
    *(
        "validation",
        "validation_data",
        "keep",
        "patience",
        "restarts",
        "collapse_guard",
    ),
}


class RunFolder:
    """The folder of a run, which describes itself in `run.json`.

    `run.json` holds `version`, `kind` (`"pretraining"` or `"finetuning"`), `config` (the
    fields of the run's configuration) and facts found by the run, such as `labels`.

    Args:
        path: str or path.

    Example:

    ```python
    RunFolder("runs/sst2").read()["config"]["task"]
    ```
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def read(self):
        """Returns `run.json` in the form of the current version.

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
        if "version" not in content:
            content = _upgraded(content, file)
        is_known = content["version"] == VERSION and isinstance(
            content.get("config"), dict
        )
        if not is_known:
            raise ValueError(
                f"`run.json` must describe a run, in version {VERSION} or older. "
                f"Received: '{file}'. Use the version of albert_keras that wrote it."
            )
        return content

    def read_if_begun(self):
        """Returns `read()` of a run that kept something, else an empty dict.

        A run that ended before its first checkpoint may start with other options.
        """
        has_begun = self._checkpoint_files() or any(
            path.is_dir()
            for path in (self.path / "model", *self.path.glob("collapsed-*"))
        )
        return self.read() if has_begun and (self.path / "run.json").is_file() else {}

    def write(self, kind, config, **facts):
        """Writes `run.json`.

        Args:
            kind: str. `PRETRAINING` or `FINETUNING`.
            config: `Options` of the run.
            **facts: What later commands must know of the run, as JSON can hold it.

        Raises:
            BlockingIOError: If another process works in the folder.
        """
        content = {"version": VERSION, "kind": kind, "config": _recorded(config)}
        with claimed_folder(self.path):
            write_json(self.path / "run.json", {**content, **facts})

    def check_resumable(self, kind, config):
        """Checks that the run in the folder, if any, can be resumed with a configuration.

        Fields that only one of the two versions of the package knows are not compared.

        Args:
            kind: str. `PRETRAINING` or `FINETUNING`.
            config: `Options` of the run.

        Raises:
            ValueError: If options that shape the result differ, with both values; or if
                the run has more steps behind it than `num_steps`.
        """
        before = self.read_if_begun()
        if not before:
            return
        done = max(map(step_of, self._checkpoint_files()), default=0)
        if config.num_steps is not None and config.num_steps < done:
            raise ValueError(
                "A run cannot end before the step it has reached. Received: "
                f"num_steps={config.num_steps} for '{self.path}', which has {done} steps "
                "behind it. Take another run folder."
            )
        old = {"kind": before["kind"], **before["config"]}
        new = {"kind": kind, **_recorded(config)}
        differences = [
            difference
            for name in sorted((old.keys() & new.keys()) - CHANGEABLE)
            for difference in _differences(name, old[name], new[name])
        ]
        if differences:
            raise ValueError(
                f"The run '{self.path}' was begun with other options. Received: "
                f"{', '.join(differences)}. Repeat them to resume it, or take another "
                "run folder."
            )

    def save_model(self, model, tokenizer):
        """Writes `model/`, a preset with the tokenizer, and the learning curve.

        The curve is drawn where matplotlib is installed (the extra `plots`).
        """
        with atomic_folder(self.path / "model") as temporary:
            model.save_to_preset(str(temporary))
            tokenizer.save_to_preset(str(temporary))
        if importlib.util.find_spec("matplotlib"):
            plot_learning_curve(
                self.path / "log.jsonl", self.path / "learning_curve.png"
            )

    def _checkpoint_files(self):
        return CheckpointFolder(self.path / "checkpoints", keep=1).files()


def model_folder(path):
    """Returns the preset folder of a run, or `path` itself if it is not a run.

    Raises:
        FileNotFoundError: If it is a run that has not finished.
    """
    path = pathlib.Path(path)
    if (path / "model").is_dir():
        return path / "model"
    if (path / "run.json").is_file():
        raise FileNotFoundError(
            "A run must have finished before its model can be used. "
            f"Received: '{path}'. Repeat its command to resume it."
        )
    return path


def save_report(folder, task, prepared, predictions):
    """Writes `report.json` of a fine-tuned model, and the plot of confused classes.

    Args:
        folder: str or path.
        task: `FinetuningTask`.
        prepared: `PreparedRows` of held-out rows.
        predictions: What `task.predict` returned for them.
    """
    report = {
        "scores": task.score(prepared, predictions),
        **task.report(prepared, predictions),
    }
    folder = pathlib.Path(folder)
    write_json(folder / "report.json", report)
    if "confusion_matrix" in report and importlib.util.find_spec("matplotlib"):
        plot_confusion_matrix(report, folder / "confusion_matrix.png")


def _recorded(config):
    # All but the folder, which may be moved.
    return {k: v for k, v in config.to_dict().items() if k != "run"}


def _differences(name, old, new):
    """Yields `name=new (was old)`, for dicts of options one by one."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differences(key, old.get(key), new.get(key))
    elif old != new:
        yield f"{name}={new!r} (was {old!r})"


def _upgraded(content, file):
    """Returns the description of a run of version 1 in the form of `VERSION`."""
    options = content.pop("arguments", None)
    if not isinstance(options, dict):
        raise ValueError(
            f"`run.json` must describe a run. Received: '{file}', without its options."
        )
    if "task" in options:
        kind, known = FINETUNING, set(FinetuningRunConfig.__dataclass_fields__)
        groups = {"task_options": options.keys() - known}
    else:
        kind = PRETRAINING
        groups = {
            "model_options": set(AlbertConfig.__dataclass_fields__),
            "data_options": PretrainingDataConfig.__dataclass_fields__.keys()
            - {"seed"},
        }
    for group, names in groups.items():
        given = {name: options.pop(name, None) for name in names}
        options[group] = {k: v for k, v in given.items() if v is not None}
    content.pop("task", None)
    return {"version": VERSION, "kind": kind, "config": options, **content}
