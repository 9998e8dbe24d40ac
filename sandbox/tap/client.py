"""The harness's side of the tap."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import Any

from rolewall.errors import TapError

from . import wire
from .wire import WatchSpec, WatchSummary

__all__ = ["Supervisor", "Watch"]

_REPLY_SECONDS = 20.0
_FINISH_SECONDS = 60.0
_EXIT_SECONDS = 10.0

# The package rolewall.sandbox imports every backend, which the supervisor does not
# need: an empty module stands in, so that it starts in a third of the time.
_PROGRAM = """
import json, sys, types
search, folder = json.loads(sys.argv[1])
sys.path[:] = search
package = types.ModuleType("rolewall.sandbox")
package.__path__ = [folder]
sys.modules["rolewall.sandbox"] = package
from rolewall.sandbox.tap.supervisor import main
main()
"""


class Supervisor:
    """The process that serves the listeners of all boxes of a run.

    Use as a context manager, one for a run; ``watch`` may be called from any thread.

    Raises:
        TapError: the process cannot be started.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control, theirs = _channel()
        with theirs:
            try:
                self._process = _start(theirs.fileno())
            except OSError as error:
                self._control.close()
                raise TapError(f"the supervisor cannot be started: {error.strerror}") from error

    def watch(self, listener: int, spec: WatchSpec) -> Watch:
        """Serve ``listener``, a seccomp notification descriptor, which this call takes over.

        Until ``Watch.begin`` calls are answered as always, but only counted.

        Raises:
            TapError: the supervisor is gone, or the ledger cannot be written.
        """
        try:
            ours, theirs = _channel()
            watch = Watch(ours, self)
            try:
                with theirs, self._lock:
                    wire.send(self._control, spec.to_json(), listener, theirs.fileno())
            except OSError:
                ours.close()
                raise TapError(self.trouble()) from None
        finally:
            os.close(listener)
        try:
            watch._expect("watch", _REPLY_SECONDS)
        except TapError:
            watch.close()
            raise
        return watch

    @property
    def alive(self) -> bool:
        """Whether the process runs, so that new boxes can be watched."""
        return self._process.poll() is None

    def trouble(self) -> str:
        """Why the supervisor no longer answers."""
        code = self._process.poll()
        return "the supervisor is gone" if code is None else f"the supervisor ended with {code}"

    def close(self) -> None:
        """End the process; watches that are still open are ended with it.

        Raises:
            TapError: it failed, with its last words.
        """
        self._control.close()
        try:
            _, words = self._process.communicate(timeout=_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise TapError("the supervisor did not end") from None
        if self._process.returncode != 0:
            last = words.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise TapError("the supervisor failed", got=last[0] if last else self.trouble())

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except TapError:
            if error is None:
                raise


def _channel() -> tuple[socket.socket, socket.socket]:
    try:
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError as error:
        raise TapError(f"no way to the supervisor can be made: {error.strerror}") from error


def _start(control: int) -> subprocess.Popen[bytes]:
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Opened here: a Popen that fails may leave what it has opened for DEVNULL.
    with open(os.devnull, "wb") as nothing:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, json.dumps([sys.path, folder])],
            stdin=control,
            stdout=nothing,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        )


class Watch:
    """One watched box. Every method raises ``TapError`` when attempts can no longer be
    observed or recorded; the box must then be ended."""

    def __init__(self, channel: socket.socket, supervisor: Supervisor) -> None:
        self._channel, self._supervisor = channel, supervisor
        self._violated = False

    def fileno(self) -> int:
        """Readable when ``poll`` has something to say."""
        return self._channel.fileno()

    def begin(self) -> None:
        """The probe is over: from here attempts are recorded."""
        self._ask("begin")
        self._expect("begin", _REPLY_SECONDS)

    def poll(self) -> bool:
        """Whether the budget for crossings is spent; never waits."""
        while self._readable(0):
            self._take()
        return self._violated

    def finish(self) -> WatchSummary:
        """Drain what is queued, write it, close the listener. To be called once."""
        try:
            self._ask("finish")
            reply = self._expect("finish", _FINISH_SECONDS)
        finally:
            self.close()
        return WatchSummary.from_json(reply["summary"])

    def close(self) -> None:
        """Give the watch up without its summary; what it saw is still written. Safe to
        call twice, and after ``finish``."""
        self._channel.close()

    def _ask(self, operation: str) -> None:
        try:
            wire.send(self._channel, {"do": operation})
        except OSError:
            self._expect(operation, 0)  # what it said before it went is the reason
            raise TapError(self._supervisor.trouble()) from None

    def _expect(self, operation: str, seconds: float) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while True:
            left = max(0.0, until - time.monotonic())
            if not self._readable(left):
                raise TapError(f"the supervisor did not answer {operation} in {seconds:g} s")
            message = self._take()
            if message.get("done") == operation:
                return message

    def _readable(self, seconds: float) -> bool:
        poller = select.poll()  # select() takes no descriptor above 1023
        poller.register(self._channel, select.POLLIN)
        return bool(poller.poll(round(seconds * 1000)))

    def _take(self) -> dict[str, Any]:
        try:
            found = wire.receive(self._channel)
        except OSError:
            found = None
        if found is None:
            raise TapError(self._supervisor.trouble())
        message = found[0]
        if "broken" in message:
            raise TapError("attempts cannot be recorded", got=message["broken"])
        self._violated = self._violated or message.get("violated") is True
        return message
