"""Figures: formats, complete files, and early checks of their paths."""

import pytest

from albert_keras.analysis.figures import check_image_path, open_figure


def test_formats(tmp_path):
    pytest.importorskip("matplotlib")
    begins = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for suffix, begin in begins.items():
        path = tmp_path / f"figure{suffix}"
        check_image_path(path)
        with open_figure(path, figsize=(3, 2)) as figure:
            figure.subplots().plot([1, 4, 2])
        assert path.read_bytes().startswith(begin)
    assert len(list(tmp_path.iterdir())) == 3


def test_no_file_after_an_error(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(KeyError):
        with open_figure(tmp_path / "figure.png", figsize=(3, 2)):
            raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_other_suffixes_are_refused():
    with pytest.raises(ValueError, match=r"one of .png, .svg, .pdf. Received: 'a.doc'"):
        check_image_path("a.doc")
