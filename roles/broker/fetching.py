"""Gets one URL, inside a box that reaches the allowed places and nothing else.

A program of its own, of the standard library alone: ``python3 fetching.py HOST:PORT…`` with
``{"url": …, "seconds": …, "most": …}`` on standard input, and one JSON object on standard output.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import sys
import time
from urllib.parse import quote, urljoin, urlsplit

__all__ = ["destination", "fetch"]

MOST_REDIRECTS = 5
MOST_URL = 8000
PORTS = {"http": 80, "https": 443}
REDIRECTS = (301, 302, 303, 307, 308)
PIECE = 64 << 10
SAFE = "%/:=&?~+!$,;'@()*[]"


def destination(url: str) -> str:
    """``host:port`` of a URL; ValueError where it is none that can be fetched."""
    if len(url) > MOST_URL:
        raise ValueError(f"a URL of {len(url)} characters, {MOST_URL} at most")
    if any(ord(sign) <= 32 or ord(sign) == 127 for sign in url):
        raise ValueError("a URL with a blank or a control character")
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("not a URL of http or https")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL with a user or a password")
    return f"{parts.hostname.lower()}:{parts.port or PORTS[parts.scheme]}"


def fetch(url: str, allow: list[str], seconds: float, most: int) -> dict[str, object]:
    """What lies at ``url``: ``status``, the last ``url``, ``type``, ``body`` in base64, whether
    it is ``truncated``, and ``why`` it was not got, empty where it was."""
    until = time.monotonic() + seconds
    for _ in range(MOST_REDIRECTS + 1):
        if (place := destination(url)) not in allow:
            return {"why": f"{place} is not among the allowed destinations", "url": url}
        connection = _connection(url, place, _left(until))
        try:
            connection.request("GET", _target(url), headers=_headers(place, url))
            answer = connection.getresponse()
            further = answer.headers.get("location")
            if answer.status in REDIRECTS and further:
                url = urljoin(url, further)
                continue
            body, truncated = _body(answer, connection, until, most)
        finally:
            connection.close()
        return {
            "status": answer.status,
            "url": url,
            "type": answer.headers.get("content-type", ""),
            "body": base64.b64encode(body).decode(),
            "truncated": truncated,
            "why": "" if 200 <= answer.status < 300 else f"status {answer.status}",
        }
    return {"why": f"more than {MOST_REDIRECTS} redirects", "url": url}


def _connection(url: str, place: str, seconds: float) -> http.client.HTTPConnection:
    secure = urlsplit(url).scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    host, _, port = place.rpartition(":")
    return kind(host, int(port), timeout=seconds)


def _target(url: str) -> str:
    parts = urlsplit(url)
    path = quote(parts.path or "/", safe=SAFE)
    return f"{path}?{quote(parts.query, safe=SAFE)}" if parts.query else path


def _headers(place: str, url: str) -> dict[str, str]:
    host, _, port = place.rpartition(":")
    plain = int(port) == PORTS[urlsplit(url).scheme]
    return {
        "Host": host if plain else place,
        "User-Agent": "rolewall",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


def _body(
    answer: http.client.HTTPResponse,
    connection: http.client.HTTPConnection,
    until: float,
    most: int,
) -> tuple[bytes, bool]:
    data = b""
    while len(data) <= most:
        if isinstance(connection.sock, socket.socket):
            connection.sock.settimeout(_left(until))
        piece = answer.read1(PIECE)
        if not piece:
            if answer.length:  # the server said that there is more
                raise http.client.IncompleteRead(data, answer.length)
            return data, False
        data += piece
    return data[:most], True


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time is over")
    return left


def _main() -> None:
    asked = json.load(sys.stdin)
    try:
        found = fetch(asked["url"], sys.argv[1:], asked["seconds"], asked["most"])
    except (OSError, ValueError, http.client.HTTPException) as error:
        words = str(error) or type(error).__name__
        found = {"why": f"{type(error).__name__}: {words}", "url": asked["url"]}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    _main()
