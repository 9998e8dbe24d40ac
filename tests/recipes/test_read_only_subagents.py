"""Read-only subagents: the wrapper and the tool run as they stand, on a real box."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

RECIPE = Path(__file__).parents[2] / "recipes" / "read-only-subagents"
INSTALLED = "/opt/read-only-subagents"
TOOL = "mcp__read_only__run"
pytestmark = pytest.mark.bubblewrap
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def read_only(work: Path, env: dict[str, str]) -> Run:
    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([RECIPE / "read-only", *words], cwd=work, env=env, text=True,
                              capture_output=True, timeout=120, check=False)  # fmt: skip

    return run


def attempts(ledger: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    return [line for line in lines if line["type"] == "attempt" and line["kind"] == "edit"]


def test_a_write_is_blocked_and_logged_and_the_exit_code_is_the_command_s(
    read_only: Run, work: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    done = read_only("-l", ledger, "--", "sh", "-c", "cat app.py; echo 'x = 2' > app.py || exit 7")
    assert (done.returncode, done.stdout) == (7, "x = 1\n"), done.stderr
    assert (work / "app.py").read_text() == "x = 1\n"
    (edit,) = attempts(ledger)
    assert (edit["outcome"], edit["paths"]) == ("blocked", ["/workspace/app.py"])
    assert (edit["role"], edit["owner"]) == ("reviewer", "executor")


def test_a_write_to_what_is_its_own_is_allowed(read_only: Run, tmp_path: Path) -> None:
    command = "cp -r /workspace /tmp/work && cd /tmp/work && echo 'x = 2' > app.py && cat app.py"
    done = read_only("-C", ".", "--", "sh", "-c", f"{command}; git -C /workspace status --short")
    assert (done.returncode, done.stdout) == (0, "x = 2\n?? app.py\n?? test_app.py\n"), done.stderr
    (kept,) = (tmp_path / ".local" / "state" / "read-only").iterdir()
    assert attempts(kept) == []


def test_the_reader_has_neither_the_environment_nor_the_home_of_its_caller(
    read_only: Run, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("sk-secret")
    done = read_only("--", "sh", "-c", f"env; cat {tmp_path}/key; cat /proc/1/environ; echo over")
    assert done.stdout.endswith("over\n") and "sk-secret" not in done.stdout


@pytest.mark.parametrize("words", [(), ("--",), ("-x",), ("-C", "/none", "--", "true")])
def test_what_cannot_be_walled_in_does_not_run(read_only: Run, words: tuple[str, ...]) -> None:
    assert read_only(*words).returncode == 125


def test_without_rolewall_nothing_runs(read_only: Run, env: dict[str, str]) -> None:
    env["PATH"] = "/usr/bin:/bin"
    done = read_only("--", "touch", "/workspace/hit")
    assert done.returncode == 127 and "rolewall" in done.stderr


def ask(work: Path, env: dict[str, str], *messages: object) -> list[dict[str, Any]]:
    lines = [m if isinstance(m, bytes) else f"{json.dumps(m)}\n".encode() for m in messages]
    done = subprocess.run(
        [sys.executable, RECIPE / "read_only_server.py"],
        input=b"".join(lines),
        cwd=work,
        env=env,
        capture_output=True,
        timeout=120,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(command: object, number: int = 1, name: str = "run") -> dict[str, Any]:
    params = {"name": name, "arguments": {"command": command}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_the_tool_tells_what_was_blocked(work: Path, env: dict[str, str], tmp_path: Path) -> None:
    begin = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}
    begun, listed, told, passed = ask(
        work, env, begin, {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list"},
        call("rm app.py; sed -i s/1/2/ app.py"),
        call("cp -r . /tmp/w && cd /tmp/w && python3 -m pytest -q 2>&1 | tail -1"),
    )  # fmt: skip
    assert begun["result"]["protocolVersion"] == "2025-03-26"
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["run"]
    found = told["result"]["structuredContent"]
    assert told["result"]["isError"] and found["exit_code"] != 0
    assert [line.split()[0] for line in found["blocked"]] == ["unlinkat", "openat"]
    assert json.loads(told["result"]["content"][0]["text"]) == found
    assert not passed["result"]["isError"]
    assert "1 passed" in passed["result"]["structuredContent"]["stdout"]
    assert passed["result"]["structuredContent"]["blocked"] == []
    kept = list((tmp_path / ".local" / "state" / "read-only").iterdir())
    assert len(kept) == 2 and sum(len(attempts(path)) for path in kept) == 2


def test_junk_is_answered_and_ends_nothing(work: Path, env: dict[str, str]) -> None:
    more = call("true")
    more["params"]["arguments"]["cwd"] = "/"
    answers = ask(work, env, b"junk\n", b"[]\n", b"\n", {"id": 1, "method": "none"}, call(1),
                  call("x", name="write"), more, {"id": 2, "method": "tools/call", "params": []},
                  {"id": 3, "method": "ping"})  # fmt: skip
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [-32700, -32600, -32700, -32601, -32602, -32602, -32602, -32602, None]


DEEP = b"[" * 100_000 + b"]" * 100_000
NO_COMMAND = {
    "zero-byte": (call("echo a\0b"), -32602, "zero byte"),
    "lone-surrogate": (call("echo \ud800"), -32602, "surrogate"),
    "too-long": (call("#" * (128 * 1024)), -32602, "128 KiB"),
    "too-long-in-bytes": (call("é" * (64 * 1024)), -32602, "128 KiB"),
    "deep": (DEEP + b"\n", -32700, "nested"),
    "deep-in-a-call": (b'{"id": 1, "method": "ping", "params": ' + DEEP + b"}\n", -32700, "nested"),
    "not-utf-8": (b'{"id": 1, "method": "\xff"}\n', -32700, "UTF-8"),
    "no-number": (b'{"id": NaN, "method": "ping"}\n', -32700, "JSON"),
    "long-number": (b'{"id": ' + b"9" * 5000 + b', "method": "ping"}\n', -32700, "JSON"),
    "id-of-any-kind": (b'{"id": ' + b"[" * 900 + b"]" * 900 + b', "method": "x"}\n', -32600, ""),
    "method-of-any-kind": ({"id": 1, "method": ["ping"]}, -32600, "request"),
}


def test_what_no_command_can_be_is_answered_and_the_next_call_too(
    work: Path, env: dict[str, str], tmp_path: Path
) -> None:
    messages = [
        one
        for number, (message, *_) in enumerate(NO_COMMAND.values())
        for one in (message, {"id": f"after {number}", "method": "ping"})
    ]
    answers = ask(work, env, *messages)
    for name, refused, after in zip(NO_COMMAND, answers[::2], answers[1::2], strict=True):
        _, code, why = NO_COMMAND[name]
        assert refused["error"]["code"] == code and why in refused["error"]["message"], name
        assert after["result"] == {}, name
    assert not (tmp_path / ".local").exists(), "something has run"


def test_the_longest_command_runs(work: Path, env: dict[str, str]) -> None:
    command = "echo é; #".encode().ljust(128 * 1024 - 1, b"#").decode()
    (told,) = ask(work, env, call(command))
    assert told["result"]["structuredContent"]["stdout"] == "é\n"


def test_without_a_place_for_ledgers_the_server_goes_on(work: Path, env: dict[str, str]) -> None:
    env["XDG_STATE_HOME"] = str(work / "app.py")
    refused, after = ask(work, env, call("true"), {"id": 2, "method": "ping"})
    assert refused["error"]["code"] == -32603 and "Not a directory" in refused["error"]["message"]
    assert after["result"] == {}


def test_what_is_cut_is_marked(work: Path, env: dict[str, str]) -> None:
    (told,) = ask(work, env, call("seq 100000"))
    said = told["result"]["structuredContent"]["stdout"]
    assert said.startswith("1\n2\n") and said.endswith("100000\n")
    assert "characters are cut here]" in said and len(said) < 31_000


def front_matter() -> dict[str, Any]:
    text = (RECIPE / "claude-code" / ".claude" / "agents" / "reviewer.md").read_text()
    loaded = yaml.safe_load(text.split("---\n")[1])
    assert isinstance(loaded, dict)
    return loaded


def test_the_definitions_give_the_tool_and_no_other() -> None:
    claude = RECIPE / "claude-code"
    servers = json.loads((claude / ".mcp.json").read_text())["mcpServers"]
    settings = json.loads((claude / ".claude" / "settings.json").read_text())
    assert front_matter()["tools"] == TOOL and settings["permissions"]["allow"] == [TOOL]
    assert list(servers) == settings["enabledMcpjsonServers"] == ["read_only"]
    codex = RECIPE / "codex" / ".codex"
    agent = tomllib.loads((codex / "agents" / "reviewer.toml").read_text())
    assert agent["features"] == {"shell_tool": False} and agent["sandbox_mode"] == "read-only"
    server = tomllib.loads((codex / "config.toml").read_text())["mcp_servers"]["read_only"]
    for command in (servers["read_only"], server):
        assert command["args"] == [f"{INSTALLED}/read_only_server.py"]


def test_output_of_any_length_takes_little_memory() -> None:
    limited = (
        "import io, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20));"
        "sys.path.insert(0, sys.argv[1]); import read_only_server as s; kept = s._Kept();"
        "kept.read(open('/dev/stdin', 'rb')); print(len(kept.text()), kept.text()[:3])"
    )
    script = f"(printf abc; head -c 400M /dev/zero) | '{sys.executable}' -c \"$1\" '{RECIPE}'"
    done = subprocess.run(["sh", "-c", script, "sh", limited], capture_output=True, text=True,
                          timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" abc\n") and int(done.stdout.split()[0]) < 31_000
