"""Reading the files that people and roles write, so that junk costs one clear message.

Beneath every component, like ``rolewall.errors``. Nothing here ends in a
traceback for bad input: each function raises the error class it is given, with
the place, what was found and what was expected.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import yaml

from rolewall._beneath import Root
from rolewall.errors import InputError

__all__ = [
    "MAX_TEXT",
    "append_whole",
    "decode",
    "load_json",
    "load_yaml",
    "open_regular",
    "read_beneath",
]

MAX_TEXT = 1 << 20
MAX_DEPTH = 64
MAX_NODES = 20_000
# What PyYAML's constructors let through for values that do not fit an explicit tag.
_CONSTRUCTOR_SLIPS = (ValueError, OverflowError, LookupError, AttributeError, TypeError)
MAX_NUMBER = 100
# A text without an end counts as one up to the end: a search that started anew at each escaped
# quote of it would take hours.
_JSON_SHAPE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """A descriptor of a regular file, made with mode 0600 where ``flags`` say so.

    Whatever else stands there is refused and never waited for: a directory may come from
    somebody else, and a FIFO without a writer has no end. With ``follow``, links are followed.
    Raises OSError.
    """
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    fd = os.open(path, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
    except BaseException:
        os.close(fd)
        raise
    return fd


def append_whole(fd: int, data: bytes, size: int, *, sync: bool = False) -> None:
    """Append to a file of ``size`` bytes, or leave it as it was: half a line would break a
    chain for every line after it. Raises OSError."""
    try:
        left = data
        while left:  # a full disk takes a part; the next write says so
            left = left[os.write(fd, left) :]
        if sync:
            os.fsync(fd)
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, size)
        raise


def read_beneath(
    root: Path,
    relative: str,
    max_bytes: int = MAX_TEXT,
    *,
    error: type[InputError] = InputError,
) -> bytes:
    """The bytes of a regular file beneath ``root``, reached through no link."""
    with Root(root, error) as opened:
        return opened.read(relative, max_bytes)


def decode(
    data: bytes, place: str, *, error: type[InputError] = InputError, max_bytes: int = MAX_TEXT
) -> str:
    """UTF-8 text, or an error that names the line at fault."""
    if len(data) > max_bytes:
        raise error(
            "too large", place=place, got=f"{len(data)} bytes", expected=f"at most {max_bytes}"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        byte = f"byte 0x{data[problem.start]:02x}"
        raise error("not text", place=f"{place}:{line}", got=byte, expected="UTF-8") from None


def load_yaml(data: bytes | str, place: str, *, error: type[InputError] = InputError) -> Any:
    """One YAML document of plain data.

    Refused: duplicate keys, keys that are no strings, tags beyond plain data, more than one
    document, nesting beyond 64, numbers of more than 100 characters, and, with aliases
    expanded, more than 20,000 values or 1 MiB of text.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    text = decode(raw, place, error=error)
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        return _encodable(loader.get_single_data())
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        got = f"character 0x{int(problem.character):02x}"
        raise error("not text", place=f"{place}:{line}", got=got, expected="YAML") from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        where = f"{place}:{mark.line + 1}" if mark else place
        reason = problem.problem or problem.context or "not YAML"
        raise error(f"not acceptable YAML: {reason}", place=where) from None
    except _CONSTRUCTOR_SLIPS as problem:
        raise error(f"not acceptable YAML: {problem}", place=place) from None
    finally:
        if loader is not None:
            loader.dispose()


class _Loader(yaml.SafeLoader):
    """``yaml.SafeLoader`` without its surprises."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._sizes: dict[int, int] = {}
        self._lengths: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        self._depth += 1
        if self._depth > MAX_DEPTH:
            _refuse(f"nested deeper than {MAX_DEPTH}", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent):
            if id(node) not in self._sizes:
                _refuse("an alias inside what it stands for", mark)
        elif node is not None:
            self._measure(node, mark)
        return node

    def _measure(self, node: yaml.Node, mark: Any) -> None:
        """Counts what a node expands to, so that aliases of aliases cannot explode."""
        children = [id(child) for child in _children(node)]
        size = 1 + sum(self._sizes[child] for child in children)
        if size > MAX_NODES or len(self._sizes) > MAX_NODES:
            _refuse(f"more than {MAX_NODES} values, aliases expanded", mark)
        length = sum(self._lengths[child] for child in children)
        if isinstance(node, yaml.ScalarNode):
            length = len(node.value)
        if length > MAX_TEXT:
            _refuse(f"more than {MAX_TEXT} characters, aliases expanded", mark)
        self._sizes[id(node)], self._lengths[id(node)] = size, length

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        # One of base 60 takes time with the square of its length.
        if len(node.value) > MAX_NUMBER:
            _refuse(f"a number of more than {MAX_NUMBER} characters", node.start_mark)
        return int(super().construct_yaml_int(node))

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.tag != "tag:yaml.org,2002:str":
                _refuse(f"a key that is no string, {_scalar(key)}; quote it", key.start_mark)
            if key.value in seen:
                _refuse(f"duplicate key {key.value!r}", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _scalar(node: yaml.Node) -> str:
    return repr(node.value)[:40] if isinstance(node, yaml.ScalarNode) else "a collection"


def _refuse(problem: str, mark: Any) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def load_json(
    data: bytes,
    place: str,
    *,
    error: type[InputError] = InputError,
    max_bytes: int = MAX_TEXT,
    max_depth: int = MAX_DEPTH,
) -> Any:
    """One JSON value and nothing after it.

    Refused: duplicate keys, NaN and infinities (also as an overflowing number), nesting beyond
    ``max_depth``, sizes beyond ``max_bytes``.
    """
    text = decode(data, place, error=error, max_bytes=max_bytes)
    if _depth(text) > max_depth:
        raise error("nested too deeply", place=place, expected=f"at most {max_depth} levels")
    try:
        value = json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_no_constant, parse_float=_finite
        )
        return _encodable(value)
    except json.JSONDecodeError as problem:
        reason = problem.msg[:1].lower() + problem.msg[1:]
        where = f"{place}:{problem.lineno}:{problem.colno}"
        raise error(f"not JSON: {reason}", place=where, got=_around(text, problem.pos)) from None
    except (ValueError, RecursionError) as problem:
        raise error(f"not acceptable JSON: {problem}", place=place) from None


def _encodable(value: Any) -> Any:
    """Refuses lone surrogates, which an escape can smuggle into text that no file can hold."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair in a text") from None
    return value


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _JSON_SHAPE.finditer(text):
        token = match.group()
        if token in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "]}":
            depth -= 1
    return deepest


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"duplicate key {key!r}")
        made[key] = value
    return made


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word[:40]} is too large a number")
    return number


def _around(text: str, position: int) -> str:
    found = text[position : position + 30]
    return found if found else "the end of the file"
