"""The check box: where a verifier runs the work without lending it its own rights.

``rolewall-check -- COMMAND`` in the verifier's box asks the service here; the
command runs in a box of its own, on a private copy of the workspace, with
neither specification, verdict, nonce nor the agent's home.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import BoxError, InfrastructureError
from rolewall.roles.checkwire import (
    ConnectionLost,
    Request,
    read_request,
    send_message,
    send_result,
)
from rolewall.sandbox import (
    WORKSPACE,
    Box,
    BoxSpec,
    Completed,
    Listen,
    ZoneMount,
    remove_tree,
)

__all__ = ["CHECK_SOCKET", "CheckCopy", "CheckRun", "CheckService", "WorkChanged", "check_spec"]

CHECK_SOCKET = Listen("abstract", "rolewall-check")
OUTPUT_LIMIT = 4 * 1024 * 1024
MOST_RUNS = 500
JOIN_SECONDS = 120.0


class WorkChanged(Exception):
    """The caller itself kept the workspace from being copied: it changed too fast."""


@dataclass(frozen=True, slots=True)
class CheckCopy:
    """A private copy of the workspace, and what is not in it."""

    path: Path
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One command that ran in a check box."""

    argv: tuple[str, ...]
    returncode: int
    started: float
    ended: float


class CheckService:
    """Answers ``rolewall-check`` for one phase, one command at a time.

    Args:
        listener: the listening socket that init opened in the caller's box.
        snapshot: makes a private copy of the workspace as it is; the service removes it.
            WorkChanged is answered as a refusal, and no trouble.
        open_check: opens a check box over that copy.
        seconds: how long all commands together may take.
        workdir: where the work is in the caller's box and in check boxes, besides
            ``/workspace``.

    Attributes:
        runs: the commands that ran.
        trouble: what kept a command from running that was no fault of the
            caller's. Whoever serves must look at it after ``close``: the caller
            was told only that its command failed.
    """

    def __init__(
        self,
        listener: int,
        snapshot: Callable[[], CheckCopy],
        open_check: Callable[[Path], Box],
        seconds: float,
        workdir: str = WORKSPACE,
    ) -> None:
        self.runs: list[CheckRun] = []
        self.trouble: InfrastructureError | None = None
        self._socket = socket.socket(fileno=listener)
        self._snapshot = snapshot
        self._open = open_check
        self._workdir = workdir
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._closed = False
        self._connection: socket.socket | None = None
        self._box: Box | None = None
        self._thread = threading.Thread(target=self._serve, name="rolewall-check", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(ConnectionLost):
                self._connection = connection
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        try:
            request = read_request(connection, self._workdir)
        except ValueError as error:
            return send_message(connection, str(error))
        left = self._until - time.monotonic()
        if left <= 0 or len(self.runs) >= MOST_RUNS:
            return send_message(connection, "no further command in this phase")
        copy = result = None
        try:
            copy = self._snapshot()
            result = self._run(request, copy.path, left)
        except WorkChanged:
            return send_message(connection, "the work changed while it was copied")
        except Exception as error:
            self._note(error)
        finally:
            if copy is not None:
                self._remove(copy.path)
        if result is None:
            return send_message(connection, "the check box failed; this phase will not count")
        for name in copy.left_out if copy else ():
            send_message(connection, f"not in the copy: {name}")
        return send_result(connection, result)

    def _run(self, request: Request, copy: Path, seconds: float) -> Completed:
        with self._open(copy) as box:
            with self._lock:
                if self._closed:
                    raise BoxError("the phase is over")
                self._box = box
            result = box.run(
                request.argv, cwd=request.cwd, timeout=seconds, output_limit=OUTPUT_LIMIT
            )
            box.kill_all()
            box.finish()
        self.runs.append(CheckRun(result.argv, result.returncode, result.started, result.ended))
        return result

    def _remove(self, copy: Path) -> None:
        try:
            remove_tree(copy)
        except InfrastructureError as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        """Whatever is not the caller's fault must not become its verdict."""
        if self._closed or self.trouble:
            return
        if not isinstance(error, InfrastructureError):
            error = BoxError(f"a check box failed: {type(error).__name__}: {error}")
        self.trouble = error

    def close(self) -> None:
        """Take no further command and end the one that runs. Safe to call twice.

        Raises:
            BoxError: the one that ran did not end.
        """
        with self._lock:
            self._closed = True
            box = self._box
        for one in (self._socket, self._connection):
            if one is not None:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if box:
            box.interrupt()
        self._thread.join(JOIN_SECONDS)
        if self._thread.is_alive():
            raise BoxError("a check box did not end", got=f"{JOIN_SECONDS:g} s")


def check_spec(base: BoxSpec, copy: Path) -> BoxSpec:
    """The check box that belongs to a verifier's box ``base``."""
    return BoxSpec(
        label="check",
        mounts=(ZoneMount("workspace", copy, writable=True),),
        absent=(*base.absent, *(m.zone for m in base.mounts if m.zone != "workspace")),
        files=_agents(base.files),
        programs=_agents(base.programs),
        image=base.image,
        limits=base.limits,
        tap=base.tap,
        workdir=base.workdir,
        env={k: v for k, v in base.env.items() if k == "ROLEWALL_TASK"},
    )


def _agents(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.startswith("agents/")}
