"""The supervisor: one process and one loop for all watched boxes of a run.

Started by ``rolewall.sandbox.tap.client``; file descriptor 0 is its control
socket. It ends when that reaches its end: a dead harness leaves none behind.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from rolewall.errors import RolewallError
from rolewall.policies import Ledger

from . import kernel, wire
from .session import Session
from .syscalls import native_arch

__all__ = ["main"]

_DRAIN_SECONDS = 5.0
_KNOWN = 64  # ledgers whose end is remembered: more than episodes that run at a time
_TICK_SECONDS = 1.0
# A call that takes longer than others, which a role can bring about, lets its box wait for
# so many times as long: however many it makes, the other boxes keep most of the loop.
_LONG_SECONDS = 0.002
_REST = 4


class _Ledgers:
    """One open ledger a path, closed with the last watch that uses it.

    Where an episode's last phase ended its next one goes on, without verifying all anew.
    """

    def __init__(self) -> None:
        self._open: dict[Path, tuple[Ledger, int]] = {}
        self._closed: OrderedDict[Path, Ledger] = OrderedDict()

    def take(self, path: Path) -> Ledger:
        ledger, users = self._open.get(path) or (Ledger(path, self._closed.pop(path, None)), 0)
        self._open[path] = (ledger, users + 1)
        return ledger

    def give_back(self, path: Path) -> None:
        ledger, users = self._open[path]
        if users > 1:
            self._open[path] = (ledger, users - 1)
            return
        del self._open[path]
        ledger.close()
        self._closed[path] = ledger
        if len(self._closed) > _KNOWN:
            self._closed.popitem(last=False)


class _Loop:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._epoll = select.epoll()
        self._epoll.register(control.fileno(), select.EPOLLIN)
        self._by_listener: dict[int, Session] = {}
        self._by_channel: dict[int, Session] = {}
        self._resting: dict[int, float] = {}  # listener: when it is looked at again
        self._ledgers = _Ledgers()
        self._arch = native_arch()
        self._running = True

    def run(self) -> None:
        """Serve until the control socket ends; every ready listener gets one call a turn."""
        tick = time.monotonic()
        while self._running:
            for fd, events in self._epoll.poll(self._timeout()):
                self._dispatch(fd, events)
            self._wake()
            if time.monotonic() - tick >= _TICK_SECONDS:
                tick = time.monotonic()
                for session in self._by_channel.values():
                    session.recorder.flush(int(time.time()))
        for session in list(self._by_channel.values()):
            self._end(session)

    def _timeout(self) -> float:
        holds = any(session.recorder.holds_counts for session in self._by_channel.values())
        waits = [until - time.monotonic() for until in self._resting.values()]
        if holds:
            waits.append(_TICK_SECONDS)
        return max(0.0, min(waits)) if waits else -1

    def _dispatch(self, fd: int, events: int) -> None:
        session = self._by_listener.get(fd)
        if session is not None:
            if events & select.EPOLLIN:
                began = time.monotonic()
                self._serve(session)
                self._rest(fd, time.monotonic() - began)
            elif events:
                self._forget_listener(session)
        elif fd == self._control.fileno():
            self._watch()
        elif fd in self._by_channel:
            self._request(self._by_channel[fd])

    def _serve(self, session: Session) -> None:
        try:
            session.serve_one()
        except Exception as error:  # one broken box must not end the others
            self._forget_listener(session)
            session.recorder.break_off(f"the listener failed: {type(error).__name__}: {error}")

    def _rest(self, listener: int, took: float) -> None:
        if took > _LONG_SECONDS and listener in self._by_listener and len(self._by_listener) > 1:
            self._resting[listener] = time.monotonic() + _REST * took
            self._epoll.modify(listener, 0)

    def _wake(self) -> None:
        due = [fd for fd, until in self._resting.items() if until <= time.monotonic()]
        for listener in due:
            del self._resting[listener]
            self._epoll.modify(listener, select.EPOLLIN)

    def _forget_listener(self, session: Session) -> None:
        # No process is left behind the filter; epoll would report that for ever.
        self._resting.pop(session.listener, None)
        if self._by_listener.pop(session.listener, None):
            self._epoll.unregister(session.listener)

    def _watch(self) -> None:
        """A new watch: its specification, with listener and channel descriptors."""
        found = _receive(self._control, fds=2)
        if found is None:
            self._running = False
            return
        message, (listener, channel_fd) = found
        channel = socket.socket(fileno=channel_fd)
        spec = wire.WatchSpec.from_json(message)
        try:
            ledger = self._ledgers.take(spec.ledger)
        except RolewallError as error:
            os.close(listener)
            _reply(channel, {"broken": str(error)})
            channel.close()
            return
        session = Session(spec, listener, channel, ledger, self._arch)
        self._by_listener[listener] = self._by_channel[channel.fileno()] = session
        self._epoll.register(listener, select.EPOLLIN)
        self._epoll.register(channel.fileno(), select.EPOLLIN)
        _reply(channel, {"done": "watch"})

    def _request(self, session: Session) -> None:
        found = _receive(session.channel)
        operation = found[0].get("do") if found else None
        if operation == "begin":
            session.recorder.began = True
            _reply(session.channel, {"done": "begin"})
            return
        summary = self._end(session)
        if operation == "finish":
            _reply(session.channel, summary)
        session.channel.close()

    def _end(self, session: Session) -> dict[str, Any]:
        self._drain(session)
        self._forget_listener(session)
        self._epoll.unregister(session.channel.fileno())
        del self._by_channel[session.channel.fileno()]
        summary = session.close()
        try:
            self._ledgers.give_back(session.spec.ledger)
        except RolewallError as error:
            return {"broken": str(error)}
        if session.recorder.broken:
            return {"broken": session.recorder.broken}
        return {"done": "finish", "summary": summary}

    def _drain(self, session: Session) -> None:
        # Closing the listener fails what still waits; what was queued is first recorded.
        until = time.monotonic() + _DRAIN_SECONDS
        while session.listener in self._by_listener and time.monotonic() < until:
            if not kernel.pending(session.listener):
                return
            self._serve(session)


def _receive(channel: socket.socket, fds: int = 0) -> tuple[dict[str, Any], list[int]] | None:
    try:
        return wire.receive(channel, fds)
    except OSError:
        return None


def _reply(channel: socket.socket, message: dict[str, Any]) -> None:
    try:
        wire.send(channel, message)
    except OSError:
        return  # the other end is gone; its closed channel is the next event


def main() -> None:
    # The harness decides when watching ends; Ctrl-C reaches its whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    control = socket.socket(fileno=os.dup(0))
    _Loop(control).run()
