"""Runs of several seeds, and their summary."""

import dataclasses
import json

import pytest

from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.runs.seeds import fit_seeds, summarize
from albert_keras.training import TrainingCollapsedError


def make_run_class(collapsing):
    """Returns a fake `FinetuningRun` that collapses with some seeds."""

    @dataclasses.dataclass
    class FakeRun:
        config: FinetuningRunConfig

        def fit(self):
            seed = self.config.seed
            assert self.config.seeds == 1
            if seed in collapsing:
                raise TrainingCollapsedError(f"Seed {seed} is constant.", step=5)
            return {"accuracy": seed / 8, "run": str(self.config.run)}

    return FakeRun


def config(run):
    return FinetuningRunConfig(
        task="sst-2", checkpoint="a", run=str(run), seed=3, seeds=3
    )


def test_collapsed_seeds_are_left_out_of_the_summary(tmp_path):
    results = fit_seeds(config(tmp_path), make_run_class({4}))
    assert (results["seeds"], results["collapsed_seeds"]) == (3, 1)
    assert results["median"] == {"accuracy": 0.5}
    assert results["spread"] == {"accuracy": 0.25}
    folders = [str(tmp_path / f"seed-{seed}") for seed in (3, 4, 5)]
    assert list(results["runs"]) == folders
    assert results["runs"][folders[1]] == {"collapsed": "Seed 4 is constant."}
    assert json.loads((tmp_path / "seeds.json").read_text()) == results


def test_where_all_seeds_collapse_there_is_nothing_to_summarize(tmp_path):
    with pytest.raises(TrainingCollapsedError, match="Seed 5"):
        fit_seeds(config(tmp_path), make_run_class({3, 4, 5}))


def test_summary_of_nested_numbers_that_all_results_have():
    results = [{"a": 1.0, "b": {"c": 5}, "d": 1}, {"a": 2.0, "b": {"c": 9}, "e": "x"}]
    assert summarize(results) == {
        "median": {"a": 1.5, "b.c": 7.0},
        "spread": {"a": 1.0, "b.c": 4},
    }
