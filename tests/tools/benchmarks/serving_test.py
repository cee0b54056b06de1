"""The load of a server: a short one, of a real process."""

import contextlib
import json

import pytest

from albert_keras.export import export_saved_model
from albert_keras.models import AlbertTextClassifier
from tests.serving.server_process import server_process
from tests.tasks.task_checks import make_backbone, make_tokenizer
from tools.benchmarks import serving


@pytest.mark.slow
def test_requests_latencies_and_memory(tmp_path, capsys, monkeypatch):
    @contextlib.contextmanager
    def server(path, options):
        with server_process(path, *options) as (process, address):
            yield address, process.pid

    # Forked, which starts ten times as fast.
    monkeypatch.setattr(serving, "server", server)
    model = AlbertTextClassifier(make_backbone(), 3)
    export_saved_model(model, tmp_path / "model", make_tokenizer())
    rows = ["label\ttext", "1\tstorms", "0\tgulls and boats"]
    (tmp_path / "rows.tsv").write_text("\n".join(rows) + "\n")
    words = [str(tmp_path / "model"), "--texts", str(tmp_path / "rows.tsv")]
    words += ["--clients", "1", "3", "--seconds", "0.3", "--memory-requests", "40"]
    serving.main(words)
    results = json.loads(capsys.readouterr().out)
    assert list(results["clients"]) == ["1", "3"]
    for measured in results["clients"].values():
        rates = []
        for one in (measured["batches"], measured["alone"]):
            assert one["errors"] == 0
            assert 0 < one["p50_ms"] <= one["p95_ms"] <= one["p99_ms"]
            rates.append(one["requests_per_second"])
        assert measured["ratio"] == pytest.approx(rates[0] / rates[1])
    assert results["memory"]["requests"] == 40
    assert results["memory"]["bytes"] > 1e8
