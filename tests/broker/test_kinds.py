"""What tools of each kind give: one episode with many, then those that fail."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.broker.conftest import Pages, Tooled, Tools, ask, served
from tests.conftest import Cli

pytestmark = pytest.mark.bubblewrap
SERVER = Path(__file__).with_name("server.py")
MCP = ["python3", "{agents}/server.py"]
LOOK = """\
import json, os, socket, sys
told = {"given": json.load(sys.stdin), "zones": [z for z in ("workspace", "spec", "plan", "brief",
        "verdict") if os.path.exists("/" + z)], "task": os.environ["ROLEWALL_TASK"]}
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)
    told["network"] = True
except OSError:
    told["network"] = False
told["left"] = os.path.exists("/tmp/left")
open("/tmp/left", "w").close()
told["agents"] = sorted(os.listdir("/rolewall/agents"))
print(json.dumps(told))
"""
CALLS = {
    "home": ask("page", url="{url}/home"),
    "moved": ask("page", url="{url}/moved"),
    "away": ask("page", url="{url}/away"),
    "large": ask("page", url="{url}/large"),
    "picture": ask("page", url="{url}/picture"),
    "look": ask("look", b=1.0, a=[2, "x"]),
    "same": "rolewall-tool look '{\"a\": [2.0, \"x\"], \"b\": 1}'",
    "other": ask("look", b="1", a=[2, "x"]),
    "again": ask("unshared"),
    "once more": ask("unshared"),
    "echo": ask("echo", text="hello ü"),
    "count": ask("count"),
    "counted": ask("count", again=True),
    "fail": ask("fail"),
    "hang": ask("hang"),
    "die": ask("die"),
    "junk": ask("junk"),
    "after": ask("echo", text="still here"),
    "missing": ask("missing"),
    "wrong": ask("wrong"),
    "slow": ask("slow"),
    "long": ask("long"),
    "place": ask("page", url="http://localhost:1/"),
    "file": ask("page", url="file:///etc/passwd"),
    "named": ask("page", url="http://me@{place}/"),
    "more": ask("page", url="{url}/home", method="POST"),
    "unknown": ask("nothing"),
    "theirs": ask("planners"),
    "no json": "rolewall-tool look '{'",
    "no object": "rolewall-tool look '[1]'",
    "not finite": "rolewall-tool look '{\"a\": 1e999}'",
    "deep": "rolewall-tool look '{\"a\": " + "[" * 40 + "]" * 40 + "}'",
    "twice": "rolewall-tool look '{\"a\": 1, \"a\": 2}'",
    "bare": "rolewall-tool look",
    "held": ask("held"),
    "red": ask("red", text="\\u001b[2J"),
    "briefly": ask("brief"),
    "later": "sleep 1; " + ask("brief"),
    "together": f"{ask('together')} > /tmp/1 & {ask('together')} > /tmp/2 & wait; cat /tmp/1",
    "second": "cat /tmp/2",
    "both": f"{ask('both')} > /tmp/1 & {ask('both')} > /tmp/2 & wait; cat /tmp/1",
    "neither": "cat /tmp/2",
}  # fmt: skip

LEFT = f"{ask('left')} > /dev/null 2>&1 & sleep 0.5"
JUNK = """\
python3 -c "
import socket
for junk in (b'\\xff' * 8, b'\\x04\\0\\0\\0a\\0b\\0', b'\\x06\\0\\0\\0/\\x001\\0',
             b'GET / HTTP/1.1', b'\\x07\\0\\0\\0/\\x001\\0\\xff\\xfe\\0',
             b'\\x0a\\0\\0\\0/\\x003\\0a\\0b\\0c\\0'):
    there = socket.socket(socket.AF_UNIX)
    there.connect('\\0rolewall-tool')
    there.sendall(junk)
    there.shutdown(socket.SHUT_WR)
    there.recv(1000)
