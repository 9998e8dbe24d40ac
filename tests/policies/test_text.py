from __future__ import annotations

import pytest

from rolewall.policies import escape, shorten, unescape
from rolewall.policies.text import SHORT
from rolewall.sandbox import names

NAMES = [
    b"app.py", b"with space", b"a\nb", b"\x1b[31m", b"\x7f", b"\\", b"\\x0a", b"\\\\x0a",
    b"\xff\xfe", "é😀".encode(), "a\u202eb".encode(), "\u2028".encode(), b"\xc3",
    b"\xed\xb3\xbf", b"",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_escape_is_reversible_and_printable(name: bytes) -> None:
    text = escape(name)
    assert unescape(text) == name
    assert text.isprintable() and "\n" not in text


def test_no_two_names_share_a_text() -> None:
    assert len({escape(name) for name in NAMES}) == len(NAMES)
    assert escape(b"\n") == "\\x0a" != escape(b"\\x0a")
    assert escape("é😀".encode()) == "é😀"


@pytest.mark.parametrize("text", ["\\", "\\x0", "\\x41", "\n", "\\[3]"])
def test_text_that_was_not_escaped_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an escaped name"):
        unescape(text)


def test_ledger_and_manifest_write_one_name_alike() -> None:
    assert names.escape is escape
    assert names.unescape is unescape


def test_shorten() -> None:
    whole = "x" * SHORT
    assert shorten(whole) == whole
    one, other = "/w/" + "x" * 5000 + "1" * 600, "/w/" + "x" * 4999 + "y" + "1" * 600
    assert shorten(one) != shorten(other)
    for text in (one, other):
        short = shorten(text)
        assert len(short) < SHORT
        assert short.startswith("/w/xxx") and short.endswith("111")
        assert "5603 characters" in short
        assert shorten(short) == short
