"""Matplotlib figures (the extra `plots`), drawn without a display."""

import contextlib
import io
import pathlib
import warnings

from albert_keras.checks import import_optional
from albert_keras.system.files import atomic_path, check_replaceable_file

SUFFIXES = (".png", ".svg", ".pdf")

_DASHES = ("-", "--", "-.", ":")
_MARKERS = "os^DvP*X"

# Used after the user's families (`font.family` of matplotlib), if they are installed.
CHINESE_FAMILIES = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC"),
    *("PingFang SC", "Hiragino Sans GB", "Heiti TC", "Microsoft YaHei", "SimHei"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
    "Arial Unicode MS",
)


def check_image_path(path):
    """Raises an error if an image cannot be written, or if matplotlib is absent."""
    if pathlib.Path(path).suffix not in SUFFIXES:
        raise ValueError(
            f"The suffix of an image must be one of {', '.join(SUFFIXES)}. "
            f"Received: '{path}'."
        )
    check_replaceable_file(path)
    import_optional("matplotlib.figure", "plots")


def new_figure(width, height):
    """Returns an empty figure, with a size in inches, which notebooks can show."""
    figure = import_optional("matplotlib.figure", "plots").Figure(
        figsize=(width, height), layout="constrained"
    )
    # Notebooks can show figures by default only if pyplot is imported.
    figure._repr_png_ = lambda: _saved(figure, "png")
    return figure


def finish_figure(figure, image_path=None):
    """Returns a figure, and writes it atomically if there is a path."""
    if image_path is not None:
        check_image_path(image_path)
        with atomic_path(image_path) as temporary:
            _save(figure, temporary, dpi=150)
    return figure


def line_style(place):
    """Returns `color`, `linestyle` and `marker` of a line by its number, from 0.

    Dashes and markers tell lines apart without colors.

    >>> line_style(1)
    {'color': 'C1', 'linestyle': '--', 'marker': 's'}
    """
    return {
        "color": f"C{place}",
        "linestyle": _DASHES[place % len(_DASHES)],
        "marker": _MARKERS[place % len(_MARKERS)],
    }


def new_panels(num_panels, x_label):
    """Returns a figure, and the axes of its panels in two columns with one x axis."""
    num_columns, num_rows = min(2, num_panels), -(-num_panels // 2)
    figure = new_figure(1 + 4.5 * num_columns, 1.2 + 2.3 * num_rows)
    grid = figure.subplots(num_rows, num_columns, sharex=True, squeeze=False)
    for spare in grid.flat[num_panels:]:
        spare.remove()
    panels = grid.flat[:num_panels]
    for axes in panels[-num_columns:]:
        axes.set_xlabel(x_label)
        axes.tick_params(labelbottom=True)
    return figure, panels


def draw_bars(axes, values, labels, **style):
    """Draws a horizontal bar for each value of a dict, with labels at their ends."""
    names = [str(name).replace("_", " ") for name in values]
    bars = axes.barh(names, values.values(), **style)
    axes.bar_label(bars, labels, padding=3)
    # Room for the labels.
    axes.margins(x=0.4)
    axes.invert_yaxis()


def add_legend(figure, handles, names, **options):
    """Adds a legend of lines, whose names may contain any characters."""
    # matplotlib hides names that begin with "_".
    labels = [f"\u200b{name}" if name.startswith("_") else name for name in names]
    fonts = {"family": families_for(*names)}
    legend = figure.legend(handles, labels, prop=fonts, **options)
    for text in legend.get_texts():
        text.set_parse_math(False)


def run_name(path):
    """Returns the last two names of a path, for titles: `runs/sst2`."""
    return "/".join(pathlib.Path(path).resolve().parts[-2:])


def families_for(*texts):
    """Returns the user's font families, with Chinese ones if texts may need them."""
    families = list(import_optional("matplotlib", "plots").rcParams["font.family"])
    if all(map(str.isascii, texts)):
        return families
    fonts = import_optional("matplotlib.font_manager", "plots")
    # Fonts may have been installed after matplotlib listed all of them.
    listed = {entry.fname for entry in fonts.fontManager.ttflist}
    for path in sorted(set(fonts.findSystemFonts()) - listed):
        # matplotlib cannot read all kinds of fonts.
        with contextlib.suppress(RuntimeError, OSError):
            fonts.fontManager.addfont(path)
    installed = fonts.get_font_names()
    return families + [name for name in CHINESE_FAMILIES if name in installed]


def as_svg(figure):
    """Returns the `<svg>` element of a figure, for a page."""
    page = _saved(figure, "svg").decode()
    return page[page.index("<svg") :]


def _saved(figure, format):
    file = io.BytesIO()
    _save(figure, file, format=format)
    return file.getvalue()


def _save(figure, file, **options):
    # matplotlib has a warning for each character that no font has.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(file, **options)
    if caught:
        warnings.warn(
            f"A plot is not complete: {caught[0].message} Chinese text needs a Chinese "
            "font (Debian, Colab: apt-get install fonts-wqy-microhei).",
            stacklevel=3,
        )