"
"""
CONDITIONS = {"conditions": [
    {"id": "c1", "statement": "a", "authority": "planner", "forbids": ["use held"]},
    {"id": "c2", "statement": "b", "authority": "planner", "forbids": ["use look"],
     "status": "met"},
]}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The answers by the names of the calls, and the episode under ``done``."""
    path = tmp_path_factory.mktemp("kinds")
    with served() as pages, served() as others:
        pages.elsewhere = others.url("/home")
        calls = {
            name: line.replace("{url}", pages.url("")).replace("{place}", pages.place)
            for name, line in CALLS.items()
        }
        done = play(path, pages, list(calls.values()))
        printed = done.printed("executor")[: len(calls)]
        answers = {
            name: {"code": line["returncode"], **json.loads(line["stdout"]["text"])}
            for name, line in zip(calls, printed, strict=True)
            if not line["stdout"]["truncated"]  # the transcript keeps less than the answer had
        }
        lines = {line["tool"]: line for line in done.calls("01-executor")}
        answers |= {"large": done.calls("01-executor")[3], "long": lines["long"]}
        yield {**answers, "done": done, "pages": pages, "others": others}


def play(path: Path, pages: Pages, lines: list[str]) -> Tooled:
    from tests.conftest import cli

    run: Cli = cli.__wrapped__(path)  # type: ignore[attr-defined]
    tools = Tools(path / "tools", run, "bubblewrap")
    port = pages.place.partition(":")[2]
    look = ["python3", "{agents}/look.py", port]
    mcp = {"mcp": {"command": MCP}, "seconds": 5}
    kinds = {
        "page": {"http": {"allow": [pages.place]}},
        "look": {"command": look},
        "unshared": {"command": look, "share": False, "network": {"allow": [pages.place]}},
        "planners": {"command": look, "roles": ["planner"]},
        "wrong": {"command": ["sh", "-c", "echo out; echo no such thing >&2; exit 4"]},
        "slow": {"command": ["sleep", "30"], "seconds": 0.5},
        "long": {"command": ["sh", "-c", "head -c 1500000 /dev/zero | tr '\\0' x"]},
        "say": {"mcp": {"command": MCP, "tool": "echo"}},
        "missing": mcp,
        **dict.fromkeys(("echo", "count", "fail", "die", "junk"), mcp),
        "hang": {**mcp, "seconds": 0.5},
        "held": {"command": ["cat"]},
        "red": {"command": ["printf", "\\033[31mred\\n"]},
        "brief": {"command": ["cat"], "ttl": 0.5},
        "together": {"command": ["sh", "-c", "sleep 1; cat"]},
        "both": {"command": ["sh", "-c", "sleep 1; exit 1"]},
        "left": {"command": ["sleep", "60"]},
    }
    team = tools.team(
        {name: {"roles": ["planner", "executor"], **tool} for name, tool in kinds.items()},
        {"planner": [], "executor": [*lines, LEFT], "verifier": [ask("planners")]},
        {"look.py": LOOK, "server.py": SERVER.read_text()},
        limits={"phase_seconds": 100, "memory_mb": 512, "pids": 64},
    )
    planner = {"steps": [{"run": line} for line in (JUNK, ask("unshared"))], "handoff": CONDITIONS}
    (team.parent / "planner.yaml").write_text(json.dumps(planner))
    task = tools.task / "task.yaml"
    task.write_text(task.read_text().replace("seconds: 60", "seconds: 100"))
    return tools.run(team)


def test_a_page(found: dict[str, Any]) -> None:
    home, moved = found["home"], found["moved"]
    assert (home["code"], home["ok"], home["origin"]) == (0, True, "live")
    assert home["result"] == {
        "status": 200, "url": found["pages"].url("/home"), "type": "text/plain",
        "text": "page /home\n",
    }  # fmt: skip
    assert moved["result"]["url"] == found["pages"].url("/home")
    assert (found["large"]["truncated"], len(found["large"]["result"]["text"])) == (True, 1 << 20)
    assert found["picture"]["result"]["base64"].startswith("AAECAwQF")


