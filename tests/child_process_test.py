"""Modules that run as programs in processes of their own."""

import subprocess

from albert_keras.child_process import python_program


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
