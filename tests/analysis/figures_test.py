"""Figures: written whole, and refused before the work rather than after."""

import pytest

from albert_keras.analysis.figures import check_image_path, new_figure, save_figure


def test_formats(tmp_path):
    pytest.importorskip("matplotlib")
    figure = new_figure(figsize=(3, 2))
    figure.subplots().plot([1, 4, 2])
    begins = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for suffix, begin in begins.items():
        path = tmp_path / f"figure{suffix}"
        check_image_path(path)
        save_figure(figure, path)
        assert path.read_bytes().startswith(begin)
    assert len(list(tmp_path.iterdir())) == 3


def test_other_suffixes_are_refused():
    with pytest.raises(ValueError, match=r"one of .png, .svg, .pdf. Received: 'a.doc'"):
        check_image_path("a.doc")
