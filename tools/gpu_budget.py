#!/usr/bin/env python3
"""Spends minutes of one GPU: measures the speed of training, then pretrains a model.

The model has 12 applications of one layer of width 384; rows and depth grow on the way,
under one rate schedule. Its steps are chosen so that training takes what measuring leaves
of the minutes. After `--seconds` the tool stops with status 75; called again, it resumes
exactly where it stopped. The results folder gets:

  results.jsonl           a line for each measured preset, the phases, and the scores
  speed-PRESET.json       as tools/benchmarks/training.py prints it
  run/                    the run: log.jsonl, learning_curve.png, checkpoints, model

PACK holds `tokens`, a token store, and `vocabulary.model`.

example:
  tools/gpu_budget.py PACK results --minutes 60 --seconds 540
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras.pretraining.phases import Phase
from albert_keras.system.files import read_json, write_json

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The status of commands that are to be tried again (sysexits.h).
UNFINISHED = 75
# Time for the last step and its checkpoint.
RESERVE_SECONDS = 30
# Of a call without a limit: ten days.
LONG_SECONDS = 864_000

SHORT = "masking=token,masked_rate=0.2"
# Shares of the time, and what is trained in it.
PHASES = (
    (0.10, f"batch_size=1024,sequence_length=32,num_layers=1,{SHORT}"),
    (0.10, f"batch_size=1024,sequence_length=32,num_layers=3,{SHORT}"),
    (0.15, f"batch_size=1024,sequence_length=64,num_layers=6,{SHORT}"),
    (0.65, "batch_size=512,sequence_length=128,masked_rate=0.2"),
)
WARMUP = 0.06
TRAINING = (
    *("--preset", "albert_small_zh", "--num-layers", "12", "--num-heads", "6"),
    *("--max-sequence-length", "128", "--precision", "mixed_bfloat16", "--jit-compile"),
    *("--optimizer", "adamw", "--learning-rate", "0.001", "--seed", "1"),
)
TINY = (
    *("--hidden-dim", "24", "--num-heads", "2", "--num-layers", "2"),
    *("--precision", "float32"),
)
TINY_SPEED = (
    *("--preset", "albert_test", "--batch-size", "3", "--sequence-length", "17"),
    *("--num-predictions", "5", "--device", "cpu", "--rounds", "1", "--steps", "1"),
    *("--only", "peak_jax_bfloat16", "albert_keras_jax_bfloat16"),
)
# By preset: rows of 128 tokens whose activations fit in 40 GB, for PyTorch too.
BATCH_SIZES = {"albert_base_v2": 256, "albert_xxlarge_v2": 32}


class Budget:
    """The measurements and the training of a budget, in a folder of results.

    Args:
        arguments: As `parse` returns them.
    """

    def __init__(self, arguments):
        self.pack, self.results = arguments.pack, arguments.results
        self.seconds_of_training = 60 * arguments.minutes
        self.is_tiny = arguments.tiny
        self.deadline = time.monotonic() + (arguments.seconds or LONG_SECONDS)

    def measure_speed(self, preset):
        """Compares the training of a preset with PyTorch's, in turn; keeps the result."""
        file = self.results / f"speed-{preset}.json"
        if not file.exists():
            words = ["tools/benchmarks/training.py", "--json", "--preset", preset]
            words += ["--batch-size", BATCH_SIZES[preset], "--device", "gpu"]
            words += ["--threads", os.cpu_count(), "--steps", 10]
            words += TINY_SPEED if self.is_tiny else []
            start = time.monotonic()
            measured = json.loads(self._run(words))
            seconds = time.monotonic() - start
            write_json(file, {"preset": preset, "seconds": seconds, **measured})
        self.seconds_of_training -= read_json(file)["seconds"]

    def choose_phases(self):
        """Returns the phases, whose steps are measured once, by a dry run."""
        file = self.results / "phases.json"
        if not file.exists():
            start = time.monotonic()
            phases = [self._phase(text) for _, text in PHASES]
            printed = self._run([*self._pretrain(phases), "--dry-run", "--json"])
            measured = json.loads(printed)["phases"].values()
            seconds = self.seconds_of_training - (time.monotonic() - start)
            sized = [
                str(phase.resized(seconds * share / 1000 / step["seconds_per_step"], 1))
                for (share, _), phase, step in zip(
                    PHASES, phases, measured, strict=True
                )
            ]
            write_json(file, {"phases": sized, "seconds": seconds})
        return read_json(file)["phases"]

    def train(self, phases):
        """Trains to the end, or until the time of this call has passed."""
        num_steps = sum(Phase.parse(phase).num_steps for phase in phases)
        words = [*self._pretrain(phases), "--warmup-steps", round(WARMUP * num_steps)]
        # A checkpoint takes a second, and an evaluation some more.
        self._run([*words, "--steps-per-evaluation", max(1, num_steps // 40)])

    def write_results(self, phases):
        """Writes all that was measured as lines of JSON."""
        speeds = map(read_json, sorted(self.results.glob("speed-*.json")))
        report = read_json(self.results / "run/report.json")
        lines = [*speeds, {"phases": phases}, report]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (self.results / "results.jsonl").write_text(text, "utf-8")
        print(text, end="")

    def _phase(self, text):
        phase = Phase.parse(f"num_steps=1000,{text}")
        if not self.is_tiny:
            return phase
        num_layers = phase.num_layers and max(1, phase.num_layers // 6)
        return dataclasses.replace(phase.resized(1, 1 / 128), num_layers=num_layers)

    def _pretrain(self, phases):
        data, vocabulary = self.pack / "tokens", self.pack / "vocabulary.model"
        words = ["-m", "albert_keras", "pretrain", "--data", data]
        words += ["--tokenizer", vocabulary, "--run", self.results / "run"]
        words += [*TRAINING, *(TINY if self.is_tiny else [])]
        return [*words, "--phases", *phases]

    def _run(self, words):
        """Runs Python; returns what it prints.

        Raises:
            TimeoutError: If the time of this call is over. The program was told to stop.
        """
        left = self.deadline - time.monotonic() - RESERVE_SECONDS
        if left <= 0:
            raise TimeoutError
        environment = {
            "KERAS_BACKEND": "jax",
            # Compiled programs are kept for the next call.
            "JAX_COMPILATION_CACHE_DIR": str(self.results / "compiled"),
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT), os.environ.get("PYTHONPATH", "")]
            ),
        }
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            env=environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            output, _ = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            raise TimeoutError from None
        if process.returncode:
            sys.exit(process.returncode)
        return output


def main(argv=None):
    """Does what is left to do; returns the exit status."""
    arguments = parse(argv)
    budget = Budget(arguments)
    budget.results.mkdir(parents=True, exist_ok=True)
    try:
        for preset in arguments.speed:
            budget.measure_speed(preset)
        phases = budget.choose_phases()
        budget.train(phases)
    except TimeoutError:
        print(f"Not finished: call again to go on. Results so far: {budget.results}.")
        return UNFINISHED
    budget.write_results(phases)
    return 0


def parse(argv):
    """Returns the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("pack", "results"):
        parser.add_argument(name, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--minutes", type=float, required=True, help="budget")
    parser.add_argument(
        "--seconds", type=float, help="of this call (default, and 0: no limit)"
    )
    parser.add_argument(
        "--speed", nargs="*", default=[], choices=BATCH_SIZES, help="of which presets"
    )
    parser.add_argument("--tiny", action="store_true", help="a trial on the processor")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
