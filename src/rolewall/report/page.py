"""The report as one HTML file that needs nothing else and runs nothing.

Every text that is put into a template is made visible (control and formatting characters
as ``\\xNN``) and then escaped; there is no way around but ``Markup`` of our own making.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolewall.report.episode import Episodes
from rolewall.report.fit import LIMIT, ROOMS, Room, shorten
from rolewall.report.model import Report

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["LIMIT", "Page", "render"]

MOST = 400  # episodes in full


@dataclass(frozen=True)
class Page:
    """``detailed`` episodes are in it in full; ``left_out`` are not."""

    html: bytes
    detailed: int
    left_out: int


def render(report: Report, episodes: Episodes) -> Page:
    """The page, below ``LIMIT`` bytes whatever the report: episodes in full come in
    the order of the picks while there is room.

    Raises RecordError where an episode's evidence is not what its record has.
    """
    made = _Maker(report)
    room, html = made.fitted()
    left = LIMIT - len(html)
    details: list[str] = []
    for text in made.details(episodes):
        left -= len(text.encode())
        if left < 0:
            break
        details.append(text)
    # What is listed links to what is there, so all is made anew with that known.
    html = made.page(room, tuple(details))
    while len(html) > LIMIT and details:
        details = details[: len(details) * 9 // 10]
        html = made.page(room, tuple(details))
    return Page(html, len(details), len(report.picks) - len(details))


class _Maker:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._room = ROOMS[0]
        self._environment = self._made()
        self._style = importlib.resources.files(__package__).joinpath(
            "templates/style.css").read_text("utf-8")  # fmt: skip
        digest = hashlib.sha256(self._style.encode()).digest()
        self._hash = f"sha256-{base64.b64encode(digest).decode()}"

    def fitted(self) -> tuple[Room, bytes]:
        """How much is shown, and the page without any episode in full: as if each were
        there, since links take room too."""
        for room in ROOMS:
            html = self.page(room, (), linked=len(self._report.picks))
            if len(html) <= room.most:
                break
        return room, html

    def page(self, room: Room, details: tuple[str, ...], linked: int = 0) -> bytes:
        from markupsafe import Markup

        self._room = room
        there = self._report.picks[: linked or len(details)]
        text = self._environment.get_template("page.html.j2").render(
            report=self._report,
            style=Markup(self._style),
            style_hash=self._hash,
            room=room,
            details=[Markup(text) for text in details],
            anchors={id(pick.row): pick.anchor for pick in there},
            left_out=len(self._report.picks) - len(details),
        )
        return text.encode("utf-8", "backslashreplace")

    def details(self, episodes: Episodes) -> Iterator[str]:
        """These are as long as they are: as many are shown as there is room for."""
        self._room = ROOMS[0]
        template = self._environment.get_template("episode.html.j2")
        for pick in self._report.picks[:MOST]:
            yield template.render(episode=episodes.view(pick))

    def _made(self) -> Environment:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        made = Environment(
            loader=PackageLoader("rolewall.report"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=self._visible,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
        made.filters["code"] = _code
        made.filters["short"] = lambda text: _quoted(shorten(text, self._room.name))
        made.filters["titled"] = lambda text: _quoted(shorten(text, 3 * self._room.name))
        made.filters["prose"] = lambda text: _quoted(shorten(text, self._room.prose))
        made.filters["drawn"] = _drawn
        made.filters["identity"] = id
        return made

    def _visible(self, value: object) -> object:
        from markupsafe import Markup

        return value if isinstance(value, Markup) else shorten(value, self._room.other)


def _quoted(text: str) -> Markup:
    from markupsafe import escape as quoted

    return quoted(text)


def _code(line: str) -> Markup:
    """A line of a file: a tab stays one, all else that cannot be seen is escaped."""
    return _quoted("\t".join(shorten(part, 300) for part in line[:2000].split("\t")))


def _drawn(svg: str) -> Markup:
    from markupsafe import Markup

    return Markup(svg)
