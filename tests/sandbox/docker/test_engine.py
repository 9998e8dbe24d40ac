"""Which engine is asked, and what is said when none can be."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from rolewall.errors import BackendUnavailable, BoxError, InfrastructureError
from rolewall.sandbox.docker import DockerBackend
from rolewall.sandbox.docker.engine import Engine, engine_address, find_engine
from rolewall.sandbox.protocol import BoxSpec


@pytest.fixture
def docker_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Docker configuration directory with the context ``elsewhere``."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    (tmp_path / "config.json").write_text("{}")
    name = hashlib.sha256(b"elsewhere").hexdigest()
    meta = tmp_path / "contexts" / "meta" / name / "meta.json"
    meta.parent.mkdir(parents=True)
    endpoint = {"docker": {"Host": "unix:///somewhere/docker.sock", "SkipTLSVerify": False}}
    meta.write_text(json.dumps({"Name": "elsewhere", "Metadata": {}, "Endpoints": endpoint}))
    return tmp_path


def test_the_default_is_the_default_socket(docker_config: Path) -> None:
    assert engine_address(os.environ).endswith("/docker.sock")


def test_docker_host_comes_first(docker_config: Path) -> None:
    environ = {"DOCKER_HOST": "unix:///x.sock", "DOCKER_CONTEXT": "elsewhere"}
    assert engine_address(environ) == "unix:///x.sock"


def test_a_named_context_is_used(docker_config: Path) -> None:
    assert engine_address({"DOCKER_CONTEXT": "elsewhere"}) == "unix:///somewhere/docker.sock"


def test_the_current_context_is_used(docker_config: Path) -> None:
    (docker_config / "config.json").write_text('{"currentContext": "elsewhere"}')
    assert engine_address({}) == "unix:///somewhere/docker.sock"


def test_an_unknown_context_is_named(docker_config: Path) -> None:
    with pytest.raises(BackendUnavailable, match="nowhere"):
        engine_address({"DOCKER_CONTEXT": "nowhere"})


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:2375", "ssh://me@there", "nonsense"])
def test_an_engine_that_is_not_on_this_machine_is_refused(address: str) -> None:
    with pytest.raises(BackendUnavailable, match="not an engine on this machine"):
        engine_address({"DOCKER_HOST": address})


def dead(path: Path) -> None:
    """A socket file that nobody listens on."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


@pytest.mark.parametrize("exists", [True, False])
def test_no_engine_says_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    path = tmp_path / "docker.sock"
    if exists:
        dead(path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with pytest.raises(BackendUnavailable, match="no Docker engine answers") as caught:
        DockerBackend().launch(BoxSpec(label="test", mounts=()))
    assert caught.value.exit_code == 3
    assert "bubblewrap" in (caught.value.hint or "")


def test_no_engine_means_nothing_to_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    # Of other tests that run now a killed harness may have left a kit.
    assert [line for line in DockerBackend().clean() if line.startswith("container")] == []


def test_no_engine_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    findings = DockerBackend().diagnose()
    assert [finding.ok for finding in findings] == [False]
    assert "bubblewrap" in findings[0].way_out


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user can enter; pytest's own are the caller's alone."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.root
def test_a_forbidden_socket_names_the_group(open_directory: Path) -> None:
    path = open_directory / "docker.sock"
    dead(path)
    path.chmod(0o600)
    script = (
        "import os, sys, docker.errors, docker.context, requests\n"
        "from rolewall.errors import RolewallError\n"
        "from rolewall.sandbox.docker.engine import find_engine\n"
        "os.setgroups([]); os.setgid(64101); os.setuid(64101)\n"
        "try:\n    find_engine()\n"
        "except RolewallError as error:\n    print(type(error).__name__, error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "DOCKER_HOST": f"unix://{path}", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stdout.startswith("BackendUnavailable"), result.stderr
    assert "group `docker`" in result.stdout


class Silent(BaseHTTPRequestHandler):
    """An engine that says its version and then no more, as one under a stuck disk does."""

    def do_GET(self) -> None:
        if self.path.endswith("/version"):
            body = b'{"ApiVersion": "1.41", "Version": "20.10"}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            self.server.release.wait(20)  # type: ignore[attr-defined]

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass

    def address_string(self) -> str:
        return "local"


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str) -> None:
        self.release = threading.Event()
        super().__init__(path, Silent)


@pytest.fixture
def silent_engine(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "silent.sock")
    server = Server(path)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"unix://{path}"
    server.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("repeatable", [True, False])
def test_an_engine_that_stops_answering_is_infrastructure(
    silent_engine: str, repeatable: bool
) -> None:
    engine = Engine(silent_engine, deadline=1)
    calls = []

    def ask(client: object) -> object:
        calls.append(1)
        return client.info()  # type: ignore[attr-defined]

    try:
        with pytest.raises(BoxError, match="did not answer in 1 s when asked to look") as caught:
            engine.call("look", ask, repeatable=repeatable)
    finally:
        engine.close()
    assert isinstance(caught.value, InfrastructureError)
    assert len(calls) == (2 if repeatable else 1)


@pytest.mark.docker
def test_a_living_engine_says_what_it_is(engine: Engine) -> None:
    found = find_engine()
    assert found.version == engine.version
    assert found.security_option("seccomp") is not None
    assert found.security_option("no such feature") is None
    found.close()
