"""Commands in processes of their own."""

import subprocess

import pytest

from albert_keras.runs import one_core
from albert_keras.runs.one_core import run_on_one_core
from albert_keras.version import __version__


def test_commands_run_apart():
    printed = run_on_one_core(["--version"], subprocess.PIPE)
    assert __version__ in printed.stdout.decode()
    with pytest.raises(subprocess.CalledProcessError):
        run_on_one_core(["unknown"], stderr=subprocess.DEVNULL)


def test_they_have_one_thread(monkeypatch):
    given = {}
    monkeypatch.setattr(one_core.subprocess, "run", lambda **call: given.update(call))
    run_on_one_core(["pretrain", "--run", "a"])
    assert given["args"][-3:] == ["pretrain", "--run", "a"]
    assert given["env"]["TF_NUM_INTRAOP_THREADS"] == "1"
    assert given["check"]
