"""Directories that a box is shown: read, and by no means written, on every backend."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rolewall.sandbox import Box, ZoneMount

Start = Callable[..., Box]
Zone = Callable[..., ZoneMount]

ATTACKS = (
    "echo x > DIR/bin/greet",
    "rm DIR/bin/greet",
    "touch DIR/new",
    "touch DIR/bin/greet",
    "chmod 777 DIR/bin",
    "mv DIR/bin DIR/b",
    "mkdir DIR/below",
    "ln DIR/bin/greet DIR/link",
)


@pytest.fixture
def installed() -> Iterator[Path]:
    """An install outside /home and /tmp; ``/srv`` is no part of any box."""
    with tempfile.TemporaryDirectory(dir="/srv", prefix="rolewall-test-") as name:
        Path(name).chmod(0o755)
        yield filled(Path(name))


def filled(place: Path) -> Path:
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "greet").write_text("#!/bin/sh\necho hello from $0\n")
    (place / "bin" / "greet").chmod(0o755)
    return place


def shell(box: Box, script: str) -> tuple[int, str]:
    done = box.run(["/bin/sh", "-c", script], timeout=60)
    return done.returncode, done.stdout.text()


@pytest.mark.root
def test_it_is_read_at_its_own_path_and_written_nowhere(
    start: Start, zone: Zone, installed: Path
) -> None:
    box = start(zone("workspace", writable=True), shown=(installed,))
    assert shell(box, "greet") == (0, f"hello from {installed}/bin/greet\n")
    for attack in ATTACKS:
        assert shell(box, attack.replace("DIR", str(installed)))[0] != 0, attack
        copy = f"rm -rf /workspace/d && cp -r {installed} /workspace/d"
        assert shell(box, f"{copy} && {attack.replace('DIR', '/workspace/d')}")[0] == 0, attack
    assert box.facts["shown"] == {str(installed): str(installed)}
    assert sorted(path.name for path in installed.rglob("*")) == ["bin", "greet"]


def test_what_lies_below_a_zones_name_is_elsewhere(
    start: Start, zone: Zone, tmp_path: Path
) -> None:
    install = filled(tmp_path / "install")
    box = start(zone("workspace", writable=True), shown=(install,))
    at = str(install) if install.parts[1] != "tmp" else "/rolewall/shown/1"
    assert shell(box, "greet") == (0, f"hello from {at}/bin/greet\n")
    for attack in ATTACKS:
        assert shell(box, attack.replace("DIR", at))[0] != 0, attack
    assert not list(tmp_path.glob("install/new"))


def test_a_box_that_is_shown_nothing_has_nothing_of_it(
    start: Start, zone: Zone, tmp_path: Path
) -> None:
    filled(tmp_path / "install")
    box = start(zone("workspace", writable=True))
    assert shell(box, "greet")[0] == 127
    assert shell(box, "ls /rolewall/shown")[0] != 0
    assert "shown" not in box.facts
