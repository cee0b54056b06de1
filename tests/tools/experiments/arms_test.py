"""Statistics of arms that are paired by seed."""

import pytest

from tools.experiments.arms import (
    check_orderings,
    compare_arms,
    describe_difference,
    draw_differences,
    split_by_plateau,
)

RUNS = {
    "base": {"0": {"loss": 5.0, "rate": 0.5}, "1": {"loss": 6.0, "rate": 0.75}},
    "wide": {"0": {"loss": 4.5, "rate": 0.75}, "1": {"loss": 5.0}, "2": {"loss": 4.0}},
}


def test_differences_are_of_the_seeds_that_both_have():
    compared = compare_arms(RUNS, ["loss", "rate", "other"], "base")
    assert compared["wide"] == {
        "seeds": 3,
        "loss": {"mean": 4.5, "difference": -0.75, "standard_error": 0.25},
        "rate": {"mean": 0.75, "difference": 0.25, "standard_error": None},
    }
    assert compared["base"]["loss"]["difference"] == 0


def test_differences_are_described():
    found = compare_arms(RUNS, ["loss", "rate"], "base")["wide"]
    assert describe_difference(found["loss"]) == ("4.500", "-0.750 ± 0.250")
    assert describe_difference(found["rate"], 100, 1, " %") == ("75.0 %", "+25.0")
    assert describe_difference(None) == ("-", "-")


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        # Differences -1.0, -1.1, -0.9: 1 ± 0.058, and the 95 % interval is 0.248 wide.
        ((4.0, 3.9, 4.1), "holds"),
        ((6.0, 6.1, 5.9), "reversed"),
        # -1, -2, 0: 1 ± 0.577, with an interval of 2.48.
        ((4.0, 3.0, 5.0), "cannot be told"),
    ],
)
def test_an_ordering_is_told_by_the_interval_of_student(losses, verdict):
    runs = {
        "none": {str(seed): {"loss": 5.0} for seed in range(3)},
        "sop": {str(seed): {"loss": loss} for seed, loss in enumerate(losses)},
        "once": {"0": {"loss": 1.0}},
        "unknown": {"0": {"loss": 1.0}, "1": {"loss": 2.0}},
    }
    paper = {"none": 79.0, "sop": 80.1, "once": 70.0}
    (ordering,) = check_orderings(runs, "loss", paper, lower_is_better=True)
    assert (ordering["better"], ordering["worse"]) == ("sop", "none")
    assert ordering["paper"] == 1.1
    # Student's t with two degrees of freedom.
    assert ordering["verdict"] == verdict


def test_arms_at_the_loss_of_unigrams_are_separated():
    runs = {
        "left": {"0": {"loss": 4.875}},
        "half": {"0": {"loss": 4.0}, "1": {"loss": 4.95}},
    }
    left, stuck = split_by_plateau(runs, "loss", unigram_loss=5.0)
    assert [*left] == ["left"]
    assert stuck == {"half": {"1": 4.95}}


def test_rows_are_drawn_for_arms_with_the_measure():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    compared = compare_arms(RUNS, ["loss"], "base")
    draw_differences(axes, compared, ["absent", "wide"], "loss", scale=100)
    (container,) = axes.containers
    assert list(container.lines[0].get_xdata()) == [-75]
    assert list(container.lines[0].get_ydata()) == [1]
