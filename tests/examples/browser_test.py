"""The pages of the browser's example, in a browser, on exported folders."""

import functools
import http.server
import json
import queue
import shutil
import subprocess
import threading

import pytest

from albert_keras.export import export_onnx
from albert_keras.models import AlbertTextClassifier, AlbertTextEmbedder
from albert_keras.preprocessors import (
    AlbertTextClassifierPreprocessor,
    AlbertTextEmbedderPreprocessor,
)
from tests.javascript import EXAMPLE, PACKAGES, needs_packages
from tests.tasks.task_checks import LENGTH, make_backbone, make_tokenizer

pytest.importorskip("tf2onnx")
BROWSER = shutil.which("chromium")
TEXT = "The baker counts storms."

# It holds the page, and tells the server what the page says at last.
WATCH = f"""<!doctype html><iframe src="PAGE?text={TEXT}"></iframe><script>
const page = document.querySelector("iframe").contentWindow;
const text = (element) => element.textContent;
setInterval(() => {{
  const cells = Array.from(page.document.querySelectorAll("td"), text);
  const state = Array.from(page.document.querySelectorAll("#state"), text).join();
  if (cells.length || state.startsWith("The model"))
    fetch("/", {{ method: "POST", body: JSON.stringify([state, ...cells]) }});
}}, 100);
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """A static server, which also takes what the page says."""

    def __init__(self, said, *arguments, **options):
        self.said = said
        super().__init__(*arguments, **options)

    def do_POST(self):
        self.said.put(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def rows_in_browser(name, model, folder):
    """Returns the table of a page as a dict, in its order, for a model in a folder."""
    export_onnx(model, folder / "page" / name, names="huggingface")
    pages = {"model": "index.html", "embedder": "search.html"}
    for file in ("page.js", "style.css", pages[name]):
        shutil.copy(EXAMPLE / file, folder / "page")
    watch = WATCH.replace("PAGE", pages[name])
    (folder / "page" / "watch.html").write_text(watch, "utf-8")
    (folder / "page" / "node_modules").symlink_to(PACKAGES)
    state, *cells = said_in_browser(folder / "page", folder / "profile")
    assert state.endswith(" ms"), state
    return dict(zip(cells[::2], map(float, cells[1::2]), strict=True))


def said_in_browser(folder, profile):
    said = queue.Queue()
    handler = functools.partial(Handler, said, directory=folder)
    words = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    words += ["--disable-background-networking", f"--user-data-dir={profile}"]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/watch.html"
        with subprocess.Popen([*words, address], stderr=subprocess.DEVNULL) as process:
            try:
                return said.get(timeout=120)
            finally:
                process.terminate()
                process.wait()
                server.shutdown()


needs_browser = pytest.mark.skipif(not BROWSER, reason="chromium is not installed")


@pytest.mark.slow
@needs_packages
@needs_browser
def test_the_page_gives_the_probabilities_of_python(tmp_path):
    preprocessor = AlbertTextClassifierPreprocessor(make_tokenizer(), LENGTH)
    model = AlbertTextClassifier(
        make_backbone(), 2, preprocessor, activation="sigmoid", labels=["dull", "göod"]
    )
    found = rows_in_browser("model", model, tmp_path)
    (expected,) = model.predict([TEXT], verbose=0)
    assert found == pytest.approx(
        dict(zip(model.labels, expected, strict=True)), abs=1e-5
    )


@pytest.mark.slow
@needs_packages
@needs_browser
def test_the_page_finds_the_texts_with_the_highest_cosines(tmp_path):
    preprocessor = AlbertTextEmbedderPreprocessor(make_tokenizer(), LENGTH)
    # What transformers.js pools by itself would be others.
    model = AlbertTextEmbedder(make_backbone(), preprocessor, "max", dense_dim=5)
    found = rows_in_browser("embedder", model, tmp_path)
    assert len(found) == 3
    assert [*found.values()] == sorted(found.values(), reverse=True)
    query, *vectors = model.encode_text([TEXT, *found], verbose=0)
    assert [*found.values()] == pytest.approx([v @ query for v in vectors], abs=1e-5)
