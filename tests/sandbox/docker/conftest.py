from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rolewall.sandbox.attach import attach_zones
from rolewall.sandbox.channel import Channel, NotStarted
from rolewall.sandbox.docker import DockerBackend
from rolewall.sandbox.docker.engine import Engine, find_engine
from rolewall.sandbox.docker.launched import DockerBox
from rolewall.sandbox.protocol import BoxSpec

ENVIRONMENT = {"PATH": "/rolewall/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/home"}


@dataclass
class Running:
    """A launched box that commands can be run in, without tap and probe."""

    box: DockerBox
    channel: Channel = field(init=False)

    def __post_init__(self) -> None:
        self.channel = Channel(self.box.control)
        self.pid = self.channel.hello(20).pid
        self.box.admit(self.pid)

    def attach(self, spec: BoxSpec) -> None:
        if self.box.attach:
            attach_zones(self.pid, self.box.identity, spec.mounts)

    def run(self, *argv: str) -> tuple[int, str]:
        out, child_out = os.pipe()
        nothing = os.open("/dev/null", os.O_RDONLY)
        if os.geteuid() == 0:
            identity = self.box.identity
            os.fchown(child_out, identity.role_uid, identity.role_gid)
        try:
            begun = self.channel.start(
                argv,
                cwd="/",
                env=ENVIRONMENT,
                rlimits={},
                stdin=nothing,
                stdout=child_out,
                stderr=child_out,
            )
        finally:
            os.close(child_out)
            os.close(nothing)
        assert not isinstance(begun, NotStarted), begun
        with os.fdopen(out, "rb") as stream:
            text = stream.read().decode()
        code = self.channel.poll_exit(30)
        assert code is not None
        return code, text

    def shell(self, script: str) -> tuple[int, str]:
        return self.run("/bin/sh", "-c", script)

    def close(self) -> None:
        self.channel.close()
        self.box.close()


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    found = find_engine()
    yield found
    found.close()


@pytest.fixture
def backend(engine: Engine) -> Iterator[DockerBackend]:
    found = DockerBackend()
    yield found
    found.close()


@pytest.fixture
def start(backend: DockerBackend) -> Iterator[Callable[[BoxSpec], Running]]:
    """Start boxes that the test's end closes."""
    started: list[Running] = []

    def launch(spec: BoxSpec) -> Running:
        running = Running(backend.launch(spec))
        started.append(running)
        running.attach(spec)
        return running

    yield launch
    for running in started:
        running.close()


@pytest.fixture
def zones(tmp_path: Path) -> Callable[[str], Path]:
    """Make a zone's source directory with a file in it."""

    def make(name: str) -> Path:
        source = tmp_path / name
        source.mkdir()
        (source / "file.txt").write_text("as it was\n")
        return source

    return make
