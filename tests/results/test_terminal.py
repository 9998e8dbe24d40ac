from __future__ import annotations

import io
import sys
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.terminal import HIDDEN, Sheet, draw, escape, listed, plain, say


class Terminal(io.StringIO):
    """A stream that is drawn to as to a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\x9b31m", "\\x9b31m"),
        ("safe\u202etxt.exe", "safe\\u202etxt.exe"),
        ("\u2028", "\\u2028"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("plain é 漢", "plain é 漢"),
    ],
)
def test_what_acts_on_a_terminal_is_written_out(hostile: str, shown: str) -> None:
    assert escape(hostile) == shown


@given(st.text())
def test_nothing_active_is_left(text: str) -> None:
    assert not any(unicodedata.category(c)[0] == "C" for c in escape(text))
    assert "\n" not in escape(text)


def test_every_character_that_hides_is_written_out_wherever_it_stands() -> None:
    hidden = [chr(c) for c in range(sys.maxunicode + 1)
              if unicodedata.category(chr(c)) in HIDDEN]  # fmt: skip
    assert len(hidden) > 800_000
    for start in range(0, len(hidden), 50_000):
        shown = escape("a" + "".join(hidden[start : start + 50_000]), 100_000)
        assert shown.isprintable() and shown.startswith("a\\")
    assert all(escape(character) != character for character in hidden[:2000])
    assert escape("a \u00e4\u6f22 b") == "a \u00e4\u6f22 b"


@pytest.mark.parametrize(
    ("number", "shown"), [(0, ""), (1, "a0"), (3, "a0, a1, a2"), (5, "a0, a1, a2 and 2 more")]
)
def test_a_list_that_is_cut_says_how_many_more(number: int, shown: str) -> None:
    assert listed([f"a{n}" for n in range(number)], 3) == shown


def test_long_texts_are_cut_and_say_so() -> None:
    shown = escape("x" * 5000, limit=100)
    assert len(shown) < 160 and "characters" in shown


MEASURED = Sheet(
    "t", ("name", "first", "second"), (("one", "1" * 30, "2" * 30), ("two", "3", "4")),
    numeric=frozenset({1, 2}), measures=True,
)  # fmt: skip


def test_measures_that_do_not_fit_are_turned() -> None:
    assert plain(MEASURED, 68).splitlines()[1].split() == ["name", "first", "second"]
    turned = ["t", "name", "first", "second"]
    assert [line.split()[0] for line in plain(MEASURED, 67).splitlines()] == turned
    assert plain(MEASURED) == plain(MEASURED, 1000)
    assert plain(replace(MEASURED, measures=False), 10) == plain(MEASURED)


@pytest.mark.parametrize("columns", ["70", "69"])
def test_a_terminal_turns_them_too(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = Terminal()
    draw(MEASURED, out)
    text = out.getvalue()
    assert "1" * 30 in text and "2" * 30 in text and "…" not in text
    together = any("1" * 30 in line and "2" * 30 in line for line in text.splitlines())
    assert together == (columns == "70")


def test_no_cell_loses_its_end_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    out = Terminal()
    draw(Sheet("", ("a", "b"), (("x" * 15, "y" * 15),)), out)
    assert out.getvalue().count("x") == out.getvalue().count("y") == 15


def test_markup_is_text_on_a_terminal() -> None:
    out = Terminal()
    draw(Sheet("[bold]t[/]", ("a",), (("[red]x[/red] :smile:",),), ("[link=file:///x]n[/]",)), out)
    text = out.getvalue()
    for literal in ("[bold]t[/]", "[red]x[/red] :smile:", "[link=file:///x]n[/]"):
        assert literal in text


def test_no_colour_and_no_escape_outside_a_terminal() -> None:
    out = io.StringIO()
    draw(Sheet("t", ("a", "n"), (("\x1b[31mred", "1"), ("漢字", "22"))), out)
    assert "\x1b" not in out.getvalue()
    assert "\\x1b[31mred" in out.getvalue()


def test_numbers_align_right() -> None:
    text = plain(Sheet("", ("name", "n"), (("a", "1"), ("bb", "22")), numeric=frozenset({1})))
    assert text.splitlines() == ["name   n", "a      1", "bb    22"]


def test_an_empty_sheet_says_so() -> None:
    assert plain(Sheet("t", ("a",), (), empty="no episode")) == "t\nno episode\n"


def test_lines_stay_lines() -> None:
    out = io.StringIO()
    say(["one\ntwo", "three"], out)
    assert out.getvalue() == "one\\x0atwo\nthree\n"
