"""What of a box's output reaches a screen, whatever pieces it comes in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.roles.humanshown import ScreenFilter

KEPT = {
    "text": "häuser € 中 \U0001f600\r\n".encode(),
    "colours and the cursor": b"\x1b[1;31mred\x1b[0m\x1b[2J\x1b[H\x1b7\x1b8\x1b(B\x1b=",
    "the second screen": b"\x1b[?1049h\x1b[?25l",
    "not UTF-8": b"\xff\xfe\x80\x9d\xe2\x82",
    "an escape twice": b"a\x1b\x1b[0mb",
}
DROPPED = {
    "a title": b"\x1b]0;title\x07",
    "the clipboard": b"\x1b]52;c;aGk=\x1b\\",
    "a question": b'\x1bP$q"p\x1b\\',
    "an application's": b"\x1b_G\x1b\\",
    "a private one": b"\x1b^x\x1b\\",
    "a start of string": b"\x1bXabc\x1b\\",
    "in one character": "\x9d0;title\x9c".encode(),
    "the same, ended otherwise": "\x90q".encode() + b"\x07",
    "one that is cancelled": b"\x1b]0;ti\x18",
    "another begun in it": b"\x1b]0;a\x1b]0;b\x07",
}


@pytest.mark.parametrize("data", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_drawing_is_shown(data: bytes, size: int) -> None:
    shown = filtered(data + b".", size)
    assert shown == (data + b".").replace(b"\x1b\x1b", b"\x1b")


@pytest.mark.parametrize("data", DROPPED.values(), ids=DROPPED)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_control_strings_are_not(data: bytes, size: int) -> None:
    assert filtered(b"before " + data + b"after", size) == b"before after"


def test_a_control_character_within_an_escape_hides_nothing() -> None:
    """A terminal carries it out, and still takes what follows for the escape's."""
    assert filtered(b"\x1b\n]0;title\x07.", 1000) == b"\n."
    assert filtered(b"\x1b\x7f]0;title\x07.", 1000) == b"\x7f."
    assert filtered(b"\x1b\n[31m.", 1000) == b"\n\x1b[31m."


@given(st.lists(st.sampled_from([b"\x1b", b"]", b"P", b"\\", b"\x07", b"\xc2", b"\x9d", b"\x9c",
                                 b"a", b"\n", b"\x18", b"[0m", b"_"]), max_size=40))  # fmt: skip
def test_no_piece_lets_a_string_begin(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    shown = filtered(whole, 1)
    assert shown == filtered(whole, 1000)
    for opener in (b"\x1b]", b"\x1bP", b"\x1b_", b"\xc2\x9d"):
        assert opener not in shown


def filtered(data: bytes, size: int) -> bytes:
    screen = ScreenFilter()
    return b"".join(screen(data[at : at + size]) for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_second_screen_that_is_left_on_is_left_at_the_end(size: int) -> None:
    for data, on in (
        (b"\x1b[?1049h", True),
        (b"\x1b[?1049h text \x1b[?1049l", False),
        (b"", False),
    ):
        screen = ScreenFilter()
        for at in range(0, len(data), size):
            screen(data[at : at + size])
        assert (b"\x1b[?1049l" in screen.end()) is on
