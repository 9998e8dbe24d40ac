"""What of a box's output reaches the screen of the person who plays a role.

The person reads files that others wrote. What a screen can be told by them to do beyond
drawing (to set a title or the clipboard, to open what is linked, to redefine keys, to send
back an answer of the writer's choosing) is told in *control strings*; those are left out.
Colours, the cursor and the like stay, so that editors work.
"""

from __future__ import annotations

import re

__all__ = ["ScreenFilter"]

ESC, BEL, CAN, SUB, DEL = 0x1B, 0x07, 0x18, 0x1A, 0x7F
OPENERS = b"]PX^_"  # OSC, DCS, SOS, PM, APC after ESC
# The same as single characters of C1, in UTF-8 after C2; 9C ends a string.
C1_LEAD, C1_END, C1_OPENERS = 0xC2, 0x9C, b"\x9d\x90\x98\x9e\x9f"
SECOND = re.compile(rb"\x1b\[\?(?:47|1047|1049)([hl])")  # the second screen, on or off
OVERLAP = 8
RESET = (
    b"\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?2004l"
    b"\x1b[?1l\x1b>\x1b[?7h\x1b[?25h\x1b[4l\x1b7\x1b[r\x1b8\x1b[0m\x1b(B\x0f\n"
)
"""Undoes what a session may leave switched on: reports of the mouse, of pastes and of the focus,
the keypad, margins, colours, a character set."""


class ScreenFilter:
    """Takes control strings out of a stream that comes piece by piece."""

    def __init__(self) -> None:
        self._second = False
        self._end = b""
        self._held = b""  # ESC, or C2, of which it is not yet known what it begins
        self._inside = False

    def __call__(self, data: bytes) -> bytes:
        """What of ``data``, and of what was held back before, may be shown."""
        shown = self._filtered(data)
        recent = self._end + shown
        for switch in SECOND.finditer(recent):
            self._second = switch[1] == b"h"
        self._end = recent[-OVERLAP:]
        return shown

    def end(self) -> bytes:
        """What makes the screen as usable as it was before."""
        # To a terminal that shows its first screen, this would mean another place as well.
        return b"\x18" + (b"\x1b[?1049l" if self._second else b"") + RESET

    def _filtered(self, data: bytes) -> bytes:
        if not (self._held or self._inside or ESC in data or C1_LEAD in data):
            return data
        shown = bytearray()
        for byte in data:
            if self._inside:
                self._skip(byte)
            else:
                self._pass(byte, shown)
        return bytes(shown)

    def _pass(self, byte: int, shown: bytearray) -> None:
        held, self._held = self._held, b""
        if held == b"\x1b" and byte != ESC and _ignored_within(byte):
            # A terminal carries it out and still waits for what the escape begins.
            shown.append(byte)
            self._held = held
        elif byte in (ESC, C1_LEAD):
            shown += held if held != b"\x1b" or byte != ESC else b""
            self._held = bytes([byte])
        elif held and byte in (OPENERS if held == b"\x1b" else C1_OPENERS):
            self._inside = True
        else:
            shown += held
            shown.append(byte)

    def _skip(self, byte: int) -> None:
        held, self._held = self._held, b""
        ends = {b"": None, b"\x1b": ord("\\")}.get(held, C1_END)
        if byte in (BEL, CAN, SUB, ends):
            self._inside = False
        elif byte in (ESC, C1_LEAD):
            self._held = bytes([byte])


def _ignored_within(byte: int) -> bool:
    return byte == DEL or (byte < 0x20 and byte not in (CAN, SUB))
