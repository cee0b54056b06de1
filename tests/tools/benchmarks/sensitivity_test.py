"""The tool that measures what cuts, quantization and pruning of heads cost a run."""

import json

import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.runs import evaluate_run
from albert_keras.train_step import infer
from tests.helpers import make_config, make_inputs, randomize
from tests.runs.conftest import finish, rows
from tools.benchmarks import sensitivity

__all__ = ["finish", "rows"]


@pytest.mark.slow
def test_a_run_without_exits(finish, rows, tmp_path, monkeypatch, capsys):
    pytest.importorskip("ai_edge_litert.interpreter")
    # One of the forms: they differ in their writers.
    monkeypatch.setattr(sensitivity, "QUANTIZED", ("TFLite int8",))
    run, _ = finish("text-classification", facts={"labels": ("a", "b")})
    words = [run, "--data", rows]
    words += ["--output", tmp_path / "a.json", "--plot", tmp_path / "a.png"]
    sensitivity.main([*map(str, words)])
    assert "without head 2 of layer 1, 2, 3: 0." in capsys.readouterr().out
    results = json.loads((tmp_path / "a.json").read_text())
    assert (tmp_path / "a.png").stat().st_size > 0
    score = evaluate_run(run, rows)["accuracy"]
    assert (results["num_rows"], results["score"]) == (40, score)
    assert [each["depth"] for each in results["depths"]] == [1, 2, 3]
    assert results["quantization"][0]["bytes"] > 10**6
    # One layer is shared by all.
    heads, pruned = results["heads"], results["pruned"]
    assert [head["head"] for head in heads] == [1, 2, 3, 4]
    assert [each["num_heads"] for each in pruned] == [1, 2, 3, 4]
    assert pruned[0]["cost"] == min(head["cost"] for head in heads)
    for each in (*results["depths"], *heads, *pruned):
        assert each["cost"] == pytest.approx(score - each["score"])


def test_a_masked_head_gives_nothing_to_the_next_sub_layer():
    config = make_config(initializer_range=0.2, sharing="none")
    model = randomize(AlbertTextClassifier(AlbertBackbone(**config.to_dict()), 2))
    inputs = make_inputs()
    before = infer(model, inputs)
    second = sensitivity.attention_heads(model.backbone)[5]
    assert (second.layers, second.head) == ((2,), 2)
    with sensitivity.masked_heads([second]):
        masked = infer(model, inputs)
        # Whatever the head computes.
        value = second.attention.value.kernel
        value.assign(np.array(value) + 3.0 * (np.arange(28) // 7 == 1))
        np.testing.assert_allclose(infer(model, inputs), masked, atol=1e-6)
    assert np.abs(masked - before).max() > 1e-3
