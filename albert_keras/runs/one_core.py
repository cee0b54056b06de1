"""Commands of this package in processes of their own, on one core each."""

import subprocess

from albert_keras.child_process import python_program

# One thread each, for processes that run side by side.
ONE_THREAD = {
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


def run_on_one_core(words, stdout=subprocess.DEVNULL, stderr=None):
    """Runs a command of this package and waits for it.

    Args:
        words: List of str, the command and its arguments.
        stdout, stderr: As of `subprocess.run`.

    Returns:
        `subprocess.CompletedProcess`.

    Raises:
        subprocess.CalledProcessError: If the command fails.

    Example:

    ```python
    run_on_one_core(["pretrain", "--data", "tokens", "--run", "runs/base"])
    ```
    """
    program = python_program("albert_keras", *words)
    program["env"] |= ONE_THREAD
    return subprocess.run(**program, stdout=stdout, stderr=stderr, check=True)
