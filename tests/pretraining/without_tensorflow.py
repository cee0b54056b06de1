"""Runs scripts in a process that cannot import TensorFlow and Keras."""

import pickle
import subprocess
import sys

_BEGINNING = """
import pickle, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "tensorflow_text", "keras", "keras_hub"):
            raise ImportError(f"{name} is not to be imported here")

sys.meta_path.insert(0, Blocker())
given = pickle.load(sys.stdin.buffer)
"""

_PREPARATION = """
from albert_keras.pretraining import prepare_pretraining_data

class Tokenizer:
    def __init__(self, encoder, fingerprint):
        self.encoder, self.fingerprint = encoder, lambda: fingerprint

corpus, encoder, fingerprint, config, calls = given
tokenizer = Tokenizer(encoder, fingerprint)
for folder, options in calls.items():
    prepare_pretraining_data(corpus, tokenizer, folder, config, **options)
"""


def run_without_tensorflow(script, given, *flags):
    """Runs a script that has the variable `given`.

    Args:
        script: str.
        given: Anything that pickles.
        *flags: str, for Python.

    Returns:
        `subprocess.CompletedProcess` with bytes; its exit status is checked.
    """
    done = subprocess.run(
        [sys.executable, *flags, "-c", _BEGINNING + script],
        input=pickle.dumps(given),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done


def prepare_without_tensorflow(corpus, tokenizer, config, calls, *flags):
    """Calls `prepare_pretraining_data` there for each `{folder: options}`.

    Returns:
        Its standard error, str.
    """
    encoder, fingerprint = tokenizer.encoder, tokenizer.fingerprint()
    given = corpus, encoder, fingerprint, config, calls
    return run_without_tensorflow(_PREPARATION, given, *flags).stderr.decode()
