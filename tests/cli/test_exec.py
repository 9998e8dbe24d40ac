"""``rolewall exec``: one command as one role over the user's own directories."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Cli


@pytest.fixture
def zones(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / name for name in ("ws", "out")}
    for path in found.values():
        path.mkdir()
    (found["ws"] / "app.py").write_text("x = 1\n")
    return found


def options(zones: dict[str, Path], backend: Backend, attempts: Path | None = None) -> list[str]:
    found = ["exec", "--backend", backend.name, "--role", "verifier"]
    found += ["--zone", f"workspace={zones['ws']}:read", "--zone", f"out={zones['out']}:write"]
    return found + (["--attempts", str(attempts)] if attempts else [])


def attempts_in(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["type"] == "attempt"]


def test_the_exit_code_output_and_attempts_are_the_commands(
    cli: Cli, zones: dict[str, Path], backend: Backend, tmp_path: Path
) -> None:
    script = "echo hello; echo oops >&2; cat; echo y > out.txt; echo z > /out/file; exit 7"
    done = cli(
        *options(zones, backend, tmp_path / "a.jsonl"), "--", "sh", "-c", script, stdin="given\n"
    )
    assert (done.code, done.out) == (7, "hello\ngiven\n")
    assert "oops\n" in done.err
    assert sorted(p.name for p in zones["ws"].iterdir()) == ["app.py"]
    assert (zones["out"] / "file").read_text() == "z\n"
    (blocked,) = attempts_in(tmp_path / "a.jsonl")
    assert blocked["paths"] == ["/workspace/out.txt"] and blocked["outcome"] == "blocked"
    assert blocked["kind"] == "edit" and "O_CREAT" in blocked["flags"]


@pytest.mark.pain(4)
@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 42"], 42),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["no-such-program"], 127),
        (["/workspace/app.py"], 126),
    ],
)
def test_exit_codes(
    cli: Cli, zones: dict[str, Path], backend: Backend, argv: list[str], code: int
) -> None:
    assert cli(*options(zones, backend), "--", *argv).code == code


@pytest.mark.pain(1)
def test_a_command_that_takes_too_long_is_ended_with_all_it_started(
    cli: Cli, zones: dict[str, Path], backend: Backend
) -> None:
    script = "trap '' TERM; (setsid sleep 300 &) ; sleep 300"
    done = cli(*options(zones, backend), "--timeout", "1", "--", "sh", "-c", script)
    assert done.code == 124


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (["--zone", "workspace={ws}:read", "--zone", "out={ws}/sub:write"], "workspace"),
        (["--zone", "workspace={ws}:read", "--zone", "out={ws}:write"], "out"),
        (["--zone", "workspace={ws}"], "expected"),
        (["--zone", "workspace={ws}:append"], "append"),
        (["--zone", "workspace=/nowhere:read"], "/nowhere"),
        (["--zone", "etc={ws}:read"], "etc"),
        (["--zone", "grader={ws}:read"], "grader"),
        (["--zone", "UP={ws}:read"], "UP"),
        (["--zone", "a={ws}:read", "--zone", "a={out}:read"], "a"),
        (["--zone", "a=/:read"], "/"),
        (["--zone", "a={ws}:read", "--network", "*:443"], "*"),
        (["--zone", "a={ws}:read", "--env", "X"], "X"),
        (["--zone", "a={ws}:read", "--backend", "podman"], "podman"),
        (["--zone", "a={ws}:read", "--attempts", "{ws}/a.jsonl"], "a.jsonl"),
        (["--zone", "a={ws}:read", "--attempts", "/nowhere/a.jsonl"], "/nowhere"),
    ],
)
def test_what_is_not_acceptable_is_refused_by_name(
    cli: Cli, zones: dict[str, Path], bad: list[str], says: str
) -> None:
    (zones["ws"] / "sub").mkdir()
    given = [b.format(**{k: str(v) for k, v in zones.items()}) for b in bad]
    done = cli("exec", "--role", "verifier", *given, "--", "true")
    assert done.code == 125
    assert says in done.err and "Traceback" not in done.err and done.err.count("\n") == 1


def test_more_zones_than_a_box_can_have_are_refused_by_their_number(
    cli: Cli, tmp_path: Path
) -> None:
    words = []
    for number in range(65):
        (tmp_path / f"d{number}").mkdir()
        words += ["--zone", f"z{number}={tmp_path}/d{number}:read"]
    done = cli("exec", "--role", "verifier", *words, "--", "true")
    assert done.code == 125 and "more zones" in done.err and "at most 64" in done.err
    assert "usage" not in done.err


def test_a_file_shared_between_two_zones_is_refused(
    cli: Cli, zones: dict[str, Path], backend: Backend
) -> None:
    os.link(zones["ws"] / "app.py", zones["out"] / "alias.py")
    done = cli(*options(zones, backend), "--", "sh", "-c", "echo changed > /out/alias.py")
    assert done.code == 125 and "app.py" in done.err
    assert (zones["ws"] / "app.py").read_text() == "x = 1\n"


@pytest.mark.pain(16)
@pytest.mark.root
@pytest.mark.parametrize("owner", [0, 1000, 64101])
def test_root_runs_over_directories_of_any_owner_and_leaves_owners_alone(
    cli: Cli, zones: dict[str, Path], backend: Backend, owner: int
) -> None:
    for path in (*zones.values(), zones["ws"] / "app.py"):
        os.chown(path, owner, owner)
    (zones["ws"] / "app.py").chmod(0o600)
    zones["out"].chmod(0o700)
    done = cli(*options(zones, backend), "--", "sh", "-c", "cat app.py > /out/copy")
    assert done.code == 0, done.err
    assert (zones["out"] / "copy").stat().st_uid == owner
    assert (zones["out"] / "copy").read_text() == "x = 1\n"
    assert (zones["ws"] / "app.py").stat().st_uid == owner


def test_only_allowed_destinations_are_reached(
    cli: Cli, zones: dict[str, Path], backend: Backend
) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"pong:" + connection.recv(4))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    talk = (
        "import socket,sys; s=socket.create_connection(('localhost', int(sys.argv[1])), 5); "
        "s.sendall(b'ping'); print(s.recv(20))"
    )
    command = ["python3", "-c", talk, str(port)]
    refused = cli(*options(zones, backend), "--", *command)
    assert refused.code == 1 and "refused" in refused.err
    allowed = cli(*options(zones, backend), "--network", f"localhost:{port}", "--", *command)
    server.close()
    thread.join(5)
    assert allowed.out == "b'pong:ping'\n", allowed.err


@pytest.mark.pain(22)
def test_prompt_only_style_a_writable_foreign_zone_is_allowed_and_recorded(
    cli: Cli, zones: dict[str, Path], backend: Backend, tmp_path: Path
) -> None:
    done = cli(
        "exec", "--backend", backend.name, "--role", "verifier", "--attempts", tmp_path / "a.jsonl",
        "--zone", f"workspace={zones['ws']}:write", "--", "sh", "-c", "echo x = 2 > app.py",
    )  # fmt: skip
    assert done.code == 0
    assert (zones["ws"] / "app.py").read_text() == "x = 2\n"
    (edit,) = attempts_in(tmp_path / "a.jsonl")
    assert (edit["kind"], edit["outcome"], edit["owner"]) == ("edit", "allowed", "executor")


def said(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("rolewall: ")]


@pytest.mark.parametrize(
    ("limits", "script", "code", "says"),
    [
        (["--timeout", "1"], "sleep 60", 124, "ended after 1 s (--timeout)"),
        (["--memory-mb", "64"], "exec python3 -c 'x = b\"1\" * (1 << 28)'", None, "--memory-mb"),
        (
            ["--disk-mb", "1"],
            "for n in 1 2 3; do head -c 1000000 /dev/zero > /out/$n; done; sleep 30",
            124,
            "(--disk-mb)",
        ),
        (
            [],
            'exec python3 -c \'\nimport os\nwhile True:\n  try: os.mkdir("/workspace/x")\n'
            "  except OSError: pass'",
            124,
            "tried to cross the wall",
        ),
        ([], "exit 9", 9, ""),
    ],
    ids=["time", "memory", "disk", "attempts", "its own end"],
)
def test_what_ended_a_command_is_said_in_one_line(
    cli: Cli, zones: dict[str, Path], backend: Backend, limits: list[str], script: str,
    code: int | None, says: str,
) -> None:  # fmt: skip
    done = cli(*options(zones, backend), *limits, "--", "sh", "-c", script)
    if code is None:
        # Without control groups the limit is of the process: memory is refused, nothing killed.
        assert done.code == 137 or "MemoryError" in done.err
    else:
        assert done.code == code, done.err
    if done.code in (124, 137):
        (line,) = said(done.err)
        assert says in line
    else:
        assert said(done.err) == []


def test_attempts_go_to_a_new_file(
    cli: Cli, zones: dict[str, Path], backend: Backend, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    words = [*options(zones, backend, path), "--", "mkdir", "/workspace/x"]
    assert cli(*words).code == 1
    assert len(attempts_in(path)) == 1
    kept = path.read_bytes()
    again = cli(*words)
    assert again.code == 125 and "a.jsonl: there is something already" in again.err
    assert path.read_bytes() == kept
    path.unlink()
    path.symlink_to(tmp_path / "b.jsonl")
    assert cli(*words).code == 125 and not (tmp_path / "b.jsonl").exists()


@pytest.mark.parametrize("zone", ["tmp=", "tmp=/var:read", "home=.:write"])
def test_names_that_the_box_has_taken(cli: Cli, zone: str) -> None:
    done = cli("exec", "--role", "verifier", "--zone", zone, "--", "true")
    assert done.code == 125 and f"{zone.partition('=')[0]} is taken by the box" in done.err
