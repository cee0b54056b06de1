"""Prediction with a SavedModel in a process that cannot write files.

A SavedModel is a program, whose operations may write any file that its user may write.
The process takes a request and gives replies through pipes: JSON lines and NumPy arrays.
NumPy is imported late, because its threads would keep the right to write.
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile

from albert_keras.child_process import python_program
from albert_keras.confinement import deny_writes
from albert_keras.runs.reporting import note


class ConfinedPredictor:
    """The predictor of another process.

    `description` is that of its `TaskPredictor` or `IdsPredictor`; of a `TextPredictor`
    it is `None`.
    """

    def __init__(self, path, process):
        self._path, self._process = path, process
        self.is_confined = self._receive()["confined"]
        if not self.is_confined:
            note(
                "a SavedModel can write files, and this system cannot deny it, as Linux "
                "5.13 and later can: use only models that you trust"
            )
        about = self._receive()
        self.labels, self.several_hold = about["labels"], about["several_hold"]
        self.takes_pairs, self.takes_both = about["takes_pairs"], about["takes_both"]
        self.description = about.get("description")

    def predict(self, *request, **named):
        """Returns what `TextPredictor.predict` returns for the same arguments.

        With a `description`, what the `run` of the predictor returns.
        """
        import numpy as np

        request = json.dumps([request, named], default=np.ndarray.tolist)
        requests = self._process.stdin
        try:
            requests.write(request.encode() + b"\n")
            requests.flush()
        except BrokenPipeError:
            # The reply tells why. What was not sent is dropped.
            with contextlib.suppress(BrokenPipeError):
                requests.close()
        num_bytes = self._receive()["num_bytes"]
        content = self._process.stdout.read(num_bytes)
        self._check_whole(len(content) == num_bytes)
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)

    def _receive(self):
        line = self._process.stdout.readline()
        self._check_whole(line.endswith(b"\n"))
        reply = json.loads(line)
        if "error" in reply:
            raise ValueError(reply["error"])
        return reply

    def _check_whole(self, is_whole):
        """Raises a RuntimeError if the process ended before a whole reply."""
        if not is_whole:
            raise RuntimeError(
                f"The process that runs '{self._path}' must answer. "
                f"Received: its end, with status {self._process.wait()}."
            )


@contextlib.contextmanager
def open_confined(path):
    """Yields the `ConfinedPredictor` of a SavedModel folder, which uses no GPU.

    Raises:
        ValueError: If the model does not take text, or cannot run without writing.
        RuntimeError: If its process crashes.
    """
    process = subprocess.Popen(
        **python_program(__name__, path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        try:
            yield ConfinedPredictor(path, process)
        finally:
            process.kill()


def _load(path, send):
    """Describes a model; returns a function from a request to the bytes of an `.npz`."""
    import numpy as np

    from albert_keras.export import load_exported

    predictor = load_exported(path)
    send(
        labels=predictor.labels,
        several_hold=predictor.several_hold,
        takes_pairs=predictor.takes_pairs,
        takes_both=predictor.takes_both,
        description=predictor.description,
    )
    run = predictor.predict if predictor.description is None else predictor.run

    def answer(request):
        arguments, named = json.loads(request)
        content = io.BytesIO()
        np.savez(content, **run(*arguments, **named))
        return content.getvalue()

    return answer


def main():
    """Is the other process, with the model's path as its argument."""
    (path,) = sys.argv[1:]
    # Ctrl-C is for the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), "wb")
    # What the model prints is no reply.
    os.dup2(2, 1)

    def send(**reply):
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()

    # TensorFlow asks for its name, which Python finds by writing.
    tempfile.gettempdir()
    send(confined=deny_writes())
    try:
        answer = _load(path, send)
        for request in sys.stdin.buffer:
            content = answer(request)
            send(num_bytes=len(content))
            replies.write(content)
            replies.flush()
    except Exception as error:
        message = str(error)
        if not isinstance(error, (ValueError, OSError, ImportError)):
            message = (
                "A SavedModel must run without writing files. "
                f"Received: '{path}', which fails: {type(error).__name__}: {message}"
            )
        send(error=message)
    # Without the end of TensorFlow, which takes time.
    os._exit(0)


if __name__ == "__main__":
    main()
