"""Execution of the notebooks in `colab/`, offline and with small sizes."""

import pathlib
import sys

import nbclient
import nbformat

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "colab"
NUM_STEPS = 6
# Nothing listens there: requests to other machines fail at once.
NOWHERE = "http://127.0.0.1:9"
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "NO_PROXY": "localhost,127.0.0.1",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), NOWHERE),
}


def execute(number, folder, monkeypatch):
    """Executes a notebook in an empty folder; returns what its cells print.

    Cells with the tag `skip-execution`, which install packages, are left out.
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
    client.execute()
    return "".join(
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output["output_type"] == "stream" and output["name"] == "stdout"
    )
