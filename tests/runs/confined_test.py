"""SavedModels in a process that cannot write files."""

import contextlib
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from albert_keras.runs.confined import ConfinedPredictor, open_confined

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Writer(tf.Module):
    """A model that writes a file of the name of each text."""

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "text")])
    def serve(self, text):
        tf.print("no reply")
        with tf.control_dependencies([tf.map_fn(write, text)]):
            return {"logits": tf.one_hot(tf.strings.length(text), 3)}


def write(path):
    tf.io.write_file(path, "written")
    return path


@pytest.mark.slow
def test_a_model_that_writes_files_is_refused(tmp_path):
    model, written, writer = tmp_path / "model", tmp_path / "written", Writer()
    tf.saved_model.save(writer, str(model), {"serving_default": writer.serve})
    with open_confined(model) as predictor:
        assert (predictor.labels, predictor.takes_pairs) == (None, False)
        if not predictor.is_confined:
            pytest.skip("This kernel has no Landlock.")
        with pytest.raises(ValueError, match="model', which fails: PermissionDen"):
            predictor.predict([str(written)], 2)
    assert not written.exists()


ABOUT = '{"labels": null, "several_hold": false, "takes_pairs": true}'


@contextlib.contextmanager
def predictor_of(*lines, then="pass"):
    """Yields the predictor of a process that sends some lines."""
    code = "; ".join([*(f"print('{line}', flush=True)" for line in lines), then])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        yield ConfinedPredictor("a/model", process)


def test_a_system_that_cannot_deny_writing_is_said_to_be_one(capsys):
    with predictor_of('{"confined": false}', ABOUT) as predictor:
        assert (predictor.is_confined, predictor.takes_pairs) == (False, True)
    (line,) = capsys.readouterr().err.splitlines()
    assert "this system cannot deny it" in line


def test_errors_and_crashes_of_the_process_are_plain():
    answers = predictor_of('{"confined": true}', '{"error": "it takes no text"}')
    with pytest.raises(ValueError, match="^it takes no text$"), answers:
        pass
    crashes = predictor_of('{"confined": true}', then="import os; os.abort()")
    with pytest.raises(RuntimeError, match="'a/model' must .* end, with status -6."):
        with crashes:
            pass


def test_a_process_that_ends_while_it_sends_arrays_has_crashed():
    half = ('{"num_bytes": 100}', "PK")
    with predictor_of('{"confined": true}', ABOUT, *half, then="exit(7)") as predictor:
        with pytest.raises(RuntimeError, match="must answer.* with status 7."):
            predictor.predict(["a text"], 1)


INTERRUPTED = """
import os, signal
from albert_keras.runs import confined

def answer(*_):
    os.kill(os.getpid(), signal.SIGINT)
    return b"whole"

confined._load = lambda *_: answer
confined.main()
"""


def test_an_interrupt_is_left_to_the_parent():
    command = [sys.executable, "-c", INTERRUPTED, "a/model"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, input="a request\n"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("whole")
