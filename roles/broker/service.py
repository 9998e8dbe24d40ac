"""Answers ``rolewall-tool`` from a role's box."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from rolewall.errors import BoxError
from rolewall.roles.broker.answer import Answer
from rolewall.roles.broker.door import ToolDoor
from rolewall.roles.checkwire import ConnectionLost, read_request, send_message, send_output
from rolewall.sandbox import Listen

__all__ = ["TOOL_SOCKET", "ToolService"]

TOOL_SOCKET = Listen("abstract", "rolewall-tool")
AT_ONCE = 4  # calls of one phase, each with a box
JOIN_SECONDS = 120.0
USAGE = "usage: rolewall-tool NAME [JSON], the arguments as one JSON object"


class ToolService:
    """Serves one phase's box, until closed.

    Args:
        listener: the listening socket that init opened in the role's box; taken over.
    """

    def __init__(self, listener: int, door: ToolDoor) -> None:
        self._socket = socket.socket(fileno=listener)
        self._door = door
        self._room = threading.Semaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._closed = False
        self._connections: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._thread = threading.Thread(target=self._serve, name="rolewall-tool", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            self._room.acquire()
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._one, args=(connection,), daemon=True)
            with self._lock:
                if self._closed:
                    connection.close()
                    return
                self._connections.add(connection)
                self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError:  # the machine has no thread left: this call is cut off
                self._left(connection, thread)

    def _one(self, connection: socket.socket) -> None:
        try:
            with suppress(ConnectionLost):
                self._answer(connection)
        finally:
            self._left(connection, threading.current_thread())

    def _left(self, connection: socket.socket, thread: threading.Thread) -> None:
        with self._lock:
            self._connections.discard(connection)
            self._threads.discard(thread)
            connection.close()
        self._room.release()

    def _answer(self, connection: socket.socket) -> None:
        try:
            name, *rest = read_request(connection).argv
        except ValueError as error:
            return send_message(connection, str(error))
        if len(rest) > 1:
            return send_message(connection, USAGE)
        given = rest[0].encode("utf-8", "surrogateescape") if rest else b"{}"
        name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        answer = self._door.call(name, given)
        return send_output(connection, answer.text().encode() + b"\n", _code(answer))

    def close(self) -> None:
        """Take no further call; the door's ``close`` ends those under way. Safe to call twice."""
        with self._lock:
            self._closed = True
            for one in (self._socket, *self._connections):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        self._room.release()  # whoever waits for room to accept finds the socket closed
        self._socket.close()

    def join(self) -> None:
        """Wait for the calls that the closed door has ended.

        Raises:
            BoxError: one did not end.
        """
        with self._lock:
            threads = [self._thread, *self._threads]
        for thread in threads:
            thread.join(JOIN_SECONDS)
            if thread.is_alive():
                raise BoxError("a call of a tool did not end", got=f"{JOIN_SECONDS:g} s")


def _code(answer: Answer) -> int:
    """0: there is a result; 1: the tool failed; 2: it was not run."""
    if answer.ok:
        return 0
    return 2 if answer.refused else 1
