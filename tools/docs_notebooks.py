"""Pages of the site from the notebooks in `colab/`: a hook of MkDocs.

The notebooks are stored without outputs. With the environment variable
`EXECUTE_NOTEBOOKS` set they are executed first, which takes minutes, and their outputs
are on the pages. It needs nbclient and ipykernel, of the extra `test`.
"""

import base64
import json
import os
import pathlib
import re
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "colab"
# Cells that only Colab needs: the licence, and the package's installation.
LEFT_OUT = ("licence", "install")
CONTROL_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def on_files(files, config):
    """Adds a page for each notebook, and the images among its outputs."""
    from mkdocs.structure.files import File

    for path in sorted(FOLDER.glob("*.ipynb")):
        for uri, content in pages_of(path).items():
            files.append(File.generated(config, f"notebooks/{uri}", content=content))
    return files


def pages_of(path):
    """Returns the Markdown page of a notebook and its images, by file name."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    if os.environ.get("EXECUTE_NOTEBOOKS"):
        cells = executed_cells(path)
    parts, images = [], {}
    for cell in cells:
        name, source = cell["metadata"]["id"], "".join(cell["source"])
        if name == "links":
            colab, source_page = re.findall(r'href="([^"]+)"', source)
            parts.append(f"[Run it in Colab]({colab}) · [Its file]({source_page})")
        elif cell["cell_type"] == "markdown":
            parts.append(source)
        elif name not in LEFT_OUT:
            parts.append(f"```python\n{source}\n```")
            for output in cell["outputs"]:
                data = output.get("data", {})
                if image := data.get("image/png"):
                    file = f"{path.stem}_{len(images)}.png"
                    images[file] = base64.b64decode("".join(image))
                    parts.append(f"![Output of the code above]({file})")
                elif html := data.get("text/html"):
                    # Markdown would end it at an empty line.
                    html = re.sub(r"\n\s*\n", "\n", "".join(html))
                    parts.append(f"<div>\n{html}\n</div>")
                elif text := data.get("text/plain", output.get("text")):
                    text = CONTROL_CODES.sub("", "".join(text)).rstrip()
                    parts.append(f'```text title="Output"\n{text}\n```')
    return {f"{path.stem}.md": "\n\n".join(parts) + "\n", **images}


def executed_cells(path):
    """Executes a notebook in an empty folder; returns its cells with their outputs."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        options = {"kernel_name": "python3", "skip_cells_with_tag": "skip-execution"}
        nbclient.execute(notebook, folder, timeout=3600, **options)
    # Libraries print warnings on standard error.
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
    return notebook.cells