def test_a_redirect_leads_to_allowed_places_alone(found: dict[str, Any]) -> None:
    away = found["away"]
    assert (away["code"], away["ok"], away["refused"]) == (1, False, "")
    assert found["others"].place in away["why"]
    assert found["others"].seen == []


@pytest.mark.parametrize(("name", "word", "what"), [
    ("place", "arguments", "localhost:1 is not among the allowed destinations"),
    ("file", "arguments", "not a URL of http or https"),
    ("named", "arguments", "a URL with a user"),
    ("more", "arguments", "one argument, the text url"),
    ("unknown", "tool", "no such tool: nothing"),
    ("theirs", "role", "not for this role: planners"),
    ("no json", "arguments", "not JSON"),
    ("no object", "arguments", "no JSON object"),
    ("not finite", "arguments", "too large a number"),
    ("deep", "arguments", "nested too deeply"),
    ("twice", "arguments", "duplicate key"),
])  # fmt: skip
def test_what_may_not_be_is_refused(found: dict[str, Any], name: str, word: str, what: str) -> None:
    answer = found[name]
    assert (answer["code"], answer["ok"], answer["refused"]) == (2, False, word)
    assert what in answer["why"]


def test_a_command_has_its_arguments_and_no_zone(found: dict[str, Any]) -> None:
    told = json.loads(found["look"]["result"])
    assert told["given"] == {"a": [2, "x"], "b": 1}
    assert told["zones"] == []
    assert told["task"] == "add-one"
    assert told["network"] is False
    assert "server.py" in told["agents"] and "executor.yaml" not in told["agents"]
    assert json.loads(found["bare"]["result"])["given"] == {}


def test_equal_arguments_are_the_same_call(found: dict[str, Any]) -> None:
    assert (found["same"]["origin"], found["same"]["time"]) == ("cached", found["look"]["time"])
    assert found["other"]["origin"] == "live"


def test_a_tool_that_is_not_shared_runs_anew_and_remembers_nothing(found: dict[str, Any]) -> None:
    assert [found[name]["origin"] for name in ("again", "once more")] == ["live"] * 2
    told = json.loads(found["once more"]["result"])
    assert (told["left"], told["network"]) == (False, True)


def test_tools_of_an_mcp_server(found: dict[str, Any]) -> None:
    assert found["echo"]["result"] == {"content": [{"type": "text", "text": "hello ü"}]}
    # One server for all tools with this command, in one phase.
    counted = [found[name]["result"]["content"][0]["text"] for name in ("count", "counted")]
    assert counted == ["2", "3"]
    assert found["after"]["ok"]


@pytest.mark.parametrize(("name", "why"), [
    ("fail", "it is closed"),
    ("hang", "no answer in time"),
    ("die", "the server has ended with code 3: I cannot go on"),
    ("junk", "the server printed what is no message"),
    ("missing", "the server has no tool 'missing'"),
    ("wrong", "exit code 4: no such thing"),
    ("slow", "no answer in 0.5 s"),
])  # fmt: skip
def test_a_tool_that_fails_says_why(found: dict[str, Any], name: str, why: str) -> None:
    answer = found[name]
    assert (answer["code"], answer["origin"], answer["refused"]) == (1, "failed", "")
    assert why in answer["why"]
    assert answer["result"] is None and answer["fresh_until"] is None


def test_a_long_result_is_cut_and_says_so(found: dict[str, Any]) -> None:
    assert (found["long"]["truncated"], len(found["long"]["result"])) == (True, 1 << 20)


