"""Modules that run as programs in processes of their own, and usable cores."""

import os
import subprocess

import pytest

from albert_keras.system.child_process import python_program, usable_cores


def test_modules_are_found_where_this_process_finds_them(tmp_path, monkeypatch):
    found, working = tmp_path / "found", tmp_path / "working"
    for folder in (found, working):
        folder.mkdir()
    (found / "program.py").write_text("import json, sys; print(json.dumps(sys.argv))")
    (working / "json.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(found)
    monkeypatch.chdir(working)
    program = python_program("program", 3, tmp_path)
    done = subprocess.run(**program, capture_output=True, text=True, check=True)
    assert done.stdout == f'["{found}/program.py", "3", "{tmp_path}"]\n'


@pytest.mark.parametrize("system", ["linux", "others"])
def test_cores_where_affinity_is_unknown(system, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 13)
    if system == "linux":
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda process: {0, 3}, raising=False
        )
        assert usable_cores() == 2
    else:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        assert usable_cores() == 13
