"""Plots of the page of results."""

import pytest

from tests.figure_checks import check_layout
from tools.draw_results import draw_scores, draw_speed


@pytest.mark.parametrize(
    ("draw", "num_bars", "highest"),
    [
        # Four forms, one text and 32; seven tasks, three models.
        (draw_speed, 8, 33.1),
        (draw_scores, 21, 84.18),
    ],
)
def test_plots_show_the_measured_values(draw, num_bars, highest, tmp_path):
    figure = draw(tmp_path / "plot.png")
    check_layout(figure)
    (axes,) = figure.axes
    sizes = [bar.get_width() for bar in axes.patches]
    assert len(sizes) == num_bars
    assert max(sizes) == pytest.approx(highest)
    assert (tmp_path / "plot.png").stat().st_size > 1000
