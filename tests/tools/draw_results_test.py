"""Plots of the page of results."""

import pytest

from tests.figure_checks import check_layout
from tools.draw_results import draw_scores, draw_speed, rows_of


def test_rows_are_those_of_the_table_below_the_title():
    header, *rows = rows_of("Exits of 12 layers", "times faster than")
    assert header[1] == "1 text of SST-2"
    assert [row[0] for row in rows][-1].startswith("transformers in bfloat16")
    assert {len(row) for row in rows} == {len(header)}


@pytest.mark.parametrize(
    ("draw", "num_bars", "highest"),
    [
        # Four forms, one text and 32; seven tasks, three models.
        (draw_speed, 8, 33.1),
        (draw_scores, 21, 82.9),
    ],
)
def test_plots_show_the_measured_values(draw, num_bars, highest, tmp_path):
    figure = draw(tmp_path / "plot.png")
    check_layout(figure)
    (axes,) = figure.axes
    sizes = [bar.get_width() for bar in axes.patches]
    assert len(sizes) == num_bars
    assert max(sizes) == highest
    assert (tmp_path / "plot.png").stat().st_size > 1000
