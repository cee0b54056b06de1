"""Errors as one line."""

import os
import zipfile

import pytest

from albert_keras import options
from albert_keras.cli import analyze, main
from albert_keras.cli.errors import describe_error, one_line

WORDS = ["evaluate", "a run", "--data", "b"]
COMMAND = "(in `evaluate 'a run' --data b`; --traceback shows where)"


def raised(error):
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_texts_become_one_printable_line():
    assert one_line("a\n\tb\x1b[31m\udcff é") == "a b\\x1b[31m\\udcff é"
    line = one_line("begin " + "a b\n" * 1_000_000 + "end")
    assert len(line) == 470
    assert line.startswith("begin a b a b")
    assert " [...]" in line
    assert line.endswith("a b end")
    assert len(one_line("\x1b" * 300)) == 470


def test_errors_of_this_package_are_complete():
    with pytest.raises(ValueError, match="inf") as caught:
        options.check_unused({"a": 1}, ["a"], "information")
    line = "These options have no effect with information. Received: a=1. Remove them."
    assert describe_error(caught.value, WORDS) == line


def test_errors_of_the_system_are_plain():
    error = raised(OSError(28, "No space left on device", "a\nb"))
    line = describe_error(error, WORDS)
    assert line.startswith("No space left on device: 'a b'. Make room, and repeat")
    error = raised(OSError(2, "No such file or directory", "a"))
    assert describe_error(error, WORDS) == "No such file or directory: 'a'"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "MemoryError"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (KeyError("a\nb"), r"KeyError: 'a\nb'"),
        (zipfile.BadZipFile("bad\nCRC"), "BadZipFile: bad CRC"),
        (ValueError("of a library"), "ValueError: of a library"),
    ],
)
def test_other_errors_have_a_type_and_the_command(error, said):
    assert describe_error(raised(error), WORDS) == f"{said} {COMMAND}"


def test_errors_of_tensorflow_are_without_graph():
    import tensorflow as tf

    def fail(_):
        raise ValueError("A record must be whole. Received: damaged.")

    data = tf.data.Dataset.range(3).map(lambda x: tf.py_function(fail, [x], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Traceback") as caught:
        list(data)
    line = describe_error(caught.value, WORDS)
    said = "ValueError: A record must be whole. Received: damaged."
    assert line.startswith("InvalidArgumentError: ")
    assert line.endswith(f"{said} {COMMAND}")
    assert len(line) < 500
    assert not any(part in line for part in ("Traceback", "File", "{{", "[["))


def test_any_error_ends_with_one_line_and_status_1(monkeypatch, capsys):
    def run(arguments):
        raise KeyError("x" * 1_000_000)

    monkeypatch.setattr(analyze, "run", run)
    words = ["analyze", "parameters"]
    assert main(words) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("albert-keras: error: KeyError: 'xxx")
    assert line.endswith("(in `analyze parameters`; --traceback shows where)")
    assert len(line) < 500
    with pytest.raises(KeyError, match="x{1000000}"):
        main([*words, "--traceback"])


def test_arguments_are_text(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["predict", "run", "a\udcff"])
    assert stopped.value.code == 2
    error, _ = capsys.readouterr().err.splitlines()
    end = r"arguments must be text in UTF-8: a\udcff"
    assert error == f"albert-keras predict: error: {end}"


@pytest.mark.parametrize("options", [[], ["--traceback"]])
def test_errors_of_what_ctrl_c_interrupted_are_the_interruption(
    monkeypatch, capsys, options
):
    def run(arguments):
        try:
            raise KeyboardInterrupt
        finally:
            # As `shutil.rmtree` does after an interruption between two of its lines.
            os.close(-1)

    monkeypatch.setattr(analyze, "run", run)
    assert main(["analyze", "parameters", *options]) == 130
    assert capsys.readouterr().err == "albert-keras: interrupted\n"
