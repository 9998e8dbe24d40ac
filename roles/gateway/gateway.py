"""The gateway of a run: one thread with one loop, and a door for each phase."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Coroutine, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rolewall.errors import BoxError, InfrastructureError, StorageError
from rolewall.roles.gateway.exchange import ExchangeLog
from rolewall.roles.gateway.purse import Purse
from rolewall.roles.gateway.tape import Tape
from rolewall.roles.gateway.using import ModelUse
from rolewall.roles.gateway.waiting import silence_seconds
from rolewall.roles.models import ModelAccess
from rolewall.sandbox import storage, temporary_directory

if TYPE_CHECKING:  # they import aiohttp, which only who calls a model needs
    from rolewall.roles.gateway.door import Door
    from rolewall.roles.gateway.hall import Hall
    from rolewall.roles.gateway.upstream import Upstream

__all__ = ["Gateway", "OpenDoor"]

CALL_SECONDS = 60.0
LONGEST = 90  # of a directory: an address has 107 bytes
T = TypeVar("T")


class Gateway:
    """A context manager, safe for threads.

    Args:
        keys: by the name of the endpoint; see ``keys_of``.

    Raises:
        InputError: ``ROLEWALL_MODEL_SECONDS`` is no number of seconds.
        BoxError, StorageError: no thread, or no directory for its sockets.
    """

    def __init__(self, keys: Mapping[str, str | None]) -> None:
        self._keys = dict(keys)
        self._halls: dict[Door, Hall] = {}
        self._made = 0
        silence = silence_seconds()
        with ExitStack() as undo:
            self._directory = _short(undo.enter_context(temporary_directory()), undo)
            self._loop = asyncio.new_event_loop()
            undo.callback(self._loop.close)
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="rolewall-gateway", daemon=True
            )
            try:
                self._thread.start()
            except RuntimeError as error:
                raise BoxError(f"cannot start a thread: {error}") from error
            undo.callback(self._stop)
            self._upstream = self._do(_upstream(silence))
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def open(
        self,
        access: ModelAccess,
        purse: Purse,
        record: Path,
        listener: int | None,
        tape: Tape | None = None,
    ) -> OpenDoor:
        """Serve one phase, until its door is shut.

        Args:
            record: the file to write exchanges to; new.
            listener: a listening socket of the role's box, which is taken over.
            tape: a recording that answers in place of the endpoint.

        Raises:
            StorageError: the record or the socket cannot be made.
        """
        inside = socket.socket(fileno=listener) if listener is not None else None
        return OpenDoor(self, self._do(self._open(access, purse, record, inside, tape)))

    async def _open(
        self,
        access: ModelAccess,
        purse: Purse,
        record: Path,
        inside: socket.socket | None,
        tape: Tape | None,
    ) -> Door:
        from rolewall.roles.gateway.door import Door
        from rolewall.roles.gateway.hall import Hall
        from rolewall.roles.gateway.way import Way

        with ExitStack() as undo:
            if inside is not None:
                undo.callback(inside.close)
            self._made += 1
            path = self._directory / str(self._made)
            outside = _unix_socket(path)
            undo.callback(outside.close)
            key = None if tape is not None else self._keys[access.endpoint.name]
            log = ExchangeLog(record)
            door = Door(path, Way(access, key, self._upstream, tape), purse, log)
            self._halls[door] = await Hall.open(
                door.answer, [one for one in (inside, outside) if one is not None]
            )
            undo.pop_all()
            return door

    def shut(self, door: Door) -> None:
        self._do(self._shut(door))

    async def _shut(self, door: Door) -> None:
        hall = self._halls.pop(door, None)
        if hall is not None:
            await hall.close()
            door.books.close()
            with suppress(OSError):
                door.socket.unlink()

    def interrupt(self) -> None:
        """End every exchange that is under way, and answer none any more."""
        for hall in list(self._halls.values()):
            self._loop.call_soon_threadsafe(hall.interrupt)

    def close(self) -> None:
        """End everything. Safe to call twice."""
        self._undo.close()

    def _stop(self) -> None:
        for door in list(self._halls):
            self.shut(door)
        if upstream := getattr(self, "_upstream", None):
            self._do(upstream.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_SECONDS)

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_SECONDS)
        except TimeoutError as error:
            raise BoxError(
                "the model gateway does not answer", got=f"{CALL_SECONDS:g} s"
            ) from error


class OpenDoor:
    """The way to a model of one phase, seen from outside the gateway's thread."""

    def __init__(self, gateway: Gateway, door: Door) -> None:
        self._gateway = gateway
        self._door = door

    @property
    def socket(self) -> Path:
        """The unix socket, for agents whose loop runs in the harness."""
        return self._door.socket

    @property
    def trouble(self) -> InfrastructureError | None:
        """Why the phase says nothing about its agent: the gateway failed, or the last call of
        a model did and not by the agent's fault. None where it does. Asked after ``shut``."""
        return self._door.books.trouble

    def use(self) -> ModelUse:
        """What the phase took. Asked after ``shut``."""
        return self._door.books.use()

    def shut(self) -> None:
        """End what is under way and serve no more. Safe to call twice."""
        self._gateway.shut(self._door)


async def _upstream(silence: float) -> Upstream:
    from rolewall.roles.gateway.upstream import Upstream

    return Upstream(silence)


def _short(directory: Path, undo: ExitStack) -> Path:
    """A path of ``directory`` that an address of a socket has room for; agents whose loop
    runs here share the descriptor in it."""
    if len(os.fsencode(directory)) < LONGEST:
        return directory
    with storage(directory):
        descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    undo.callback(os.close, descriptor)
    return Path(f"/proc/self/fd/{descriptor}")


def _unix_socket(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(str(path))
        path.chmod(0o600)
        made.listen(128)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise StorageError(
            f"a socket cannot be made: {error.strerror or error}", place=str(path)
        ) from error
    return made
