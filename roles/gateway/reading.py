"""What an agent's HTTP request asks for. Of its head, only what is named here is heeded."""

from __future__ import annotations

from aiohttp import web

from rolewall.roles.gateway.admission import MAX_REQUEST, Refused
from rolewall.roles.gateway.wires import TARGETS, Protocol, Target, list_models

__all__ = ["listed", "read_body", "shape_of", "target_of"]

MODELS = "/v1/models"


def target_of(request: web.BaseRequest) -> Target | None:
    """By the request's line as it came: nothing in it is decoded, resolved or left out, and
    the name of a host in it, or in a header, chooses nothing."""
    return TARGETS.get(request.raw_path) if request.method == "POST" else None


def listed(request: web.BaseRequest, allow: tuple[str, ...]) -> web.Response | None:
    """The answer to who asks which models there are, which no endpoint is asked."""
    path = request.raw_path.partition("?")[0]
    name = path.removeprefix(f"{MODELS}/") if path.startswith(f"{MODELS}/") else None
    if request.method != "GET" or not (path == MODELS or name in allow):
        return None
    return web.Response(body=list_models(allow, name), content_type="application/json")


def shape_of(request: web.BaseRequest) -> Protocol:
    """Whose errors a client understands that asked for something else."""
    ours = request.raw_path.startswith("/v1/messages") or "anthropic-version" in request.headers
    return "messages" if ours else "chat"


async def read_body(request: web.BaseRequest) -> bytes:
    """Raises Refused."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused("body", "a compressed request", 415)
    if request.headers.get("expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    data = bytearray()
    async for chunk in request.content.iter_any():
        data += chunk
        if len(data) > MAX_REQUEST:
            raise Refused("body", f"larger than {MAX_REQUEST >> 20} MiB", 413)
    return bytes(data)
