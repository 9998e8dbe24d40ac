"""Reading a report as a strict parser does."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import html5lib

HTML = "{http://www.w3.org/1999/xhtml}"
RUNS = {"script", "iframe", "object", "embed", "form", "base", "foreignObject", "animate", "set"}
POLICY = "default-src 'none'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Read:
    """A page as it is parsed; ``text`` is all that is seen of it."""

    html: str
    tree: ET.Element

    def all(self, tag: str, root: ET.Element | None = None) -> list[ET.Element]:
        return [e for e in (self.tree if root is None else root).iter() if name_of(e) == tag]

    def find(self, anchor: str) -> ET.Element:
        found = [e for e in self.tree.iter() if e.get("id") == anchor]
        assert len(found) == 1, f"{len(found)} elements with id {anchor}"
        return found[0]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.tree.itertext()).split())

    @property
    def answers(self) -> list[str]:
        return [words(e) for e in self.all("li") if e.get("class") == "answer"]

    def table(self, caption: str) -> dict[str, dict[str, ET.Element]]:
        """Row heading → column heading → cell, of the table whose caption begins so."""
        (found,) = [t for t in self.all("table")
                    if words(self.all("caption", t)[0]).startswith(caption)]  # fmt: skip
        columns = [words(e) for e in self.all("thead", found)[0].iter() if name_of(e) == "th"]
        if len(self.all("td", self.all("thead", found)[0])):
            columns = ["", *columns]
        lines = {}
        for row in self.all("tr", self.all("tbody", found)[0]):
            heading, *cells = [e for e in row if name_of(e) in ("th", "td")]
            lines[words(heading)] = dict(zip(columns[1:], cells, strict=True))
        return lines

    def behind(self, cell: ET.Element) -> tuple[int, list[str]]:
        """How many episodes a cell's link leads to, by their heading, and those listed."""
        (link,) = self.all("a", cell)
        target = self.find((link.get("href") or "")[1:])
        number = int(words(self.all("h3", target)[0]).rpartition(": ")[2])
        return number, [words(e) for e in target.iter() if name_of(e) in ("a", "span")]


def read(data: bytes) -> Read:
    """Strictly: any error of the HTML is one here. Holds what is true of every page."""
    text = data.decode("utf-8")
    tree = html5lib.HTMLParser(strict=True).parse(text)
    page = Read(text, tree)
    _holds(page, data)
    return page


def name_of(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def words(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _holds(page: Read, data: bytes) -> None:
    assert len(data) < 1_000_000
    assert list(_runs(page)) == []
    _names(page)
    _policy(page)
    _reads_aloud(page)
    # Nothing that can rewrite what a reader sees, and no control character but the line's end.
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]",
                         page.html)  # fmt: skip


def _runs(page: Read) -> Iterator[str]:
    """What could run or fetch something."""
    for element in page.tree.iter():
        if name_of(element) in RUNS:
            yield name_of(element)
        for key, value in element.attrib.items():
            name = key.rpartition("}")[2]
            if name.startswith("on") or name == "style":
                yield f"{name}={value}"
            if name in ("href", "src", "action") and not value.startswith(("#", "data:,")):
                yield f"{name}={value}"


def _names(page: Read) -> None:
    """Every id once, every link to one of them."""
    ids = [e.get("id") for e in page.tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for element in page.tree.iter():
        for value in element.attrib.values():
            for target in re.findall(r"^#(.+)$|url\(#([^)]+)\)", value):
                assert "".join(target) in ids, value
        for named in (element.get("aria-labelledby") or "").split():
            assert named in ids


def _policy(page: Read) -> None:
    (style,) = page.all("style")
    digest = base64.b64encode(hashlib.sha256((style.text or "").encode()).digest()).decode()
    policies = [e.get("content") for e in page.all("meta")
                if e.get("http-equiv") == "Content-Security-Policy"]  # fmt: skip
    assert policies == [POLICY.format(f"sha256-{digest}")]


def _reads_aloud(page: Read) -> None:
    assert page.tree.get("lang") == "en"
    assert words(page.all("title")[0])
    assert any(e.get("name") == "viewport" for e in page.all("meta"))
    for table in page.all("table"):
        assert words(page.all("caption", table)[0])
        assert all(e.get("scope") for e in page.all("th", table))
    for picture in page.all("svg"):
        assert picture.get("role") == "img" and words(page.all("desc", picture)[0])
    levels = [int(name_of(e)[1]) for e in page.tree.iter() if re.fullmatch("h[1-6]", name_of(e))]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
