"""Drawing with matplotlib, so that the same data give the same bytes and text stays text."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rolewall.report.fit import shorten
from rolewall.report.svg import clean
from rolewall.terminal import escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["GRID", "INK", "ONE", "PAPER", "TWO", "WIDTH", "Draw", "draw", "label"]

INK, GRID, ONE, TWO, PAPER = "#010101", "#020202", "#030303", "#040404", "#050505"
WIDTH = 400  # in the units of the picture: as wide as a phone, so that it is read there unscaled
LONGEST = 44
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rolewall",
    "text.parse_math": False,  # a dollar in a task's name is a dollar
    "text.usetex": False,
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "lines.solid_capstyle": "butt",
}

Draw = Callable[["Figure", "Axes"], None]


def draw(name: str, title: str, words: str, height: float, paint: Draw) -> str:
    """The SVG of what ``paint`` draws into one pair of axes, ``WIDTH`` × ``height``.

    Neither settings of the user's nor of the current directory have a part in it.
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib
    from matplotlib.figure import Figure

    out = io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name in a script that its font lacks is still a name
        matplotlib.rcdefaults()
        for key, value in SETTINGS.items():
            matplotlib.rcParams[key] = value  # type: ignore[index]
        figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
        figure.patch.set_visible(False)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.patch.set_visible(False)
        paint(figure, axes)
        figure.savefig(out, format="svg", metadata={"Date": None})
    return clean(out.getvalue(), name, shorten(title, 200), shorten(words, 4000, 6000))


def label(text: str, longest: int = LONGEST) -> str:
    """A name as it may stand in a picture: visible, and short."""
    shown = escape(text, 200)
    if len(shown) <= longest:
        return shown
    half = (longest - 1) // 2
    return f"{shown[:half]}…{shown[-half:]}"
