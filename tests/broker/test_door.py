"""A door of the broker without a box: what is admitted, counted and kept, and what no team
may ask for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.errors import TeamError
from rolewall.policies import Limits
from rolewall.roles import Account, Admission, Holds, Runner, Shelf, ToolBoxes, ToolDoor, load_team
from rolewall.roles.broker.answer import Ran
from rolewall.roles.broker.canonical import canonical, canonical_text
from rolewall.roles.broker.fetching import destination
from rolewall.roles.broker.tool import Command, Tool
from rolewall.sandbox import find_backend
from tests.conftest import Studio

Opened = Callable[..., ToolDoor]


class Given(Runner):
    """Gives what a test says in place of running anything."""

    def run(self, tool: Tool, arguments: dict[str, Any]) -> Ran:
        return Ran(1.0, 2.0, "given", b"given")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    doors = []

    def door(*tools: Tool) -> ToolDoor:
        boxes = ToolBoxes(find_backend("bubblewrap"), "host", Limits(), {}, {}, (), (), "task")
        record = tmp_path / f"{len(doors)}.tools.jsonl"
        admission = Admission({tool.name: tool for tool in tools}, frozenset(), Holds())
        account = Account("executor", "00-executor", record, None)
        found = ToolDoor("00-executor", admission, Shelf(), Given(boxes, 60), account)
        doors.append(found)
        return found

    yield door
    for one in doors:
        one.close()


def a_tool(**more: Any) -> Tool:
    return Tool(**{"name": "one", "means": Command(("cat",)), "ttl": 1e10, "share": True,
                   "roles": ("executor",), "seconds": 5.0} | more)  # fmt: skip


@pytest.mark.bubblewrap
def test_a_flood_of_calls_is_counted_and_not_kept(opened: Opened, tmp_path: Path) -> None:
    door = opened(a_tool())
    assert door.call("one", b"{}").origin == "live"
    words = {door.call("nothing\n\x1b[2J" * 50, b"{}").refused for _ in range(1001)}
    assert words == {"tool", "room"}
    assert door.call("one", b"{}").refused == "room"
    assert (door.use.calls, door.use.refused) == (1003, 1002)
    assert len(door.evidence) == 1000
    lines = (tmp_path / "0.tools.jsonl").read_bytes().splitlines()
    assert len(lines) == 1000 and max(map(len, lines)) < 2000


@pytest.mark.bubblewrap
def test_large_arguments_are_in_evidence_by_their_digest(opened: Opened, tmp_path: Path) -> None:
    door = opened(a_tool())
    text = "x" * 60_000
    assert door.call("one", json.dumps({"text": text}).encode()).ok
    assert door.evidence[0].arguments.keys() == {"sha256", "characters"}
    (line,) = (tmp_path / "0.tools.jsonl").read_text().splitlines()
    assert json.loads(line)["arguments"] == {"text": text}
    refused = door.call("one", json.dumps({"text": text * 2}).encode())
    assert (refused.refused, refused.conditions) == ("arguments", ())


@pytest.mark.bubblewrap
def test_nothing_is_answered_after_the_phase(opened: Opened) -> None:
    door = opened(a_tool())
    door.close()
    assert door.call("one", b"{}").refused == "over"
    assert door.use.calls == 0


SAME = [
    (b'{"a": 1, "b": [2.0, {"d": 1e2, "c": -0.0}]}', b'{"b":[2,{"c":0,"d":100}],"a":1.0}'),
    (b'{"a": "\\u00e9"}', '{"a": "é"}'.encode()),
]
OTHERS = [(b'{"a": 1}', b'{"a": "1"}'), (b'{"a": 1}', b'{"a": true}'), (b"{}", b'{"a": null}'),
          (b'{"a": [1, 2]}', b'{"a": [2, 1]}'), (b'{"a": 0.1}', b'{"a": 0.2}')]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_arguments(one: bytes, other: bytes) -> None:
    assert canonical_text(canonical(one)) == canonical_text(canonical(other))


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_other_arguments(one: bytes, other: bytes) -> None:
    assert canonical_text(canonical(one)) != canonical_text(canonical(other))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 60), 1 << 60) | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below,
                                                                max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_canonical_arguments_stay_as_they_are(arguments: dict[str, Any]) -> None:
    once = canonical_text(canonical(json.dumps(arguments).encode()))
    assert canonical_text(canonical(once.encode())) == once
    assert json.loads(once) == arguments


@pytest.mark.parametrize("url", [
    "ftp://a.example/", "a.example/page", "http:///page", "http://u@a.example/", "http://[::1", "",
    "http://a.example:99999/", "http://a.example/ b", "http://a.example/\r\nHost: b.example",
    "http://a.example/" + "x" * 9000, "http://a.example\\@b.example/",
])  # fmt: skip
def test_what_is_no_url_to_fetch(url: str) -> None:
    with pytest.raises(ValueError):
        destination(url)


@pytest.mark.parametrize(("url", "place"), [
    ("http://A.example/x", "a.example:80"), ("https://a.example?q", "a.example:443"),
    ("http://a.example:8080", "a.example:8080"),
])  # fmt: skip
def test_where_a_url_leads(url: str, place: str) -> None:
    assert destination(url) == place


BAD: list[tuple[dict[str, Any], str]] = [
    ({"one": {}}, "got 0 of them"),
    ({"one": {"command": ["a"], "http": {"allow": ["a:1"]}}}, "got 2 of them"),
    ({"one": {"command": []}}, "command"),
    ({"one": {"command": ["{role}"]}}, "{role} means nothing to a tool"),
    ({"one": {"command": ["a"], "ttl": -1}}, "ttl"),
    ({"one": {"command": ["a"], "roles": ["planner"]}}, "no such role"),
    ({"one": {"command": ["a"], "roles": []}}, "roles"),
    ({"one": {"command": ["a"], "parameters": {"type": "string"}}}, "JSON schema of an object"),
    ({"one": {"http": {"allow": ["*.example:443"]}}}, "wildcards"),
    ({"one": {"http": {"allow": ["https://a.example"]}}}, "URL"),
    ({"one": {"http": {"allow": []}}}, "allow"),
    ({"one": {"http": {"allow": ["a:1"]}, "network": {"allow": ["a:1"]}}}, "its own allow"),
    ({"one": {"mcp": {"command": ["a"]}, "parameters": {"type": "object"}}}, "parameters"),
    ({"run": {"command": ["a"]}}, "every agent has"),
    ({"One": {"command": ["a"]}}, "no name of a tool"),
    ({"one": {"command": ["a"], "shares": True}}, "unknown key"),
]  # fmt: skip


@pytest.mark.parametrize(("tools", "words"), BAD)
def test_a_team_file_with_a_bad_tool_is_refused_by_name(
    studio: Studio, tools: dict[str, Any], words: str
) -> None:
    team = studio.team()
    team.write_text(json.dumps(json.loads(team.read_text()) | {"tools": tools}))
    with pytest.raises(TeamError) as caught:
        load_team(team)
    assert words in str(caught.value) and "tools" in str(caught.value)
