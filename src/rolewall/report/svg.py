"""From matplotlib's SVG to one that may stand in the page.

What a page needs and matplotlib does not write: colours that follow the page's scheme, no
style attributes (the page's policy allows none), names that are no other picture's, a
title and words for who cannot see it, and text in the page's own font.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

__all__ = ["COLOURS", "clean"]

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
COLOURS = {"#010101": "ink", "#020202": "grid", "#030303": "one", "#040404": "two",
           "#050505": "paper"}  # fmt: skip
"""Colours that plots are drawn in, and the names they have in the page's style."""
KEPT = frozenset({"fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap",
                  "stroke-linejoin", "text-anchor", "opacity", "font-size"})  # fmt: skip
FONT_SIZE = re.compile(r"(?:^|\s)([0-9.]+)px\b")
REFERENCE = re.compile(r"^(?:url\()?#([^)]+)\)?$")
URL = re.compile(r"url\(#([^)]+)\)")


def clean(raw: bytes, name: str, title: str, words: str) -> str:
    """The ``<svg>`` element alone.

    Args:
        name: begins every id in it; of one picture of a page only.
        title, words: what it is, and what it shows, for who cannot see it. Escaped text.
    """
    root = ET.fromstring(raw)
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style", "title", "desc"):
                parent.remove(child)
    for element in root.iter():
        _restyle(element)
        _rename(element, name)
    _lighten(root)
    _describe(root, name, title, words)
    ET.register_namespace("", SVG)
    return ET.tostring(root, encoding="unicode")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _restyle(element: ET.Element) -> None:
    """Style attributes as presentation attributes; our colours as classes."""
    classes = []
    for part in element.attrib.pop("style", "").split(";"):
        key, _, value = (word.strip() for word in part.partition(":"))
        if key == "font" and (size := FONT_SIZE.search(value)):
            key, value = "font-size", size[1]
        if key in ("fill", "stroke") and value in COLOURS:
            classes.append(f"{key}-{COLOURS[value]}")
        elif key in KEPT:
            element.set(key, value)
    if classes:
        element.set("class", " ".join(classes))


def _rename(element: ET.Element, name: str) -> None:
    if (own := element.get("id")) is not None:
        element.set("id", f"{name}-{own}")
    if (other := element.attrib.pop(f"{{{XLINK}}}href", None)) is not None:
        element.set("href", other.replace("#", f"#{name}-", 1))
    for key, value in element.attrib.items():
        if "url(#" in value:
            element.set(key, URL.sub(rf"url(#{name}-\1)", value))


def _lighten(root: ET.Element) -> None:
    """Without names that nothing refers to, and without the white space between elements."""
    said = [value for element in root.iter() for value in element.attrib.values()]
    used = {found for value in said for found in REFERENCE.findall(value)}
    for element in root.iter():
        if element.get("id", "") not in used:
            element.attrib.pop("id", None)
        element.tail = None
        if _local(element.tag) != "text":
            element.text = None


def _describe(root: ET.Element, name: str, title: str, words: str) -> None:
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("class", "plot")
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-words")
    for place, (tag, text) in enumerate((("title", title), ("desc", words))):
        element = ET.Element(f"{{{SVG}}}{tag}", {"id": f"{name}-{'words' if place else 'title'}"})
        element.text = text
        root.insert(place, element)
