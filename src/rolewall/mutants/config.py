"""Faults in configuration: a value changed, a key left out. Line by line, and parsed again."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from itertools import chain

import yaml

from rolewall.mutants.edit import Edit, shifted, short_lines

__all__ = ["PARSERS", "faults", "parsed"]

_PAIR = re.compile(r"(\s*(?:- +)?(?:\"[^\"]*\"|'[^']*'|[\w.\-/]+)\s*[:=]\s*)(\S.*?)(\s*,?\s*)")
_FLIPS = {"true": "false", "yes": "no", "on": "off", "enabled": "disabled", "always": "never"}
_OPPOSITE = _FLIPS | {new: old for old, new in _FLIPS.items()}
_COMMENTS = ("#", ";", "//")
_MOST_NODES = 100_000
# What the libraries let through for values that do not fit their tag, or a number's limits.
_SLIPS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def _ini(text: str) -> object:
    # No section's values stand in every other one: the square of the file, otherwise.
    parser = configparser.RawConfigParser(default_section="")
    parser.read_string(text)
    return [(name, parser.items(name)) for name in parser.sections()]


def _yaml(text: str) -> object:
    loader = yaml.SafeLoader(text)
    said = []
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None or _size(node, {}) > _MOST_NODES:
                raise ValueError("too large, with aliases expanded")
            said.append(loader.construct_document(node))
    finally:
        loader.dispose()
    return said


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Nodes beneath and with ``node``, as often as they are met: an alias is what it stands for."""
    key = id(node)
    if key not in sizes:
        sizes[key] = _MOST_NODES + 1  # for a node that holds itself
        below = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = chain.from_iterable(one if isinstance(one, tuple) else (one,) for one in below)
        sizes[key] = 1 + sum(_size(part, sizes) for part in parts)
    return sizes[key]


PARSERS: dict[str, Callable[[str], object]] = {
    ".json": json.loads,
    ".toml": tomllib.loads,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".ini": _ini,
    ".cfg": _ini,
    ".conf": _ini,
}
"""By suffix, how a file is read; a ValueError, or an error of the library, for one that is none."""


def parsed(suffix: str, data: bytes) -> str | None:
    """What a file says, as one comparable text; None where it cannot be read."""
    try:
        return repr(PARSERS[suffix](data.decode()))
    except (*_SLIPS, configparser.Error, yaml.YAMLError):
        return None


def faults(data: bytes) -> Iterator[Edit]:
    """Every changed value and every line left out, whether or not what is left can be read."""
    for number, offset, text in short_lines(data):
        said = text.strip()
        if not said or said.startswith(_COMMENTS):
            continue
        yield Edit("key", number, f"{said} left out", offset, offset + len(text.encode()), b"")
        if found := _PAIR.fullmatch(text.rstrip("\r\n")):
            at = offset + len(found[1].encode())
            end = at + len(found[2].encode())
            for new in _others(found[2]):
                yield Edit("value", number, f"{found[2]} became {new}", at, end, new.encode())


def _others(value: str) -> Iterator[str]:
    bare = value.strip("\"'")
    if opposite := _OPPOSITE.get(bare.lower()):
        yield value.replace(bare, opposite)
    elif (more := shifted(value, 1)) is not None:
        yield more
        if (less := shifted(value, -1)) is not None:
            yield less
    elif bare.isprintable() and len(bare) > 1:
        yield value.replace(bare, bare[:-1])
