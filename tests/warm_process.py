"""What `forked_processes` forks: importing this imports the modules of the commands."""

import contextlib
import gc
import importlib
import os
import sys
import unicodedata

# What TensorFlow says while it is imported. Forks have their own standard error.
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

from albert_keras import cli  # noqa: E402
from albert_keras.tokenizers.normalization import code_points  # noqa: E402

with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
    cli.main(["--version"])
# As in conftest.py, which a process of its own does not import.
gc.set_threshold(200_000, 50, 100)
for name in (
    *("export.tflite", "runs.finetuning", "runs.inference", "runs.pretraining"),
    *("cli.convert", "cli.export", "cli.prepare_data", "cli.pretrain"),
    *("cli.train_vocabulary", "pretraining.preparation"),
):
    importlib.import_module(f"albert_keras.{name}")
# Each scans all of Unicode.
for predicate in (str.isspace, unicodedata.combining):
    code_points(predicate)
# The garbage collector need not visit, and so copy, what all forks share.
gc.freeze()
