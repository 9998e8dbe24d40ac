"""The solution written a little differently says the same."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable

import pytest
import yaml

from rolewall.mutants import Overlay, OverlayFile, neutral

READERS: dict[str, Callable[[bytes], object]] = {
    "a.py": lambda text: ast.dump(ast.parse(text)),
    "a.json": json.loads,
    "a.toml": lambda text: tomllib.loads(text.decode()),
    "a.yaml": lambda text: list(yaml.safe_load_all(text)),
}
SCRIPT = b"#!/bin/sh\nexit 0\n"


def rewritten(path: str, data: bytes) -> bytes | None:
    found = neutral(Overlay({path: OverlayFile(data, executable=True), "other.bin": SAME}))
    if found is None:
        return None
    assert found.files["other.bin"] is SAME and found.files[path].executable
    return found.files[path].data


SAME = OverlayFile(b"\0")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.py", b"x = 1\n"),
        ("a.yaml", b"a: 1\n---\nb: on\n"),
        ("a.toml", b"a = 1\n"),
        ("a.ini", b"[a]\nb = 1\n"),
        ("a.sh", SCRIPT),
        ("a.sql", b"SELECT 1;\n"),
        ("a.json", b'{"b": [1, 2.50, "\xc3\xa9"], "a": null}'),
    ],
)
def test_what_is_added_says_nothing(path: str, data: bytes) -> None:
    made = rewritten(path, data)
    assert made is not None and made != data
    if path in READERS:
        assert READERS[path](made) == READERS[path](data)
    else:
        assert made.startswith(data) and made.count(b"\n") == data.count(b"\n") + 1


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.py", b"def broken(:\n"),
        ("a.py", b"x = 1 + \\\n"),
        ("a.json", b"{"),
        ("a.sh", b"cat <<end\nmore\n"),
        ("a.sh", b""),
        ("a.csv", b"a,b\n1,2\n"),
        ("logo.png", b"\x89PNG\n"),
    ],
)
def test_what_may_say_something_else_stays_as_it_is(path: str, data: bytes) -> None:
    assert rewritten(path, data) is None


def test_a_comment_is_none_within_a_text() -> None:
    data = b"text: |+\n  more\n\n"
    made = rewritten("a.yaml", data)
    assert made is None or yaml.safe_load(made) == yaml.safe_load(data)
