"""Documents that are nearly right, and bytes that are nothing, for everything that reads a file.

A document is a valid one, changed in one to three places, written as JSON (which is YAML, too)
and then, at times, broken as bytes. What is written verbatim (``Raw``) is what no dump would
write: numbers without an end, tags, aliases, half characters, the same key twice.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st

from rolewall.errors import RolewallError

GUARD_SECONDS = 60


@dataclass(frozen=True)
class Raw:
    """Text that stands in the document as it is."""

    text: str


@dataclass(frozen=True)
class Pairs:
    """A mapping whose keys may come twice."""

    pairs: tuple[tuple[object, object], ...]


JSON_RAW = (
    "1e400", "-1e400", "NaN", "Infinity", "-0", "-0.0", "1e-400", "9" * 5000, "9" * 400, "0x1f",
    '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\', '"', "{", "]", "tru", "'a'", "+1",
    "[" * 63 + "]" * 63, "[" * 65 + "]" * 65, "[" * 5000 + "]" * 5000, "[" * 100_000,
    '{"a":' * 70 + "1" + "}" * 70, "1 2", "// a\n1", ".5", "1.", "01", "\ufeff1",
    '"' + '\\"' * 3000,
)  # fmt: skip
YAML_RAW = (
    ".nan", ".inf", "-.inf", "1:30", "1" + ":59" * 3000, "0b1", "0o17", "1_000", "yes", "~", "=",
    "2020-01-01", "2020-13-45", "2020-01-01T99:00:00Z", "!!timestamp x", "!!binary AAAA",
    "!!binary '%'", "!!set {a}", "!!omap [a: 1]", "!!pairs [a: 1]", "!!int x", "!!float x",
    "!!bool x", "!!null x", "!!str [a]", "!!seq {}", "!!map []", "!a b", "!<x> b",
    "!!python/object/apply:os.system [id]", "!!python/name:os.system ''", "&a [*a]", "&a b", "*a",
    "*nobody", "{<<: 1}", "{<<: {a: 1}, a: 2}", "{<<: [{a: 1}, {a: 2}]}", "{? [a] : b}", "{1: a}",
    "{null: a}", "{true: a}", "{a, a}", "{'a': 1, a: 2}", '"\\xff"', '"\\UFFFFFFFF"', "a: b: c",
    "[&b x" + ", *b" * 3000 + "]", "%a", "@a", "`a`",
)  # fmt: skip
SNIPPETS = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc0\x80", b"\xed\xa0\x80", b"\x85", b"\r", b"\r\n",
    b"\xe2\x80\xa8", b"\t", b"---\n", b"\n...\n", b"%YAML 9.9\n---\n", b"%TAG ! !\n", b"&a ",
    b"*a ", b"!!a ", b"<<: ", b"? ", b"- ", b"#", b'"', b"\\", b",", b"}", b"[", b"\x1b[2J",
    b"| \n", b">1\n", b"1e400",
)  # fmt: skip

WORDS = (
    "", " ", "..", "/", "../x", "a/../b", "a\0b", "a\nb", "\x1b[2J", "\u202e", "é", "e\u0301", "𝟙",
    "approve", "reject", "pass", "none", "harness", "write", "outside", "x" * 300, "{role}",
    "{x}", "h:1", "*:1", "10.0.0.1:1", "h:99999", "true", "1",
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 300)
    | st.sampled_from([2**31, 2**63, 2**64, -(2**63)])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(WORDS)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


def render(value: object) -> str:
    """JSON, but for what is raw."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        value = Pairs(tuple(value.items()))
    if isinstance(value, Pairs):
        return "{" + ", ".join(f"{render(k)}: {render(v)}" for k, v in value.pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(render, value)) + "]"
    return json.dumps(value)


