"""The folder of a run: `run.json`, `log.jsonl`, `checkpoints/`, and `model/`."""

import argparse
import importlib.util
import pathlib

import rich.filesize

from albert_keras.analysis import plot_learning_curve
from albert_keras.cli.results import note, print_results
from albert_keras.files import atomic_folder, claimed_folder, read_json, write_json
from albert_keras.tokenizers.loading import check_vocabulary_size
from albert_keras.training import STRATEGIES, Trainer, TrainerConfig
from albert_keras.training.checkpoints import CheckpointFolder, step_of

# What a run may be gone on with changed: how far, how often to look, on what, and who
# prepares the data.
CHANGEABLE = {
    "num_steps",
    "workers",
    "runner",
    "runner_option",
    "steps_per_evaluation",
    "steps_per_checkpoint",
    "steps_per_execution",
    "micro_batches",
    "strategy",
    "jit_compile",
    "validation",
    "validation_data",
    "patience",
    "restarts",
    "collapse_guard",
    "keep",
}


def add_training_arguments(parser):
    """Adds what all training commands share."""
    parser.add_argument(
        "--run", required=True, help="folder of the run; resumed if any"
    )
    parser.add_argument("--batch-size", type=positive_int)
    parser.add_argument("--num-steps", type=positive_int)
    parser.add_argument("--warmup-steps", type=int)
    parser.add_argument("--learning-rate", type=positive_float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--strategy",
        default="default",
        choices=list(STRATEGIES),
        help="devices: one; all GPUs of this machine; machines by TF_CONFIG; devices and "
        "machines on JAX (KERAS_BACKEND=jax); or a TPU, which no TPU has run: only the "
        "lowering of the step for one is tested",
    )
    parser.add_argument(
        "--precision",
        default="float32",
        choices=["float32", "mixed_bfloat16", "mixed_float16"],
    )
    parser.add_argument(
        "--steps-per-evaluation",
        type=positive_int,
        help="steps between evaluations, each followed by a checkpoint",
    )
    parser.add_argument(
        "--steps-per-checkpoint",
        type=positive_int,
        help="steps between more checkpoints, for runs that may be killed",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only measure some steps: shapes, memory, speed, time to finish",
    )
    parser.add_argument(
        "--micro-batches",
        type=positive_int,
        default=1,
        help="parts to cut each batch in, for less memory; the same steps (default: 1)",
    )
    parser.add_argument(
        "--steps-per-execution",
        type=positive_int,
        default=1,
        help="steps in a call, for accelerators that wait for the host (default: 1)",
    )
    parser.add_argument(
        "--jit-compile",
        action=argparse.BooleanOptionalAction,
        help="compile with XLA (default: where there is an accelerator)",
    )


