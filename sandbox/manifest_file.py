"""Reading a written manifest back, strictly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.errors import RecordError
from rolewall.sandbox.manifest import VERSION, Entry, Manifest
from rolewall.sandbox.names import check_relative, order, unescape

__all__ = ["load"]

_KINDS = ("file", "dir", "link", "fifo", "socket", "char", "block", "unknown")
_LINE_BYTES = 1024 * 1024


def load(path: Path) -> Manifest:
    """Read a manifest written by ``Manifest.dump``.

    Raises RecordError, with file and line, for anything ``dump`` would not
    have written: the result has the digest that was dumped, or there is none.
    """
    entries: list[Entry] = []
    hasher = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            header = file.readline(_LINE_BYTES)
            hasher.update(header)
            count = _header(header, str(path))
            for number, line in enumerate(iter(lambda: file.readline(_LINE_BYTES), b""), start=2):
                place = f"{path}:{number}"
                hasher.update(line)
                entries.append(_entry(line, place))
                _follows(entries, place)
    except OSError as error:
        raise RecordError((error.strerror or str(error)).lower(), place=str(path)) from error
    if len(entries) != count:
        raise RecordError(
            "the manifest is cut off", place=str(path), got=len(entries), expected=f"{count} lines"
        )
    manifest = Manifest(tuple(entries))
    if manifest.digest != hasher.hexdigest():  # keys that are absent, or there for nothing
        raise RecordError("not as a manifest is written", place=str(path))
    return manifest


def _follows(entries: list[Entry], place: str) -> None:
    if len(entries) < 2:
        return
    before, path = entries[-2].path, entries[-1].path
    # The first of a directory follows it; comparing long paths by their parts takes long.
    if not path.startswith(before + b"/") and order(before) >= order(path):
        raise RecordError("entries are not in order", place=place, got=entries[-1].name)


def _header(line: bytes, place: str) -> int:
    header = _parse(line, place)
    version = header.get("rolewall_manifest")
    known = version == VERSION and _is_int(version)
    if set(header) != {"entries", "rolewall_manifest"} or not known:
        raise RecordError("not a manifest of this version", place=place)
    count = header["entries"]
    if not _is_int(count):
        raise RecordError("not a number of entries", place=place, got=count)
    return int(count)


def _parse(line: bytes, place: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
        canonical = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise RecordError("not a line of JSON", place=place) from error
    if not isinstance(value, dict) or canonical.encode("ascii") + b"\n" != line:
        raise RecordError("not a line as a manifest has it", place=place)
    return value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _path(value: str) -> bytes:
    raw = unescape(value)
    if raw:
        check_relative(raw)
    return raw


def _octal(value: str) -> int:
    mode = int(value, 8)
    if f"{mode:04o}" != value or mode > 0o7777:
        raise ValueError("not a mode")
    return mode


def _xattrs(value: dict[str, str]) -> tuple[tuple[str, str], ...]:
    if not value or not all(isinstance(v, str) for v in value.values()):
        raise ValueError("not attributes")
    return tuple(value.items())


def _kind(value: str) -> str:
    if value not in _KINDS:
        raise ValueError(f"not one of {', '.join(_KINDS)}")
    return value


@dataclass(frozen=True, slots=True)
class _Key:
    type: type
    read: Callable[[Any], Any]


_KEYS = {
    "path": _Key(str, _path),
    "kind": _Key(str, _kind),
    "mode": _Key(str, _octal),
    "uid": _Key(int, int),
    "gid": _Key(int, int),
    "mtime_ns": _Key(int, int),
    "size": _Key(int, int),
    "digest": _Key(str, str),
    "oid": _Key(str, str),
    "target": _Key(str, unescape),
    "rdev": _Key(int, int),
    "nlink": _Key(int, int),
    "first": _Key(str, _path),
    "xattrs": _Key(dict, _xattrs),
    "note": _Key(str, str),
}


def _entry(line: bytes, place: str) -> Entry:
    record = _parse(line, place)
    values: dict[str, Any] = {}
    for name, value in record.items():
        key = _KEYS.get(name)
        if key is None:
            raise RecordError("unknown key", place=place, got=name)
        if type(value) is not key.type:
            raise RecordError(f"wrong type of {name}", place=place, got=value)
        try:
            values[name] = key.read(value)
        except ValueError as error:
            raise RecordError(f"bad {name}: {error}", place=place, got=value) from error
    missing = {"path", "kind"} - set(values)
    if missing:
        raise RecordError("missing key", place=place, got=sorted(missing)[0])
    return Entry(**values)
