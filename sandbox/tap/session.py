"""One watched box inside the supervisor: every call gets its answer here."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

from rolewall.policies import (
    Access,
    Call,
    Effect,
    Judgement,
    Kind,
    Ledger,
    Outcome,
    ViewZone,
    escape,
    is_own,
    judge,
    judge_peek,
)

from . import kernel, wire
from .decode import Named, Opening, argv_of, named_paths, opening, refused_mode, row_flags
from .kernel import Notification
from .measure import exists, measure
from .recorder import Recorder, Seen
from .resolve import Root, Unreadable
from .syscalls import Arch, Syscall, by_number
from .task import TaskFacts, task_facts

__all__ = ["Session"]


class Session:
    """A listener with its view and recorder, and the channel to the harness."""

    def __init__(
        self,
        spec: wire.WatchSpec,
        listener: int,
        channel: socket.socket,
        ledger: Ledger,
        arch: Arch,
    ) -> None:
        self.spec, self.listener, self.channel = spec, listener, channel
        self.recorder = Recorder(spec, ledger, self._tell)
        self._arch, self._rows = arch, by_number(arch.name)
        self._root: Root | None = None

    def serve_one(self) -> None:
        """Answer the next waiting call. Whatever goes wrong with it refuses it."""
        call = kernel.receive(self.listener)
        if call is None:
            return
        try:
            code = self._answer(call)
        except kernel.Exhausted as error:
            self.recorder.break_off(str(error))
            code = errno.EPERM
        except Exception as error:  # a call that cannot be handled must not end the others
            code = self._unhandled(call, error)
        # Checked after the answer was found: this very call may have spent the budget.
        if self.recorder.refuses:
            code = code or errno.EPERM
        kernel.respond(self.listener, call.id, code)

    def close(self) -> dict[str, Any]:
        """Close the listener, which fails every call that still waits; the summary."""
        os.close(self.listener)
        if self._root:
            self._root.close()
        return self.recorder.summary()

    def _answer(self, call: Notification) -> int:
        row = self._rows.get(call.nr) if call.arch == self._arch.audit else None
        if self.recorder.refuses:
            return row.errno if row else errno.ENOSYS
        if row is None:
            return self._denied(_foreign(call), call)
        if row.errno:
            return self._denied(row, call)
        if row.sets_id(call.args) or row.refuses(call.args):
            return self._refused_by_argument(row, call)
        try:
            return self._dispatch(row, call)
        except Unreadable as error:
            self._unreadable(row, row.effect, call, error)
            return errno.EPERM

    def _dispatch(self, row: Syscall, call: Notification) -> int:
        if row.effect is Effect.EXEC:
            return self._exec(row, call)
        how = opening(row, call, self._arch) if row.reads else None
        if how and how.effect is None:
            return self._read(row, call, how)
        return self._change(row, call, how)

    def _unreadable(
        self, row: Syscall, effect: Effect, call: Notification, error: Unreadable
    ) -> None:
        if self._waits(call):
            found = judge(self.spec.view, Call(row.name, effect, None))
            task = self._task(call.tid)
            self.recorder.attempt(Seen(row.name, effect, found, task, detail=str(error)))

    def _denied(self, row: Syscall, call: Notification) -> int:
        self._refused(row, call, row_flags(row, call, self._arch))
        return row.errno

    def _refused_by_argument(self, row: Syscall, call: Notification) -> int:
        if row.sets_id(call.args):
            self._refused(row, call, refused_mode(row, call, self._arch), "set-id bits")
        else:
            self._refused(row, call, row_flags(row, call, self._arch))
        return errno.EPERM

    def _refused(
        self, row: Syscall, call: Notification, flags: tuple[str, ...], detail: str = ""
    ) -> None:
        found = judge(self.spec.view, Call(row.name, row.effect, None, denied=True))
        task = self._task(call.tid)
        seen = Seen(row.name, row.effect, found, task, flags=flags, detail=detail)
        self.recorder.attempt(seen)

    def _read(self, row: Syscall, call: Notification, how: Opening) -> int:
        """An open that changes nothing is left to the kernel, whatever its path; what is
        hidden is not there. Without ``reads`` only those come here that name write flags
        in vain."""
        if not self.spec.reads:
            return 0
        try:
            (path,) = self._canonical(_opened(named_paths(row, call), how), call.tid)
        except Unreadable as error:
            self._unreadable(row, Effect.READ, call, error)
            return 0
        if path and self._waits(call):
            text, view = escape(path), self.spec.view
            if zone := view.closed_at(text):
                self._peek(row, Effect.READ, call, zone, path, how.flags(self._arch))
            elif view.zone_at(text):
                self.recorder.read(text)
            else:
                self.recorder.read_outside()
        return 0

    def _peek(
        self,
        row: Syscall,
        effect: Effect,
        call: Notification,
        zone: ViewZone,
        path: bytes,
        flags: tuple[str, ...],
    ) -> None:
        task = self._task(call.tid)
        found = judge_peek(zone, exists(self._open_root(call.tid), path))
        if self._waits(call):
            self.recorder.attempt(Seen(row.name, effect, found, task, (escape(path),), flags))

    def _change(self, row: Syscall, call: Notification, how: Opening | None) -> int:
        """A call that names files: recorded by where they are, and left to the kernel."""
        effect = (how and how.effect) or row.effect
        named = named_paths(row, call)
        if how:
            named = _opened(named, how)
        paths = [path for path in self._canonical(named, call.tid) if path]
        if not paths or not self._waits(call):
            return 0
        texts = [escape(path) for path in paths]
        if all(is_own(self.spec.view, text) for text in texts):
            self.recorder.own(texts[-1], effect)
            return 0
        flags = how.flags(self._arch) if how else row_flags(row, call, self._arch)
        self._crossing(row, call, effect, paths, flags)
        return 0

    def _crossing(
        self,
        row: Syscall,
        call: Notification,
        effect: Effect,
        paths: list[bytes],
        flags: tuple[str, ...],
    ) -> None:
        task, root = self._task(call.tid), self._open_root(call.tid)
        targets = tuple(measure(root, path, effect, task) for path in paths)
        if not self._waits(call):
            return
        found = judge(self.spec.view, Call(row.name, effect, targets))
        texts = tuple(target.path for target in targets)
        self.recorder.attempt(Seen(row.name, effect, found, task, texts, flags))

    def _exec(self, row: Syscall, call: Notification) -> int:
        (path,) = self._canonical(named_paths(row, call), call.tid)
        argv, whole = argv_of(row, call)
        # A shell tries every directory of PATH; only the hit is an execution.
        missing = path and exists(self._open_root(call.tid), path) is False
        zone = self.spec.view.closed_at(escape(path)) if path else None
        if zone and self.spec.reads:
            self._peek(row, Effect.EXEC, call, zone, path, row_flags(row, call, self._arch))
        # What a condition forbids to read may be there all the same, where there is no wall.
        hidden = zone is not None and zone.access is Access.HIDDEN and self.spec.reads
        if not hidden and self._waits(call) and not missing:
            self.recorder.execution(escape(path), argv, whole, self._task(call.tid).pid)
        return 0

    def _unhandled(self, call: Notification, error: Exception) -> int:
        row = self._rows.get(call.nr) or _foreign(call)
        found = Judgement(Kind.OUTSIDE, Outcome.UNKNOWN, "", "", "could not be handled; EPERM")
        detail = f"{type(error).__name__}: {error}"
        try:
            self.recorder.attempt(Seen(row.name, row.effect, found, TaskFacts(), detail=detail))
        except Exception as again:  # the loop goes on, with this box refused everything
            self.recorder.break_off(f"an attempt could not be recorded: {again}")
        return errno.EPERM

    def _waits(self, call: Notification) -> bool:
        # False once the caller died: its ids may be another process's by then.
        return kernel.is_valid(self.listener, call.id)

    def _open_root(self, tid: int) -> Root:
        if self._root is None:
            try:
                self._root = Root(tid)
            except OSError as error:
                raise Unreadable(f"cannot open the box's root: {error.strerror}") from None
            self._check_places(self._root, tid)
        return self._root

    def _check_places(self, root: Root, tid: int) -> None:
        """A further place of a zone behind a link would be seen under another name."""
        for place, _ in self.spec.view.also:
            if root.canonical(os.fsencode(place), True, tid) != os.fsencode(place):
                self.recorder.break_off(f"{place}, a place of a zone, is reached by a link")

    def _canonical(self, named: list[Named], tid: int) -> list[bytes]:
        root = self._open_root(tid)
        return [
            self.spec.view.in_zone(
                item.path
                if item.final or not item.path
                else root.canonical(item.path, item.follow, tid)
            )
            for item in named
        ]

    def _task(self, tid: int) -> TaskFacts:
        found = task_facts(tid)
        if found.uid >= 0 or self.spec.role_uid < 0:
            return found
        return TaskFacts(found.comm, found.exe, found.pid, found.tid, self.spec.role_uid)

    def _tell(self, message: dict[str, Any]) -> None:
        try:
            wire.send(self.channel, message)
        except OSError:
            return  # a harness that is gone ends this session by its closed channel


def _opened(named: list[Named], how: Opening) -> list[Named]:
    return [Named(n.path, n.follow and how.follow, n.final) for n in named]


def _foreign(call: Notification) -> Syscall:
    name = f"foreign call {call.nr & 0xFFFFFFFF} of {call.arch:#x}"
    return Syscall(name, None, None, Effect.FOREIGN, errno=errno.ENOSYS)
