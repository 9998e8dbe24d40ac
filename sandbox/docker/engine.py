"""The one way to the Docker engine: a local socket, a deadline on every call.

A call that broke is repeated only where repeating is harmless, and then once.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from rolewall.errors import BackendUnavailable, InputError, RolewallError
from rolewall.sandbox.docker.failure import is_missing, is_transient, translate, unreachable

if TYPE_CHECKING:
    from docker import APIClient

__all__ = ["DEADLINE", "Engine", "engine_address", "find_engine"]

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
DEADLINE = 60.0
# For engines that are slow under load, in place of ``DEADLINE``.
SECONDS = "ROLEWALL_ENGINE_SECONDS"
MOST_SECONDS = 3600
# 1.40 is the first with non-recursive binds, without which a mount below a
# read-only zone stays writable.
OLDEST_API = (1, 40)

T = TypeVar("T")


def engine_address(environ: Mapping[str, str] = os.environ) -> str:
    """The engine's address, as the ``docker`` command would choose it.

    ``DOCKER_HOST``, else the context named by ``DOCKER_CONTEXT``, else the
    current context, else the default socket.

    Raises:
        BackendUnavailable: the context is unknown, or the engine is not on
            this machine: zones and the control socket are local paths.
    """
    address = environ.get("DOCKER_HOST") or _context_address(environ.get("DOCKER_CONTEXT"))
    if not address.startswith("unix://"):
        raise BackendUnavailable(
            "not an engine on this machine",
            place="DOCKER_HOST or the current Docker context",
            got=address,
            expected="unix:///path/of/the/socket",
        )
    return address


def _context_address(name: str | None) -> str:
    from docker.context import ContextAPI
    from docker.errors import DockerException

    place = "DOCKER_CONTEXT" if name else "the current Docker context"
    try:
        context = ContextAPI.get_context(name)
    except (DockerException, OSError, ValueError) as error:
        raise BackendUnavailable(f"cannot be read: {error}", place=place) from error
    if context is None:
        raise BackendUnavailable("no such Docker context", place=place, got=name)
    return context.Host or DEFAULT_ADDRESS


class Engine:
    """A connected engine. Safe to share between threads.

    Attributes:
        address: where it listens.
        info: what it says about itself (``docker info``), read once.
        version: its version.
    """

    def __init__(self, address: str, deadline: float = DEADLINE) -> None:
        self.address = address
        self.deadline = deadline
        self._lock = threading.Lock()
        self._info: Mapping[str, Any] | None = None
        # Most of the SDK's methods have no types.
        self._client: Any = self._connect()

    def _connect(self) -> APIClient:
        import docker

        _knock(self.address, self.deadline)
        try:
            client = docker.APIClient(
                self.address, version="auto", timeout=int(self.deadline), max_pool_size=64
            )
        except Exception as problem:
            error = translate(problem, "say its version", self.address, self.deadline)
            if isinstance(error, BackendUnavailable):
                raise error from problem
            raise _unusable(error, self.address) from error
        if _numbers(client.api_version) < OLDEST_API:
            found = client.api_version
            client.close()
            raise BackendUnavailable(
                "the Docker engine is too old", got=f"API {found}", expected="API 1.40 or newer"
            )
        return client

    @property
    def info(self) -> Mapping[str, Any]:
        with self._lock:
            if self._info is None:
                self._info = self.call("describe itself", lambda c: c.info(), repeatable=True)
            return self._info

    @property
    def version(self) -> str:
        return str(self.info.get("ServerVersion", "unknown"))

    def security_option(self, name: str) -> str | None:
        """What ``docker info`` says of a security feature: None when it is absent."""
        for option in self.info.get("SecurityOptions") or ():
            parts = dict(part.partition("=")[::2] for part in str(option).split(","))
            if parts.get("name") == name:
                return parts.get("profile", "")
        return None

    def call(self, doing: str, act: Callable[[Any], T], *, repeatable: bool = False) -> T:
        """Ask the engine for one thing.

        Args:
            doing: the verb phrase for messages, such as ``create a box``.
            act: makes the call, and consumes its answer whole.
            repeatable: a second call does no harm; a broken connection or a
                passed deadline is then tried once more.

        Raises:
            RolewallError: the infrastructure failed, as ``failure`` classes it.
        """
        try:
            return self._attempt(act, repeatable)
        except RolewallError:
            raise
        except Exception as problem:
            raise translate(problem, doing, self.address, self.deadline) from problem

    def lookup(self, doing: str, act: Callable[[Any], T]) -> T | None:
        """Like ``call`` for a harmless question; None when the thing does not exist."""
        try:
            return self._attempt(act, repeatable=True)
        except Exception as problem:
            if is_missing(problem):
                return None
            raise translate(problem, doing, self.address, self.deadline) from problem

    def _attempt(self, act: Callable[[Any], T], repeatable: bool) -> T:
        try:
            return act(self._client)
        except Exception as problem:
            if not (repeatable and is_transient(problem)):
                raise
        return act(self._client)

    def close(self) -> None:
        self._client.close()


def find_engine(deadline: float | None = None) -> Engine:
    """The engine that the caller's environment names.

    Args:
        deadline: seconds for each answer; None for what the environment says, or ``DEADLINE``.

    Raises:
        BackendUnavailable: none answers, or it cannot be used; says the way out.
        InputError: the environment names no acceptable deadline.
    """
    return Engine(engine_address(), _asked_deadline() if deadline is None else deadline)


def _asked_deadline(environ: Mapping[str, str] = os.environ) -> float:
    asked = environ.get(SECONDS)
    if not asked:
        return DEADLINE
    if not (asked.isascii() and asked.isdigit() and 1 <= int(asked) <= MOST_SECONDS):
        raise InputError(
            "not a number of seconds", place=SECONDS, got=asked, expected=f"1 to {MOST_SECONDS}"
        )
    return float(asked)


def _knock(address: str, deadline: float) -> None:
    """See that somebody listens, and what is wrong if not: the SDK blurs it, and
    leaves a socket behind."""
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(deadline)
        try:
            door.connect(address.removeprefix("unix://"))
        except OSError as error:
            raise unreachable(error, address) from error


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _unusable(error: RolewallError, address: str) -> BackendUnavailable:
    """Whatever keeps the first call from working, there is no engine to use; it may hold
    boxes all the same, which ``error`` as the cause tells."""
    unavailable = unreachable(None, address)
    return BackendUnavailable(
        f"{unavailable.message}: {error.message}", place=address, hint=unavailable.hint
    )
