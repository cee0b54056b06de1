"""Checks of figures by what can be measured of them, and runs to draw."""

import json


def check_layout(figure):
    """Checks that nothing leaves the figure, and that panels and legend lie apart."""
    # Layouts are computed when a figure is drawn.
    figure.draw_without_rendering()
    everything = figure.get_tightbbox().get_points()
    assert (everything >= -0.01).all()
    assert (everything <= figure.get_size_inches() + 0.01).all()
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    boxes += [legend.get_window_extent() for legend in figure.legends]
    assert not any(axes.get_legend() for axes in figure.axes)
    for place, box in enumerate(boxes):
        assert not box.count_overlaps(boxes[:place])
    for axes in figure.axes:
        frame = axes.get_window_extent()
        for text in axes.texts:
            box = text.get_window_extent()
            assert frame.contains(box.x0, box.y0), text
            assert frame.contains(box.x1, box.y1), text


def texts_of(figure):
    """Returns the set of the titles, labels and notes of a figure."""
    found = {text.get_text() for text in figure.texts}
    for axes in figure.axes:
        labels = (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts)
        labels += (*axes.get_xticklabels(), *axes.get_yticklabels())
        found |= {text.get_text() for text in labels}
    return found


def legend_of(figure):
    """Returns the texts of the legend of a figure."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def write_run(folder, entries, **files):
    """Writes a log, and the JSON files of a run by their names."""
    folder.mkdir(parents=True)
    lines = [json.dumps(entry) + "\n" for entry in entries]
    (folder / "log.jsonl").write_text("".join(lines))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder
