"""The pictures: what is easier seen than read. Every number in them is in a table too.

Names stand above what they belong to, never beside it: a picture has the width of a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolewall.report.canvas import INK, ONE, PAPER, TWO, WIDTH, Draw, draw, label
from rolewall.report.model import Plot
from rolewall.terminal import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Flip", "Mark", "Spot", "Spread", "flips_plot", "rates_plot", "spots_plot", "time_plot"]

SIDE, ROOM = 20.0, 36.0  # margins; height of one line with its name
BOTTOM = 44.0
BIG = 22.0  # diameter of the largest spot
WHOLE_LINE = 54  # characters that one line of names and figures has room for


@dataclass(frozen=True)
class Mark:
    """A rate with its interval, and what it would be with missing verdicts counted as
    rejects and as approvals. Fractions; ``text`` is the rate in figures."""

    name: str
    text: str
    rate: float
    low: float
    high: float
    as_reject: float | None
    as_approval: float | None


@dataclass(frozen=True)
class Spot:
    """In how many of ``of`` episodes a role tried a zone in a phase; ``allowed`` in how many
    of these a call was let through."""

    column: str
    zone: str
    episodes: int
    allowed: int
    of: int


@dataclass(frozen=True)
class Flip:
    """Pairs of one task that passed under one of two conditions only."""

    task: str
    first_only: int
    second_only: int


@dataclass(frozen=True)
class Spread:
    """Seconds: the middle one, where the middle half lies, least and most."""

    name: str
    least: float
    low: float
    middle: float
    high: float
    most: float


def rates_plot(name: str, marks: Sequence[Mark], limit: float | None) -> Plot:
    """False approvals with their intervals; ``limit`` is marked."""
    caption = "False approvals among verdicts on failing work"

    def paint(figure: Figure, axes: Axes) -> None:
        _lines(axes, [(m.name, m.text) for m in marks], 0, 1)
        for y, mark in enumerate(marks):
            axes.plot([mark.low, mark.high], [y, y], color=ONE, lw=4)
            for value, shape in ((mark.as_reject, "<"), (mark.as_approval, ">")):
                if value is not None and value != mark.rate:
                    axes.plot([value], [y], shape, ms=7, mfc=PAPER, mec=INK, mew=1.2, clip_on=False)
            axes.plot([mark.rate], [y], "o", ms=8, mfc=INK, mec=PAPER, mew=1, clip_on=False)
        if limit is not None:
            for y in range(len(marks)):
                axes.plot([limit, limit], [y - 0.24, y + 0.24], color=TWO, lw=2, ls=(0, (2, 1)))
        _percents(axes)

    words = "; ".join(f"{m.name}: {m.text}" for m in marks)
    return Plot(caption, _drawn(name, caption, words, len(marks), paint), _reading(marks, limit))


def _reading(marks: Sequence[Mark], limit: float | None) -> str:
    words = "Dot: the rate, missing verdicts left out. Bar: its 95 % interval."
    if any({m.as_reject, m.as_approval} - {None, m.rate} for m in marks):
        words += (
            " Hollow triangles: the rate with each missing verdict counted as a reject (◁)"
            " and as a false approval (▷)."
        )
    return words if limit is None else f"{words} Dashed mark: the threshold of the gate."


def spots_plot(name: str, title: str, columns: Sequence[str], spots: Sequence[Spot]) -> Plot:
    """Who tried which zone, phase by phase; ``columns`` are all phases, in order."""
    zones = sorted({s.zone for s in spots}, reverse=True)
    left = 24.0 + 6.5 * max(len(label(zone, 16)) for zone in zones)
    height = 30.0 * len(zones) + 90.0

    def paint(figure: Figure, axes: Axes) -> None:
        room = WIDTH - left - SIDE
        axes.set_position((left / WIDTH, 80 / height, room / WIDTH, 1 - 90 / height))
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(-0.5, len(zones) - 0.5)
        axes.set_xticks(range(len(columns)), [label(c, 18) for c in columns], rotation=35,
                        ha="right", rotation_mode="anchor", fontsize=10)  # fmt: skip
        axes.set_yticks(range(len(zones)), [label(zone, 16) for zone in zones], fontsize=10)
        axes.tick_params(length=0)
        axes.grid(lw=0.6)
        axes.set_axisbelow(True)
        for spot in spots:
            _spot(axes, columns.index(spot.column), zones.index(spot.zone), spot)

    words = "; ".join(
        f"phase {s.column}, {s.zone}: {s.episodes} of {counted(s.of, 'episode')},"
        f" let through in {s.allowed}"
        for s in spots
    )
    reading = (
        "A spot: episodes in which that role, in that phase, tried to change the zone of another."
        " Filled: a call was let through in some. Hollow: all were blocked."
        " The larger, the more of the episodes."
    )
    return Plot(title, draw(name, title, words, height, paint), reading)


def _spot(axes: Axes, x: int, y: int, spot: Spot) -> None:
    size = 10 + (BIG - 10) * (spot.episodes / spot.of) ** 0.5
    fill = TWO if spot.allowed else PAPER
    axes.plot([x], [y], "o", ms=size, mfc=fill, mec=TWO, mew=1.6)
    axes.annotate(str(spot.episodes), (x, y), (size / 2 + 3, 0), textcoords="offset points",
                  va="center", fontsize=10)  # fmt: skip


def flips_plot(name: str, first: str, second: str, flips: Sequence[Flip], more: int) -> Plot:
    """Tasks whose pass depends on the condition; ``more`` of them are not shown."""
    caption = f"Pass under one condition only: {second} against {first}"
    most = max(max(f.first_only, f.second_only) for f in flips)

    def paint(figure: Figure, axes: Axes) -> None:
        _lines(axes, [(f.task, "") for f in flips], -most * 1.15, most * 1.15)
        for y, flip in enumerate(flips):
            axes.barh(y, -flip.first_only, height=0.34, color=TWO)
            axes.barh(y, flip.second_only, height=0.34, color=ONE)
            for x, side in ((-flip.first_only, "right"), (flip.second_only, "left")):
                if x:
                    axes.annotate(str(abs(x)), (x, y), (4 if x > 0 else -4, 0), ha=side,
                                  textcoords="offset points", va="center", fontsize=10)  # fmt: skip
            axes.plot([0, 0], [y - 0.22, y + 0.22], color=INK, lw=1)
        axes.set_xticks([-most / 2, most / 2], [f"← only {label(first, 22)}",
                                                f"only {label(second, 22)} →"])  # fmt: skip
        axes.tick_params(length=0)

    words = "; ".join(
        f"{f.task}: {f.first_only} under {first} only, {f.second_only} under {second} only"
        for f in flips
    )
    reading = (
        f"Pairs of episodes of one task and trial: to the left those that passed under {first}"
        f" only, to the right those that passed under {second} only."
    )
    if more > 0:
        reading += f" Tasks with fewer such pairs, not shown: {more}."
    return Plot(caption, _drawn(name, caption, words, len(flips), paint), reading)


def time_plot(name: str, spreads: Sequence[Spread], of: str) -> Plot:
    """How long things took; ``of`` is one of them, a phase or an episode."""
    caption = f"How long one {of} took"
    most = max(s.most for s in spreads) or 1.0
    least = max(min(s.least for s in spreads), most / 1e4, 1e-3)

    def paint(figure: Figure, axes: Axes) -> None:
        wide = most > 50 * least
        _lines(axes, [(s.name, f"{s.middle:.2f} s") for s in spreads],
               least * 0.8 if wide else 0, most * (1.5 if wide else 1.05), log=wide)  # fmt: skip
        for y, s in enumerate(spreads):
            axes.plot([max(s.least, least), s.most], [y, y], color=ONE, lw=1.5)
            axes.plot([max(s.low, least), max(s.high, least)], [y, y], color=ONE, lw=7)
            axes.plot([max(s.middle, least)], [y], "o", ms=8, mfc=INK, mec=PAPER, mew=1)
        axes.grid(axis="x", lw=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel("seconds, on a logarithmic scale" if wide else "seconds")
        if wide:
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")

    words = "; ".join(f"{s.name}: median {s.middle:.2f} s, {s.least:.2f} to {s.most:.2f}"
                      for s in spreads)  # fmt: skip
    reading = f"Dot: the median {of}. Thick: the middle half. Thin: the shortest to the longest."
    return Plot(caption, _drawn(name, caption, words, len(spreads), paint), reading)


def _drawn(name: str, caption: str, words: str, lines: int, paint: Draw) -> str:
    height = ROOM * lines + BOTTOM

    def placed(figure: Figure, axes: Axes) -> None:
        side, bottom = SIDE / WIDTH, BOTTOM / height
        axes.set_position((side, bottom, 1 - 2 * side, 1 - bottom))
        axes.set_ylim(lines - 0.5, -0.85)
        paint(figure, axes)

    return draw(name, caption, words, height, placed)


def _lines(
    axes: Axes, names: Sequence[tuple[str, str]], low: float, high: float, *, log: bool = False
) -> None:
    """One line each, its name above it at the left and its figures at the right."""
    if log:
        axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_yticks([])
    for y, (left, right) in enumerate(names):
        short = label(left, WHOLE_LINE - len(right))
        for x, text, side in ((0, short, "left"), (1, right, "right")):
            axes.annotate(text, (x, y - 0.3), xycoords=("axes fraction", "data"), ha=side,
                          va="bottom", fontsize=10)  # fmt: skip


def _percents(axes: Axes) -> None:
    ticks = (0, 0.25, 0.5, 0.75, 1)
    axes.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
    axes.grid(axis="x", lw=0.6)
    axes.set_axisbelow(True)
    axes.set_clip_on(False)