def places(value: object, here: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The way to everything in a document, the whole of it first."""
    yield here
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*here, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*here, index))


def changed(value: Any, way: tuple[Any, ...], new: Callable[[Any], object]) -> Any:
    """A copy of ``value`` with ``new`` in place of what is at the end of ``way``."""
    if not way:
        return new(value)
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[way[0]] = changed(copy[way[0]], way[1:], new)
    return copy


def _without(old: Any) -> object:
    return dict(list(old.items())[1:]) if isinstance(old, dict) else []


def _twice(old: Any) -> object:
    return Pairs((*old.items(), *list(old.items())[:1])) if isinstance(old, dict) else [old, old]


def _wrapped(old: Any) -> object:
    return [old]


def _as_text(old: Any) -> object:
    return render(old)


def _as_number(old: Any) -> object:
    """What is equal in Python and of another type: True for 1, 1.0 for 1."""
    if isinstance(old, bool):
        return int(old)
    if isinstance(old, int) and abs(old) < 2**53:
        return bool(old) if old in (0, 1) else float(old)
    return Raw("1e400")


def _repeated(old: Any) -> object:
    times = 300 if len(render(old)) < 1000 else 2  # three changes may each be this one
    return old * times if isinstance(old, list) else [old] * times


CHANGES = (_without, _twice, _wrapped, _as_text, _as_number, _repeated)


@st.composite
def documents(draw: st.DrawFn, valid: tuple[Any, ...], raw: tuple[str, ...]) -> Any:
    """A valid one, or what is left of it after one to three changes."""
    value = draw(st.sampled_from(valid))
    for _ in range(draw(st.integers(0, 3))):
        way = draw(st.sampled_from(list(places(value))))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            change = draw(st.sampled_from(CHANGES))
        elif kind == 1:
            key, new = draw(st.text(max_size=6)), draw(VALUES)
            change = partial(_with, key=key, new=new)
        else:
            found = draw(VALUES) if kind == 2 else Raw(draw(st.sampled_from(raw)))
            change = partial(_instead, new=found)
        value = changed(value, way, change)
    return value


def _instead(old: Any, new: object) -> object:
    return new


def _with(old: Any, key: str, new: object) -> object:
    return {**old, key: new} if isinstance(old, dict) else [old, new]


@st.composite
def broken(draw: st.DrawFn, whole: bytes) -> bytes:
    """``whole``, half of the time, or bytes that were cut, doubled, or put between."""
    kind, at = draw(st.integers(0, 11)), draw(st.integers(0, len(whole)))
    head, tail = whole[:at], whole[at:]
    ways = (
        lambda: head,
        lambda: head + draw(st.sampled_from(SNIPPETS)) + tail,
        lambda: head + draw(st.binary(max_size=4)) + tail[1:],
        lambda: whole.replace(b", ", b",\r\n"),
        lambda: b"\xef\xbb\xbf" + whole,
        lambda: whole.decode("utf-8", "replace").encode("utf-16"),
        lambda: whole + b"\n" + whole,
    )
    return ways[kind]() if kind < len(ways) else whole


@st.composite
def files(draw: st.DrawFn, valid: tuple[Any, ...], raw: tuple[str, ...]) -> bytes:
    kind = draw(st.integers(0, 11))
    if kind == 0:
        return draw(st.binary(max_size=64))
    if kind == 1:
        return draw(st.sampled_from(raw)).encode()
    return draw(broken(render(draw(documents(valid, raw))).encode()))


@dataclass(frozen=True)
class Junk:
    """Strategies of documents, as bytes."""

    values: st.SearchStrategy[Any] = VALUES

    def json(self, *valid: Any) -> st.SearchStrategy[bytes]:
        return files(valid, JSON_RAW)

    def yaml(self, *valid: Any) -> st.SearchStrategy[bytes]:
        return files(valid, JSON_RAW + YAML_RAW)

    def plain(self, *valid: Any) -> st.SearchStrategy[Any]:
        """Documents as a reader would have them: nothing in them is raw."""
        return documents(valid, ("1",)).map(_cooked)

    def render(self, value: object) -> bytes:
        return render(value).encode()


def _cooked(value: Any) -> Any:
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, Pairs):
        return {str(key): _cooked(inner) for key, inner in value.pairs}
    if isinstance(value, dict):
        return {key: _cooked(inner) for key, inner in value.items()}
    return [_cooked(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="session")
def junk() -> Junk:
    return Junk()


@contextmanager
def guarded() -> Iterator[None]:
    """Nothing that is read may take for ever."""

    def stop(*_: object) -> None:
        raise AssertionError(f"still reading after {GUARD_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(GUARD_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


Read = Callable[..., Any]


@pytest.fixture(scope="session")
def read() -> Read:
    """What a loader makes of its arguments; None where it refused them as it should."""

    def attempt(load: Callable[..., Any], *given: Any, error: type[RolewallError]) -> Any:
        with guarded():
            try:
                return load(*given)
            except RolewallError as problem:
                assert type(problem) is error, repr(problem)
                assert problem.place and problem.exit_code == 2
                str(problem).encode("utf-8", "surrogateescape")
                return None

    return attempt
