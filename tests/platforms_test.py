"""The package imports, and shows its help, where modules of Linux are absent."""

import subprocess
import sys

import pytest

# On macOS there is no `sched_getaffinity`, on Windows none of these.
OTHER_PLATFORM = """
import contextlib, importlib, io, os, pkgutil, signal, sys
sys.modules.update(dict.fromkeys(["fcntl", "resource"]))
del os.sched_getaffinity, signal.pthread_sigmask

import albert_keras
from albert_keras import cli

for module in pkgutil.walk_packages(albert_keras.__path__, "albert_keras."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

for command in cli.COMMANDS:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            cli.parse([command, "--help"])
        except SystemExit as end:
            assert end.code == 0, command
    assert f"albert-keras {command}" in output.getvalue()

from albert_keras.training.dry_run import peak_memory

assert peak_memory() is None
"""


@pytest.mark.slow
def test_imports_and_help_without_modules_of_linux():
    command = [sys.executable, "-c", OTHER_PLATFORM]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
