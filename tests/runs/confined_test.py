"""SavedModels in a process that cannot write files."""

import subprocess
import sys

import pytest
import tensorflow as tf

from albert_keras.runs.confined import ConfinedPredictor, open_confined


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


def predictor_of(*lines, then="pass"):
    """Returns the predictor of a process that sends some lines."""
    code = "; ".join([*(f"print('{line}', flush=True)" for line in lines), then])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        return ConfinedPredictor("a/model", process)


def test_a_system_that_cannot_deny_writing_is_said_to_be_one(capsys):
    predictor = predictor_of('{"confined": false}', ABOUT)
    assert (predictor.is_confined, predictor.takes_pairs) == (False, True)
    (line,) = capsys.readouterr().err.splitlines()
    assert "this system cannot deny it" in line


def test_errors_and_crashes_of_the_process_are_plain():
    with pytest.raises(ValueError, match="^it takes no text$"):
        predictor_of('{"confined": true}', '{"error": "it takes no text"}')
    with pytest.raises(
        RuntimeError, match="'a/model' must .* its end, with status -6."
    ):
        predictor_of('{"confined": true}', then="import os; os.abort()")
