"""Analyses of trained models, as a user calls them."""

import pytest

from albert_keras import cli, converters
from albert_keras.models import AlbertBackbone
from albert_keras.tokenizers import load_tokenizer
from tests.helpers import make_config


@pytest.fixture(scope="module")
def model(tmp_path_factory, vocabulary):
    """The folder of a tiny model with the sample's vocabulary."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    tokenizer = load_tokenizer(vocabulary)
    size = {"vocabulary_size": tokenizer.vocabulary_size(), "num_layers": 2}
    config = make_config(**size)
    backbone = AlbertBackbone(**config.to_dict())
    converters.save_checkpoint(backbone, path, tokenizer=tokenizer)
    return path


def test_similarity(model, call, fail, tmp_path):
    pytest.importorskip("matplotlib")
    files = ["--plot", tmp_path / "a.png"]
    results = call("analyze", "similarity", model, "--num-texts", 3, *files)
    assert (tmp_path / "a.png").stat().st_size > 0
    assert results["num_texts"] == 3
    trained, random = results["models"]
    assert trained["name"].endswith("/tiny")
    assert (trained["is_random"], random["is_random"]) == (False, True)
    # Three texts that fill the rows.
    assert trained["num_tokens"] == random["num_tokens"] == 3 * 19
    assert len(trained["angle"]) == 2
    assert trained["l2_distance"] != random["l2_distance"]
    line = fail("analyze", "similarity", model, model)
    assert "must have different names" in line
    assert "needs a model or more" in fail("analyze", "similarity")
    assert "needs no model, but a shape" in fail("analyze", "flops", model)


def test_flops_and_comparison(call, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    shape = ["flops", "--preset", "bert_base", "--sequence-length", 77]
    results = call("analyze", *shape, "--plot", tmp_path / "a.svg")
    assert results["num_predictions"] == 12
    assert results["inference"]["projection"] == 0
    (tmp_path / "log.jsonl").write_text('{"step": 5, "accuracy": 0.625}\n')
    call("analyze", "compare", tmp_path, "--plot", tmp_path / "b.svg")
    assert (tmp_path / "b.svg").stat().st_size > 0
    assert cli.main(["analyze", "compare", str(tmp_path)]) == 0
    assert "0.625 at step 5" in capsys.readouterr().out
