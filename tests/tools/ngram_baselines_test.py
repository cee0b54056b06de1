"""The tool that adds the scores of n-grams to those of a run."""

import json
import math

import pytest

from tests.runs.conftest import base, base_config, vocabulary
from tools import ngram_baselines as baselines

__all__ = ["base", "base_config", "vocabulary"]


@pytest.mark.slow
def test_scores_of_a_run_get_the_baselines(base, tmp_path, capsys):
    (tmp_path / "scores.json").write_text('{"mlm_loss": 6.125}')
    words = [base, "--data", base / "tokens/held_out", "--scores"]
    baselines.main([*map(str, words), str(tmp_path / "scores.json")])
    scores = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert scores["mlm_loss"] == 6.125
    assert 3 < scores["unigram_loss"] < math.log(500)
    assert 3 < scores["trigram_loss"] < math.log(500)
