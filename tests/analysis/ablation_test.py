"""Table and picture of an ablation."""

import pytest

from albert_keras.analysis import ablation_table, compare_arms, plot_ablation
from tests.figure_checks import check_layout, texts_of


def make_results(equal="steps", probes=True):
    """Returns the results of three arms, of which one was not compared."""
    losses = {"none": (5.0, 5.25), "sop": (5.125, 5.5)}
    runs = {
        arm: {
            str(seed): {"mlm_loss": loss, "mlm_accuracy": 0.125}
            | ({"probe_sop": 0.5 + 0.125 * seed} if probes else {})
            for seed, loss in enumerate(of_arm)
        }
        for arm, of_arm in losses.items()
    }
    measures = {"mlm_loss": "nats of a masked token", "mlm_accuracy": "accuracy"}
    measures |= {"probe_sop": "accuracy of a probe of orders"} if probes else {}
    curve = {"steps": [7, 14, 21], "values": [5.75, 5.5, 5.25]}
    return {
        "name": "sentence-task",
        "about": "task of the sentence pairs",
        "base": "none",
        "equal": equal,
        "source": "table 5",
        "paper": {"none": 79.0, "nsp": 79.2, "sop": 80.1} if probes else {},
        "paper_unit": "average of five tasks",
        "paper_measured": {"probe_sop": {"none": 53.3, "sop": 86.5}} if probes else {},
        "unigram_loss": 5.9,
        "arms": {"none": "masked tokens alone", "nsp": "next ones", "sop": "orders"},
        "steps": {"none": 1021, "nsp": 1021, "sop": 1021},
        "core_seconds_per_step": {"none": 0.25, "nsp": 0.5, "sop": 0.75},
        "runs": runs,
        "curves": {
            "none": {"0": curve, "1": curve | {"values": [5.5, 5.25, 5.0]}},
            "nsp": {},
            "sop": {"0": curve, "1": curve | {"steps": [7, 14, 28]}},
        },
        "measures": measures,
        "compared": compare_arms(runs, measures, "none"),
        "orderings": [],
        "not_left": {"nsp": {"0": 5.875}},
        "notes": ["nsp is not compared."],
    }


def test_table_has_all_arms_and_says_which_is_missing():
    table = ablation_table(make_results())
    rows = [line.split(" | ") for line in table.splitlines()]
    assert rows[2][:6] == [
        "| none",
        "masked tokens alone",
        "1,021",
        "2",
        "5.125",
        rows[2][5],
    ]
    assert rows[3][2:5] == ["1,021", "-", "-"]
    assert rows[4][5] == "+0.188 ± 0.062"
    assert rows[4][8:] == ["56.2 %", "+0.0 ± 0.0", "86.5 %", "80.1 |"]
    assert "nsp is not compared." in table
    assert "Paper: table 5; average of five tasks." in table


@pytest.mark.parametrize(("equal", "probes"), [("steps", True), ("time", False)])
def test_picture_has_differences_and_curves(equal, probes, tmp_path):
    pytest.importorskip("matplotlib")
    figure = plot_ablation(make_results(equal, probes), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    check_layout(figure)
    texts = texts_of(figure)
    assert {"sop", "nats from none; less is better"} <= texts
    assert ("points from none; more is better" in texts) == probes
    title = "accuracy of a probe of orders (◇ paper)"
    assert (title in texts) == probes
    if probes:
        diamond = figure.axes[1].lines[-1]
        assert list(diamond.get_xdata()) == [pytest.approx(33.2)]
    curves = figure.axes[-1]
    assert curves.get_xlabel() == (
        "step" if equal == "steps" else "core-minutes of steps"
    )
    lines = dict(zip(("none", "sop"), curves.containers, strict=True))
    mean = lines["none"].lines[0]
    assert list(mean.get_ydata()) == [5.625, 5.375, 5.125]
    # Only the steps that both seeds have.
    scale = 1 if equal == "steps" else 0.75 / 60
    assert list(lines["sop"].lines[0].get_xdata()) == [7 * scale, 14 * scale]
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["unigrams", "none", "sop"]


def test_a_picture_of_the_base_alone_has_no_differences(tmp_path):
    pytest.importorskip("matplotlib")
    results = make_results()
    results["compared"] = {"none": results["compared"]["none"]}
    figure = plot_ablation(results, tmp_path / "a.png")
    check_layout(figure)
    (curves,) = figure.axes
    assert curves.get_xlabel() == "step"


def test_an_ablation_without_a_base_has_no_picture():
    with pytest.raises(ValueError, match="Give it more minutes"):
        plot_ablation(make_results() | {"compared": {}})
