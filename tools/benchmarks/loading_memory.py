#!/usr/bin/env python3
"""Measures the memory of loading a checkpoint, in addition to the model's own.

A random model of a published size is saved in each format. One new process builds the
model, a second one loads it. The difference between the second's peak resident set and
the first's resident set is printed as a share of the file size.

example:
  tools/benchmarks/loading_memory.py --preset albert_xxlarge_v2 --json
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

FORMATS = ("google", "huggingface", "pytorch", "keras_hub", "keras")

SAVE = """
import sys
import keras
from albert_keras import AlbertBackbone, save_checkpoint
_, preset, format, folder = sys.argv
keras.utils.set_random_seed(1)
model = AlbertBackbone.from_config_preset(preset)
if format == "pytorch":
    import os
    import torch
    from safetensors.torch import load_file
    save_checkpoint(model, folder, "huggingface")
    tensors = load_file(f"{folder}/model.safetensors")
    torch.save(tensors, f"{folder}/pytorch_model.bin")
    os.remove(f"{folder}/model.safetensors")
else:
    save_checkpoint(model, folder, format)
"""
BUILD = """
import sys
from albert_keras import AlbertBackbone
model = AlbertBackbone.from_config_preset(sys.argv[1])
print(open("/proc/self/status").read())
"""
LOAD = """
import sys
from albert_keras import load_checkpoint
model = load_checkpoint(sys.argv[1], head=None)
print(open("/proc/self/status").read())
"""


def main():
    arguments = parse()
    built = memory(BUILD, arguments.preset, field="VmRSS")
    results = {"preset": arguments.preset, "model_gibibytes": built, "shares": {}}
    for name in arguments.formats:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            run(SAVE, arguments.preset, name, f"{folder}/checkpoint")
            files = pathlib.Path(folder, "checkpoint").rglob("*")
            file_size = sum(f.stat().st_size for f in files if f.is_file()) / 2**30
            loaded = memory(LOAD, f"{folder}/checkpoint", field="VmHWM")
        share = (loaded - built) / file_size
        results["shares"][name] = share
        print(
            f"{name:12} file {file_size:.2f} GiB, model {built:.2f} GiB, peak "
            f"{loaded:.2f} GiB: {share:.2f} of the file above the model",
            file=sys.stderr,
        )
    if arguments.json:
        print(json.dumps(results))


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="albert_xxlarge_v2")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS)
    parser.add_argument("--folder", help="folder of the temporary files")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def memory(code, *words, field):
    """Returns a memory field of a process at its end, in GiB."""
    status = run(code, *words)
    (kibibytes,) = re.findall(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
    return int(kibibytes) / 2**20


def run(code, *words):
    """Runs Python code in a new process and returns its output."""
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"A measurement failed. Received: {done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
