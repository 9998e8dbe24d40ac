"""A person's recorded session, typed again."""

from __future__ import annotations

import io
import os
import threading
import time
from contextlib import suppress
from typing import IO, cast

from rolewall.roles.humanterminal import frame_keys, frame_size
from rolewall.roles.playing import Player
from rolewall.roles.recorded import KeysTyped, Resized, Session
from rolewall.roles.shellsession import play_shell
from rolewall.sandbox import Streams

__all__ = ["do_session"]

JOIN_SECONDS = 5.0
LATE_SECONDS = 3.0  # how long what was shown before some keys is waited for, beyond their time
LOOK_SECONDS = 0.02
MOST_KEYS = 1024


def do_session(player: Player, session: Session, streams: Streams) -> None:
    """Type what was typed: each key as long after the session's beginning as then, and when as
    much has been shown as then, so that a slower machine does not get them too early."""
    shown = _Shown(streams.stdout)
    typist = _Typist(player, session, shown)
    own = Streams(cast(IO[bytes], shown), None, streams.limit)
    typist.start()
    try:
        play_shell(player, session.shell, typist.reader, own, lambda done: done)
    finally:
        typist.stop()


class _Shown(io.RawIOBase):
    """A sink that counts what goes through it."""

    def __init__(self, sink: IO[bytes] | None) -> None:
        self.size = 0
        self._sink = sink

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        if self._sink:
            self._sink.write(piece)
            self._sink.flush()
        self.size += len(piece)
        return len(piece)


class _Typist:
    """Types a session in a thread of its own; ``reader`` has the frames."""

    def __init__(self, player: Player, session: Session, shown: _Shown) -> None:
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC)
        self._player = player
        self._session = session
        self._shown = shown
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._type, name="rolewall-typist", daemon=True)

    def start(self) -> None:
        self._began = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        os.close(self.reader)  # whoever waits to write there waits no more
        self._thread.join(JOIN_SECONDS)

    def _type(self) -> None:
        """The end of the pipe would hang up, so it is kept until the shell has ended."""
        with suppress(OSError):
            for one in self._session.typed:
                if self._wait(one):
                    break
                tool = "keys" if isinstance(one, KeysTyped) else "size"
                self._player.called(tool, one.model_dump(exclude_none=True))
                for frame in _frames(one):
                    os.write(self._writer, frame)
            self._over.wait()
        os.close(self._writer)

    def _wait(self, one: KeysTyped | Resized) -> bool:
        """Until it is time; whether the session has ended instead."""
        due = self._began + one.at
        if self._over.wait(max(0.0, due - time.monotonic())):
            return True
        while self._shown.size < one.shown and time.monotonic() < due + LATE_SECONDS:
            if self._over.wait(LOOK_SECONDS):
                return True
        return False


def _frames(one: KeysTyped | Resized) -> list[bytes]:
    if isinstance(one, KeysTyped):
        keys = one.keys
        return [frame_keys(keys[at : at + MOST_KEYS]) for at in range(0, len(keys), MOST_KEYS)]
    return [frame_size((one.rows, one.columns))]
