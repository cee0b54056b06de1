"""The server as a process of its own, asked over loopback."""

import concurrent.futures
import http.client
import json
import shutil
import signal
import subprocess
import urllib.parse

import numpy as np
import pytest

from albert_keras.cli import main
from albert_keras.export import export_saved_model
from albert_keras.models import AlbertQuestionAnswerer, AlbertTextClassifier
from albert_keras.preprocessors import (
    AlbertQuestionAnswererPreprocessor,
    AlbertTextClassifierPreprocessor,
)
from tests.serving.server_process import server_process
from tests.tasks.task_checks import make_backbone, make_tokenizer

BROWSER = shutil.which("chromium")
LABELS = ["bleak", "charming", "of the 50s"]
TEXTS = ["The baker counts storms.", "", "中文 unknown Ω", "storms " * 40]
OPTIONS = "--max-body-bytes 20000 --max-request-rows 9 --batch-delay-ms 5".split()


class Client:
    """Asks one server; answers are `(status, content)`."""

    def __init__(self, address):
        self.host, self.path = address.split("/", 1)

    def ask(self, path, content=None, body=None, encoding="identity"):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        if content is not None:
            body = json.dumps(content)
        method = "GET" if body is None else "POST"
        connection.request(method, path, body, {"content-encoding": encoding})
        response = connection.getresponse()
        found = response.read().decode("utf-8")
        connection.close()
        is_json = response.headers["content-type"] == "application/json"
        return response.status, json.loads(found) if is_json else found

    def predict(self, *arguments, **options):
        return self.ask(f"/{self.path}:predict", *arguments, **options)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder of versions, of which 2 has a text classifier."""
    folder = tmp_path_factory.mktemp("models") / "reviews"
    preprocessor = AlbertTextClassifierPreprocessor(
        make_tokenizer(), sequence_length=19
    )
    model = AlbertTextClassifier(make_backbone(), 3, preprocessor, labels=LABELS)
    export_saved_model(model, folder / "2")
    (folder / "10").mkdir()
    return folder, model


@pytest.fixture(scope="module")
def server(exported):
    """The process of `albert-keras serve` and a client of it."""
    with server_process(exported[0], *OPTIONS) as (process, address):
        yield process, Client(address)


def test_predictions_are_those_of_the_model(server, exported):
    _, client = server
    status, answer = client.predict({"instances": TEXTS})
    assert status == 200
    logits = exported[1].predict(TEXTS, verbose=0)
    found = np.array([row["logits"] for row in answer["predictions"]])
    assert np.abs(found - logits).max() < 1e-5
    expected = [LABELS[best] for best in logits.argmax(axis=-1)]
    assert [row["label"] for row in answer["predictions"]] == expected
    columns = {"inputs": {"text": TEXTS, "text_pair": TEXTS[::-1]}}
    status, answer = client.predict({"signature_name": "serve_pairs", **columns})
    assert (status, len(answer["outputs"]["label"])) == (200, 4)


def test_requests_at_the_same_time_share_batches(server):
    _, client = server
    rows = [{"instances": [f"boats {n} and gulls"]} for n in range(40)]
    alone = [client.predict(row)[1]["predictions"][0]["logits"] for row in rows[:3]]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        together = list(pool.map(client.predict, rows))
    assert {status for status, _ in together} == {200}
    found = [answer["predictions"][0]["logits"] for _, answer in together[:3]]
    assert np.abs(np.subtract(found, alone)).max() < 1e-5
    metrics = dict(
        line.rsplit(" ", 1)
        for line in client.ask("/monitoring/prometheus/metrics")[1].splitlines()
        if line[0] != "#"
    )
    batches = float(metrics["albert_keras_batch_rows_count"])
    assert batches < float(metrics["albert_keras_batch_rows_sum"])
    assert float(metrics['albert_keras_requests_total{status="200"}']) >= 43


def test_status_metadata_and_page(server):
    _, client = server
    assert client.path == "v1/models/reviews"
    for path in ("", "/versions/2"):
        status, answer = client.ask(f"/{client.path}{path}")
        (version,) = answer["model_version_status"]
        assert (status, version["version"], version["state"]) == (200, "2", "AVAILABLE")
        status, answer = client.ask(f"/{client.path}{path}/metadata")
        assert answer["model_spec"]["name"] == "reviews"
        definitions = answer["metadata"]["signature_def"]["signature_def"]
        assert set(definitions) == {"serving_default", "serve_pairs"}
        text = definitions["serving_default"]["inputs"]["text"]
        assert text["dtype"] == "DT_STRING"
        assert text["tensor_shape"]["dim"] == [{"size": "-1", "name": ""}]
    status, page = client.ask("/")
    assert (status, "<title>reviews</title>" in page) == (200, True)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (None, 415, "must not be compressed. Received: 'gzip'"),
        ("{", 400, "must be JSON"),
        ("[" * 9000, 400, "must be JSON"),
        ('{"instances": [3]}', 400, "`text` must be of type string"),
        ('{"signature_name": "x", "instances": ["a"]}', 400, "serve_pairs. Received"),
        (json.dumps({"instances": ["a"] * 10}), 413, "may have 9 rows. Received: 10"),
        (json.dumps({"instances": ["a" * 20000]}), 413, "may have 20,000 bytes"),
    ],
)
def test_bad_requests_have_one_clear_error(server, body, status, message):
    _, client = server
    packed = {"body": b"{}", "encoding": "gzip"}
    found, answer = client.predict(**({"body": body} if body else packed))
    assert (found, list(answer)) == (status, ["error"])
    assert message in answer["error"]
    assert len(answer["error"]) < 500


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="chromium is not installed")
def test_the_page_marks_an_answer_where_it_is(tmp_path):
    preprocessor = AlbertQuestionAnswererPreprocessor(
        make_tokenizer(), sequence_length=29, doc_stride=11, max_question_length=7
    )
    model = AlbertQuestionAnswerer(make_backbone(), preprocessor)
    export_saved_model(model, tmp_path / "squad" / "1")
    # A character that JavaScript counts twice.
    context = "the 🙂 storms, the storms and the boats"
    texts = {"question": "what is it?", "context": context}
    with server_process(tmp_path / "squad") as (_, address):
        client = Client(address)
        _, answer = client.predict({"instances": [texts]})
        # The page predicts what its address says.
        page = f"http://{client.host}/?{urllib.parse.urlencode(texts)}"
        words = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu"]
        words += ["--no-first-run", "--disable-background-networking"]
        words += [f"--user-data-dir={tmp_path / 'profile'}"]
        words += ["--virtual-time-budget=20000", "--dump-dom", page]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    (row,) = answer["predictions"]
    start, end = row["starts"][0], row["ends"][0]
    marked = f"{context[:start]}<mark>{context[start:end]}</mark>{context[end:]}"
    assert row["answer"] == context[start:end] != ""
    assert f"<td>answer</td><td>{marked}</td>" in done.stdout
    for share in row["probabilities"][:3]:
        assert f"{100 * share:.1f} %</div>" in done.stdout


def test_unknown_paths(server):
    _, client = server
    for path in (
        "/v1/models/mine",
        "/v2/models/reviews/infer",
        f"/{client.path}/versions/10",
        "/favicon.ico",
    ):
        status, answer = client.ask(path)
        assert status == 404
        assert "There is /v1/models/reviews, " in answer["error"]


def test_a_port_that_is_taken_is_one_line(server, exported, capsys):
    _, client = server
    port = client.host.rpartition(":")[2]
    assert main(["serve", str(exported[0]), "--port", port]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"port={port}: Address already in use" in line
    assert line.endswith("Choose another one with --port.")


def test_it_stops_when_told(server):
    process, _ = server
    process.terminate()
    assert process.wait(30) in (0, -signal.SIGTERM)
    _, errors = process.communicate()
    assert "Traceback" not in errors