def make_trainer(arguments, strategy, num_steps, steps_per_evaluation, **options):
    """Returns the `Trainer` that the arguments describe, and further options of it."""
    config = TrainerConfig(
        num_steps=num_steps,
        steps_per_evaluation=arguments.steps_per_evaluation or steps_per_evaluation,
        steps_per_log=max(1, min(50, num_steps // 20)),
        steps_per_checkpoint=arguments.steps_per_checkpoint,
        micro_batches=arguments.micro_batches,
        steps_per_execution=arguments.steps_per_execution,
        jit_compile="auto" if arguments.jit_compile is None else arguments.jit_compile,
        **options,
    )
    return Trainer(arguments.run, config, strategy)


def print_dry_run(results, as_json):
    """Prints what a run would take, as `Trainer.dry_run` measured it."""
    note("dry run: nothing is trained or written")
    if not as_json:
        results["batch"] = {
            name: " x ".join(map(str, shape))
            for name, shape in results["batch"].items()
        }
        if "batches" in results:
            results["batches"] = ", ".join(f"{n} x {k}" for n, k in results["batches"])
        for name in ("variables_memory", "peak_memory"):
            if results[name] is not None:
                results[name] = rich.filesize.decimal(results[name])
    print_results("dry run", results, as_json)


def positive_int(text):
    """Returns the int that `text` says, for argparse."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value


def positive_float(text):
    """Returns the finite number above 0 that `text` says, for argparse."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be greater than 0, not {text}")
    return value


def _recorded_arguments(arguments):
    left_out = ("run", "run_command", "json", "traceback", "dry_run")
    return {k: v for k, v in vars(arguments).items() if k not in left_out}


def check_same_run(arguments):
    """Checks that a folder which holds a run was begun with the same arguments.

    Raises:
        ValueError: If arguments that shape the result differ, with both values; or if
            the run has more steps behind it than it shall have.
    """
    before = recorded_run(arguments.run).get("arguments")
    if before is None:
        return
    done = max(map(step_of, _checkpoint_files(arguments.run)), default=0)
    if arguments.num_steps is not None and arguments.num_steps < done:
        raise ValueError(
            "A run cannot end before it is now. "
            f"Received: --num-steps {arguments.num_steps} for '{arguments.run}', which "
            f"has {done} behind it. Take another --run."
        )
    now = _recorded_arguments(arguments)
    differences = [
        f"{name}={now.get(name)!r} (was {before.get(name)!r})"
        for name in sorted({*before, *now} - CHANGEABLE)
        if before.get(name) != now.get(name)
    ]
    if differences:
        raise ValueError(
            f"The run '{arguments.run}' was begun with other arguments. Received: "
            f"{', '.join(differences)}. Repeat them to go on, or take another --run."
        )


def recorded_run(folder):
    """Returns `run.json` of a run that has begun: of which something was kept.

    Returns:
        Dict; empty where there is no run, or one that ended before its first checkpoint,
        of which a start with other arguments takes nothing over.
    """
    folder = pathlib.Path(folder)
    has_begun = _checkpoint_files(folder) or any(
        path.is_dir() for path in (folder / "model", *folder.glob("collapsed-*"))
    )
    if not (has_begun and (folder / "run.json").is_file()):
        return {}
    return read_description(folder)


def _checkpoint_files(folder):
    return CheckpointFolder(pathlib.Path(folder, "checkpoints"), keep=1).files()


def write_description(arguments, **facts):
    """Writes `run.json`: the command's arguments, and what prediction must know.

    Raises:
        BlockingIOError: If another process is at work in the run.
    """
    content = {"arguments": _recorded_arguments(arguments), **facts}
    with claimed_folder(arguments.run):
        write_json(pathlib.Path(arguments.run, "run.json"), content)


def read_description(folder):
    """Returns the content of `run.json`.

    Raises:
        FileNotFoundError: If `folder` is no run.
    """
    file = pathlib.Path(folder, "run.json")
    if not file.is_file():
        raise FileNotFoundError(
            "A run folder holds `run.json`, written by `pretrain` or `finetune`. "
            f"Received: '{folder}'."
        )
    return read_json(file)


def save_results(folder, model, tokenizer):
    """Writes `model/`, a preset folder with the tokenizer, and the learning curve.

    The curve is drawn where matplotlib is installed (the extra `plots`).
    """
    with atomic_folder(pathlib.Path(folder, "model")) as temporary:
        model.save_to_preset(str(temporary))
        tokenizer.save_to_preset(str(temporary))
    if importlib.util.find_spec("matplotlib"):
        folder = pathlib.Path(folder)
        plot_learning_curve(folder / "log.jsonl", folder / "learning_curve.png")


def model_folder(path):
    """Returns the preset folder of a run, or `path` itself if it is no run.

    Raises:
        FileNotFoundError: If it is a run that has not finished.
    """
    path = pathlib.Path(path)
    if (path / "model").is_dir():
        return path / "model"
    if (path / "run.json").is_file():
        raise FileNotFoundError(
            "A run must have finished before its model can be used. "
            f"Received: '{path}'. Repeat its command to go on."
        )
    return path


def check_fits(tokenizer, config, sequence_length):
    """Checks a tokenizer and a length against a model.

    Raises:
        ValueError: If the sequence is longer than the model's positions, or the
            vocabularies differ.
    """
    if sequence_length > config.max_sequence_length:
        raise ValueError(
            "The sequence must not be longer than the model's positions. Received: "
            f"sequence_length={sequence_length}, "
            f"max_sequence_length={config.max_sequence_length}."
        )
    check_vocabulary_size(tokenizer, config.vocabulary_size)
