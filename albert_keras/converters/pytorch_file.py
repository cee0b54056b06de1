"""PyTorch's `.bin` files, read by PyTorch in a process of its own, with limits."""

import os
import pathlib
import signal
import subprocess
import tempfile

from albert_keras.checks import shortened
from albert_keras.child_process import python_program
from albert_keras.converters import pytorch_process
from albert_keras.converters.safetensors_file import read_safetensors

# The process has a limit of its time on the processor; this one is for systems without.
_SECONDS, _SECONDS_PER_BYTE = 300, 1e-6


def read_pytorch(file):
    """Returns the tensors of a state dict that `torch.save` wrote, as `StoredTensors`.

    Nothing in the file is executed. A crafted file can end only the process that reads
    it, `pytorch_process`. Its limits: memory and time on Linux, time on the processor on
    macOS, and everywhere 300 seconds and one more for each MB. Takes a temporary file of
    about the same size.

    Raises:
        ImportError: If PyTorch is absent.
        ValueError: If the file is damaged, or takes more time or memory than its size
            explains.
    """
    # Used after it is removed, where systems allow it: the file stays open.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        target = pathlib.Path(folder, "model.safetensors")
        _rewrite(pathlib.Path(file).resolve(), target)
        return read_safetensors(target)


def _rewrite(file, target):
    """Runs the program that writes the tensors of a file to another one."""
    seconds = _SECONDS + _SECONDS_PER_BYTE * os.path.getsize(file)
    try:
        process = subprocess.run(
            **python_program(pytorch_process.__name__, file, target),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise _over_limits(file, f"takes more than {seconds:.0f} seconds.") from error
    status, message = process.returncode, process.stdout.strip()
    if status in pytorch_process.ERRORS and message:
        raise pytorch_process.ERRORS[status](message)
    if status != 0:
        end = signal.Signals(-status).name if status < 0 else f"status {status}"
        last_line = process.stderr.strip().rpartition("\n")[2]
        raise _over_limits(file, f"ended it by {end}. {shortened(last_line)}")


def _over_limits(file, what):
    return ValueError(
        "PyTorch must read the weights within limits of memory and time. "
        f"Received: '{file}', which {what}"
    )
