"""Reading network destinations: ``host:port`` and nothing wider."""

from __future__ import annotations

import ipaddress
import re

from rolewall.errors import InputError
from rolewall.policies.model import HostPort

__all__ = ["parse_host_port"]

_EXAMPLE = 'host:port, such as "models.internal:443"'
_NAMES_ONLY = "a network destination must be a name or an IPv4 loopback address"
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\Z")


def parse_host_port(text: object, place: str, error: type[InputError] = InputError) -> HostPort:
    """One destination. A wildcard, a URL, a port range or a missing port is refused: an
    allow-list that is wider than its author meant is worse than none."""
    if not isinstance(text, str):
        raise error("not a network destination", place=place, got=text, expected=_EXAMPLE)
    problem = _problem(text)
    if problem:
        raise error(problem, place=place, got=text[:120], expected=_EXAMPLE)
    host, _, port = text.rpartition(":")
    if _is_address(host) and not _is_loopback(host):
        hint = "give the address a name in the host's /etc/hosts"
        raise error(_NAMES_ONLY, place=place, got=text[:120], expected=_EXAMPLE, hint=hint)
    return HostPort(host.lower(), int(port))


def _problem(text: str) -> str | None:
    host, colon, port = text.rpartition(":")
    checks = (
        (any(mark in text for mark in "/@"), "a URL is no network destination"),
        ("*" in text, "wildcards are not supported; name each host"),
        (not colon or not host, "no port"),
        (not _is_port(port), "not a port of 1 to 65535"),
        ("[" in host or ":" in host, "IPv6 addresses are not supported; use a name"),
        (len(host) > 253 or not all(map(_LABEL.match, host.split("."))), "not a host name"),
    )
    return next((problem for wrong, problem in checks if wrong), None)


def _is_port(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,5}", text) is not None and 1 <= int(text) <= 65535


def _is_address(host: str) -> bool:
    """Whether a resolver takes the host for an address: ``10.1`` and ``0x7f000001`` are some too,
    and no line of ``/etc/hosts`` can name them."""
    return re.fullmatch(r"[0-9]+|0[xX][0-9A-Fa-f]*", host.rpartition(".")[2]) is not None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return False