def test_every_call_is_counted_evidence_and_a_line(found: dict[str, Any]) -> None:
    done: Tooled = found["done"]
    lines = done.calls("01-executor")
    use = done.tools("executor")
    assert use["calls"] == len(lines) == len(CALLS)
    assert use["calls"] == use["live"] + use["cached"] + use["failed"] + use["refused"]
    assert (use["cached"], use["refused"], use["held"]) == (2, 12, 1)
    assert use["runs"] == use["live"] + 9
    evidence = [one for one in done.handoff("01-executor")["evidence"] if one["id"].count("-t")]
    assert [one["id"] for one in evidence] == [line["id"] for line in lines]
    home = next(one for one in evidence if one["arguments"].get("url", "").endswith("/home"))
    assert (home["tool"], home["ok"], home["origin"]) == ("page", True, "live")
    digest = hashlib.sha256(b"page /home\n").hexdigest()
    assert home["result"] == digest == lines[0]["sha256"]
    kept = done.episode.directory / "results" / digest
    assert kept.read_bytes() == b"page /home\n"


def test_a_tool_that_a_condition_holds_is_refused_with_its_id(found: dict[str, Any]) -> None:
    told = found["held"]
    assert (told["code"], told["refused"], told["conditions"]) == (2, "held", ["c1"])
    line = next(x for x in found["done"].calls("01-executor") if x["tool"] == "held")
    assert (line["conditions"], line["ran"]) == (["c1"], False)
    assert found["look"]["ok"]  # its condition c2 was discharged by its authority


def test_what_is_no_longer_fresh_is_got_again(found: dict[str, Any]) -> None:
    assert [found[name]["origin"] for name in ("briefly", "later")] == ["live", "live"]
    assert found["later"]["time"] > found["briefly"]["fresh_until"]


def test_equal_calls_at_one_time_run_once(found: dict[str, Any]) -> None:
    first, second = found["together"], found["second"]
    assert {first["origin"], second["origin"]} == {"live", "cached"}
    assert first["time"] == second["time"]


def test_equal_calls_that_fail_together_are_no_success(found: dict[str, Any]) -> None:
    assert [found[name]["origin"] for name in ("both", "neither")] == ["failed", "failed"]
    lines = [line for line in found["done"].calls("01-executor") if line["tool"] == "both"]
    assert sorted(line["ran"] for line in lines) == [False, True]


def test_a_call_ends_with_its_phase(found: dict[str, Any]) -> None:
    """Whoever leaves one under way behind is not waited for, and it counts for nothing."""
    phase = found["done"].episode.phase("executor")
    assert phase["ended"] - phase["started"] < 50
    assert "left" not in [line["tool"] for line in found["done"].calls("01-executor")]


def test_what_is_no_call_is_none_and_stops_nobody(found: dict[str, Any]) -> None:
    junk, call = found["done"].printed("planner")
    assert (junk["returncode"], json.loads(call["stdout"]["text"])["ok"]) == (0, True)
    lines = found["done"].calls("00-planner")
    assert [(x["tool"], x["refused"]) for x in lines] == [
        ("\ufffd\ufffd", "tool"),
        ("unshared", ""),
    ]


def test_a_role_that_may_use_none_has_no_door(found: dict[str, Any]) -> None:
    (line,) = found["done"].printed("verifier")
    assert (line["returncode"], line["stdout"]["text"]) == (125, "")
    assert "no tools here" in line["stderr"]["text"]
    assert found["done"].episode.phase("verifier")["tools"] is None


def test_the_record_holds(found: dict[str, Any], cli: Cli) -> None:
    done: Tooled = found["done"]
    run = done.episode.directory.parents[1]
    assert cli("audit", run).code == 0
    shown = cli("show", run, "add-one")
    assert shown.code == 0, shown.err
    assert f"tools: {len(CALLS)} calls (" in shown.out
    assert found["red"]["result"] == "\x1b[31mred\n"
    assert "\x1b" not in shown.out + shown.err
    rows = {row["role"]: row for row in cli("show", run, "--json").json["tools"]}
    assert rows["all"]["calls"] == len(CALLS) + 2
    assert rows["executor"]["redundant_rate"] == pytest.approx(
        rows["executor"]["repeated"] / len(CALLS)
    )
