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
from rolewall.report.model import Report
from rolewall.terminal import escape

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["LIMIT", "Page", "render"]

LIMIT = 1_000_000  # bytes, all told
SHARE = 550_000  # of these for all that is not an episode in full
MOST = 400  # episodes in full
# How many episodes of one set, and of the index, are listed: the most that there is room for.
LISTED = ((40, 200), (12, 80), (4, 30), (0, 10))


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
    head = made.fitted()
    room = LIMIT - len(head[1])
    details: list[str] = []
    for text in made.details(episodes):
        room -= len(text.encode())
        if room < 0:
            break
        details.append(text)
    # What is listed links to what is there, so all is made anew with that known.
    html = made.page(head[0], tuple(details))
    while len(html) > LIMIT and details:
        details = details[: len(details) * 9 // 10]
        html = made.page(head[0], tuple(details))
    return Page(html, len(details), len(report.picks) - len(details))


class _Maker:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._environment = _environment()
        self._style = importlib.resources.files(__package__).joinpath(
            "templates/style.css").read_text("utf-8")  # fmt: skip
        digest = hashlib.sha256(self._style.encode()).digest()
        self._hash = f"sha256-{base64.b64encode(digest).decode()}"

    def fitted(self) -> tuple[tuple[int, int], bytes]:
        """How much is listed, and the page without any episode in full: as if each were
        there, since links take room too."""
        for listed in LISTED:
            html = self.page(listed, (), linked=len(self._report.picks))
            if len(html) <= SHARE:
                break
        return listed, html

    def page(self, listed: tuple[int, int], details: tuple[str, ...], linked: int = 0) -> bytes:
        from markupsafe import Markup

        there = self._report.picks[: linked or len(details)]
        text = self._environment.get_template("page.html.j2").render(
            report=self._report,
            style=Markup(self._style),
            style_hash=self._hash,
            set_size=listed[0],
            index_size=listed[1],
            details=[Markup(text) for text in details],
            anchors={id(pick.row): pick.anchor for pick in there},
            left_out=len(self._report.picks) - len(details),
        )
        return text.encode("utf-8", "backslashreplace")

    def details(self, episodes: Episodes) -> Iterator[str]:
        template = self._environment.get_template("episode.html.j2")
        for pick in self._report.picks[:MOST]:
            yield template.render(episode=episodes.view(pick))


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("rolewall.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.filters["code"] = _code
    made.filters["short"] = lambda text: escape(text, 90)
    made.filters["prose"] = lambda text: _quoted(escape(text, 1500))
    made.filters["drawn"] = _drawn
    made.filters["identity"] = id
    return made


def _visible(value: object) -> object:
    from markupsafe import Markup

    return value if isinstance(value, Markup) else escape(value)


def _quoted(text: str) -> Markup:
    from markupsafe import escape as quoted

    return quoted(text)


def _code(line: str) -> Markup:
    """A line of a file: a tab stays one, all else that cannot be seen is escaped."""
    return _quoted("\t".join(escape(part, 300) for part in line[:2000].split("\t")))


def _drawn(svg: str) -> Markup:
    from markupsafe import Markup

    return Markup(svg)
