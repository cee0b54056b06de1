"""Learning curves of several runs in one picture."""

import pytest

from albert_keras.analysis import compare_curves, plot_comparison
from tests.figure_checks import check_layout, legend_of, texts_of, write_run


def write_losses(folder, losses, **others):
    entries = [
        {"step": 7 * step, "seconds": 3.5, "mlm_logits_loss": loss, "loss": loss}
        | {name: values[step] for name, values in others.items()}
        for step, loss in enumerate(losses)
    ]
    return write_run(folder, entries)


@pytest.fixture
def folders(tmp_path):
    held_out = {"val_mlm_logits_loss": [9.5, 8.25, 7.125]}
    return [
        write_losses(tmp_path / "runs" / "$shared", [9.0, 8.0, 7.0], **held_out),
        write_losses(tmp_path / "runs" / "_own", [9.25, 6.0]),
        write_losses(tmp_path / "runs" / "c", [9.25, 6.5], learning_rate=[0.1, 0.05]),
    ]


def test_curves_are_those_of_the_logs(folders):
    results = compare_curves(folders)
    assert [*results["runs"]] == ["runs/$shared", "runs/_own", "runs/c"]
    assert results["quantities"] == ["mlm_logits_loss", "learning_rate"]
    curve = results["runs"]["runs/$shared"]["val_mlm_logits_loss"]
    assert curve == {"steps": [0, 7, 14], "values": [9.5, 8.25, 7.125]}
    with pytest.raises(ValueError, match="different names"):
        compare_curves([folders[0], folders[0]])


@pytest.mark.parametrize("num_runs", [1, 3])
def test_plot_has_all_runs(folders, num_runs, tmp_path):
    pytest.importorskip("matplotlib")
    results = compare_curves(folders[:num_runs])
    figure = plot_comparison(results, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    check_layout(figure)
    assert "Masked-token loss (nats)" in texts_of(figure)
    assert len(figure.axes) == len(results["quantities"])
    # Those of the held-out set have lines of their own.
    assert len(figure.axes[0].lines) == num_runs + 1
    assert legend_of(figure) == [*results["runs"], "thin: training"]


def test_runs_without_curves_are_refused(tmp_path):
    pytest.importorskip("matplotlib")
    folder = write_losses(tmp_path / "empty", [])
    with pytest.raises(ValueError, match="needs logged quantities"):
        plot_comparison(compare_curves([folder]))
