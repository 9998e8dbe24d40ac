"""Connections of one phase: HTTP on its sockets, no more at a time than is good."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web

__all__ = ["Hall"]

MOST_CONNECTIONS = 64
KEEP_SECONDS = 30.0
END_SECONDS = 10.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Hall:
    """Serves listening sockets, which it takes over, until closed. Made by ``open``."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._tasks: set[asyncio.Task[web.StreamResponse]] = set()
        self._listening: list[asyncio.Server] = []
        self._web = _Counted(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            logger=_silent(),
            keepalive_timeout=KEEP_SECONDS,
            auto_decompress=False,
        )

    @classmethod
    async def open(cls, handler: Handler, sockets: Sequence[socket.socket]) -> Hall:
        hall, loop = cls(handler), asyncio.get_running_loop()
        for one in sockets:
            one.setblocking(False)
            hall._listening.append(await loop.create_server(hall._connect, sock=one))
        return hall

    def _connect(self) -> asyncio.BaseProtocol:
        """A role can open more connections than the harness may have descriptors."""
        return _Full() if self._web.there >= MOST_CONNECTIONS else self._web()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.ensure_future(self._handler(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await task

    def interrupt(self) -> None:
        for server in self._listening:
            server.close()
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """End connections; whatever handles a request has ended, too."""
        self.interrupt()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=END_SECONDS)
        await self._web.shutdown(0)


def _silent() -> logging.Logger:
    """What agents send that is no HTTP is their affair, and nobody's standard error. Not one of
    the process's loggers: those are set up by whoever imports this."""
    logger = logging.Logger("rolewall.gateway")
    logger.disabled = True
    return logger


class _Counted(web.Server):
    """Counts connections from where they are accepted: many are before the first is made."""

    there = 0

    def __call__(self) -> web.RequestHandler:
        self.there += 1
        return super().__call__()

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        self.there -= 1
        super().connection_lost(handler, exc)


class _Full(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
