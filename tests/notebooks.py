"""Execution of the notebooks in `colab/`, offline and with small sizes."""

import contextlib
import os
import pathlib
import sys
from unittest import mock

import nbclient
import nbformat
from ipykernel import kernelapp
from jupyter_client.provisioning import local_provisioner

from tests.forked_processes import ForkedProcess
from tests.processes import wait_until

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "colab"
NUM_STEPS = 6
# Nothing listens there: requests to other machines fail at once.
NOWHERE = "http://127.0.0.1:9"
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "NO_PROXY": "localhost,127.0.0.1",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), NOWHERE),
}


class ForkedKernel(ForkedProcess):
    """A kernel that starts with TensorFlow imported; in place of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, command, cwd, env, **options):
        connection_file = command[command.index("-f") + 1]
        super().__init__(run_kernel, connection_file, cwd, **env)
        # Signals go to its group, which until then is that of this process.
        wait_until(lambda: os.getpgid(self.pid) == self.pid)

    def send_signal(self, number):
        os.kill(self.pid, number)


def run_kernel(connection_file, folder):
    """Is the whole process of a kernel."""
    os.chdir(folder)
    kernelapp.launch_new_instance(["-f", connection_file])


def execute(number, folder, monkeypatch, forks=True):
    """Executes a notebook in an empty folder; returns what its cells print.

    Cells with the tag `skip-execution`, which install packages, are left out. A notebook
    that chooses the backend needs a process that has not imported Keras: `forks=False`.
    """
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    notebook = nbformat.read(path, as_version=4)
    environment = {"ALBERT_KERAS_NOTEBOOK_STEPS": str(NUM_STEPS), **OFFLINE}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)
    # This checkout's package, though the kernel starts in another folder.
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parent))
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        skip_cells_with_tag="skip-execution",
    )
    # That of this environment, whatever kernels are installed for the user.
    client.create_kernel_manager().kernel_spec.argv[0] = sys.executable
    starts = mock.patch.object(local_provisioner, "launch_kernel", ForkedKernel)
    with starts if forks else contextlib.nullcontext():
        client.execute()
    return "".join(
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output["output_type"] == "stream" and output["name"] == "stdout"
    )
