"""Analyses of trained models, as a user calls them."""

import pytest

from albert_keras import cli

MODEL = "albert_nano_en"


def test_similarity(call, fail, tmp_path):
    pytest.importorskip("matplotlib")
    words = [MODEL, "--num-texts", 3, "--sequence-length", 19]
    results = call("analyze", "similarity", *words, "--plot", tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 0
    assert results["num_texts"] == 3
    trained, random = results["models"]
    assert trained["name"] == MODEL
    assert (trained["is_random"], random["is_random"]) == (False, True)
    # Three texts that fill the rows.
    assert trained["num_tokens"] == random["num_tokens"] == 3 * 19
    assert len(trained["angle"]) == 3
    assert trained["l2_distance"] != random["l2_distance"]
    line = fail("analyze", "similarity", MODEL, MODEL)
    assert "must have different names" in line
    assert "needs a model or more" in fail("analyze", "similarity")
    assert "needs no model, but a shape" in fail("analyze", "flops", MODEL)
    shape = ["--preset", "albert_base_v1", "--sharing", "all"]
    line = fail("analyze", "similarity", MODEL, "--num-predictions", 3, *shape)
    assert "`similarity`. Received: num_predictions='3', preset='al" in line
    assert "sharing='all'" in line
    line = fail("analyze", "flops", "--no-random-weights")
    assert "`flops`. Received: random_weights='False'" in line


def test_sizes_and_comparison(call, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    table = call("analyze", "parameters", "--preset", "albert_xxlarge_v2")
    assert table["backbone"] == 222_595_584
    small = call("analyze", "parameters", "--hidden-dim", 256, "--num-layers", 4)
    assert small["pooler"] == 256 * 257
    shape = ["flops", "--preset", "bert_base", "--sequence-length", 77]
    results = call("analyze", *shape, "--plot", tmp_path / "a.svg")
    assert results["num_predictions"] == 12
    assert results["inference"]["projection"] == 0
    (tmp_path / "log.jsonl").write_text('{"step": 5, "accuracy": 0.625}\n')
    call("analyze", "compare", tmp_path, "--plot", tmp_path / "b.svg")
    assert (tmp_path / "b.svg").stat().st_size > 0
    assert cli.main(["analyze", "compare", str(tmp_path)]) == 0
    assert "0.625 at step 5" in capsys.readouterr().out
