"""Figures: formats, complete files, fonts, and early checks of their paths."""

import pytest

from albert_keras.analysis import figures
from albert_keras.analysis.figures import (
    as_svg,
    check_image_path,
    families_for,
    finish_figure,
    new_figure,
    run_name,
)

matplotlib = pytest.importorskip("matplotlib")
fonts = pytest.importorskip("matplotlib.font_manager")


def test_formats(tmp_path):
    begins = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for suffix, begin in begins.items():
        path = tmp_path / f"figure{suffix}"
        figure = new_figure(3, 2)
        figure.subplots().plot([1, 4, 2])
        assert finish_figure(figure, path) is figure
        assert path.read_bytes().startswith(begin)
    assert len(list(tmp_path.iterdir())) == 3


def test_notebooks_and_pages_can_hold_a_figure():
    figure = finish_figure(new_figure(3, 2))
    assert figure._repr_png_().startswith(b"\x89PNG")
    element = as_svg(figure)
    assert element.startswith("<svg ")
    assert element.strip().endswith("</svg>")


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"one of .png, .svg, .pdf. Received: 'a.doc'"):
        check_image_path("a.doc")
    with pytest.raises(ValueError, match="The suffix of an image"):
        finish_figure(new_figure(3, 2), tmp_path / "a.doc")


def test_a_family_is_added_for_characters_that_others_lack(monkeypatch):
    # Fonts of matplotlib itself: cmr10 has no Cyrillic letters.
    monkeypatch.setattr(figures, "CHINESE_FAMILIES", ("Absent", "DejaVu Sans"))
    with matplotlib.rc_context({"font.family": ["cmr10"]}):
        assert families_for("plain", "") == ["cmr10"]
        assert families_for("plain", "в чём") == ["cmr10", "DejaVu Sans"]


def test_one_warning_of_characters_that_no_font_has(monkeypatch, tmp_path):
    monkeypatch.setattr(figures, "CHINESE_FAMILIES", ())
    figure = new_figure(3, 2)
    with matplotlib.rc_context({"font.family": ["DejaVu Sans"]}):
        figure.suptitle("好 or 差", fontfamily=families_for("好 or 差"))
        with pytest.warns(UserWarning, match="Glyph .* fonts-wqy-microhei") as caught:
            finish_figure(figure, tmp_path / "figure.png")
    assert len(caught) == 1


def test_chinese_is_drawn_where_a_font_has_it():
    installed = fonts.get_font_names()
    if not set(figures.CHINESE_FAMILIES) & set(installed):
        pytest.skip("needs a Chinese font: apt-get install fonts-wqy-microhei")
    figure = new_figure(3, 2)
    figure.suptitle("好评", fontfamily=families_for("好评"))
    # A missing character is a warning, thus an error here.
    figure.savefig("/dev/null", format="png")


def test_run_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_name("runs/sst2/seed-7") == "sst2/seed-7"
    assert run_name("sst2") == f"{tmp_path.name}/sst2"
