"""What dead harnesses left is removed, and nothing else is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from rolewall.sandbox.docker import DockerBackend
from rolewall.sandbox.docker.cleanup import remove
from rolewall.sandbox.docker.container import labels
from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.docker.image import find_image
from rolewall.sandbox.owner import new_name

pytestmark = pytest.mark.docker

Make = Callable[[dict[str, str]], str]

# A harness that was killed between create and start.
HARNESS = """
from rolewall.sandbox.docker.container import labels
for item in labels("run", "dead").items():
    print("=".join(item))
"""


def dead_labels() -> dict[str, str]:
    result = subprocess.run(
        [sys.executable, "-c", HARNESS], capture_output=True, text=True, timeout=60, check=True
    )
    return dict(line.partition("=")[::2] for line in result.stdout.splitlines())


@pytest.fixture
def container(engine: Engine) -> Iterator[Make]:
    """Create containers that never start, with the given labels."""
    image = find_image(engine, "host").id
    made: list[str] = []

    def make(marks: dict[str, str]) -> str:
        asked = {"Image": image, "Entrypoint": ["/none"], "Labels": marks}
        answer = engine.call("create", lambda c: c.create_container_from_config(asked, new_name()))
        made.append(str(answer["Id"]))
        return made[-1]

    yield make
    for each in made:
        remove(engine, each)


def exists(engine: Engine, container: str) -> bool:
    return engine.lookup("look", lambda c: c.inspect_container(container)) is not None


def test_only_what_a_dead_harness_of_ours_left_is_removed(
    backend: DockerBackend, engine: Engine, container: Make
) -> None:
    dead = dead_labels()
    left = container(dead)
    kept = {
        "living harness": container(labels("run", "living")),
        "another user's": container({**dead, "rolewall.owner": str(os.geteuid() + 1)}),
        "of another pid namespace": container({**dead, "rolewall.pidns": "1"}),
        "says not whose": container({"rolewall.run": "x", "rolewall.owner": str(os.geteuid())}),
        "not ours at all": container({"some": "label"}),
    }
    removed = backend.clean()
    assert not exists(engine, left)
    assert any("(dead)" in line for line in removed)
    assert [why for why, each in kept.items() if not exists(engine, each)] == []


def test_a_pid_that_is_used_again_does_not_protect(
    backend: DockerBackend, engine: Engine, container: Make
) -> None:
    left = container({**labels("run", "old"), "rolewall.started": "1"})
    backend.clean()
    assert not exists(engine, left)


def test_removing_what_is_gone_is_no_error(engine: Engine, container: Make) -> None:
    each = container({"some": "label"})
    remove(engine, each)
    remove(engine, each)
    assert not exists(engine, each)
