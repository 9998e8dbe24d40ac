"""What is refused before the engine is asked for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rolewall.errors import InputError
from rolewall.policies import Limits
from rolewall.sandbox.docker.container import Plan, configuration
from rolewall.sandbox.docker.image import Image
from rolewall.sandbox.docker.profile import Profile
from rolewall.sandbox.kit import Kit
from rolewall.sandbox.protocol import BoxSpec, ZoneMount
from rolewall.sandbox.uids import Identity

Make = Callable[[BoxSpec], Plan]


@pytest.fixture
def plan() -> Iterator[Make]:
    kits: list[Kit] = []

    def make(spec: BoxSpec) -> Plan:
        identity = Identity(5001, 5002, 6001, 6002)
        kits.append(Kit.make(spec, identity))
        return Plan(
            spec=spec,
            image=Image("host", "sha256:0"),
            identity=identity,
            kit=kits[-1],
            profile=Profile("engine default", None),
            run="run",
            attach=False,
            cores=2,
        )

    yield make
    for kit in kits:
        kit.close()


def test_zones_are_bound_as_their_access_says(plan: Make, zones: Callable[[str], Path]) -> None:
    read, write = zones("read"), zones("write")
    mounts = (ZoneMount("brief", read, False), ZoneMount("workspace", write, True))
    found = configuration(plan(BoxSpec(label="test", mounts=mounts)))["HostConfig"]["Mounts"]
    access = {m["Target"]: m["ReadOnly"] for m in found}
    assert access.pop("/workspace") is False
    assert set(access.values()) == {True}
    assert all(m["BindOptions"]["NonRecursive"] for m in found)


def test_zones_to_be_attached_leave_placeholders_that_cannot_be_written(
    plan: Make, zones: Callable[[str], Path]
) -> None:
    spec = BoxSpec(label="test", mounts=(ZoneMount("workspace", zones("w"), True),))
    host = configuration(replace(plan(spec), attach=True))["HostConfig"]
    assert "/workspace" not in {m["Target"] for m in host["Mounts"]}
    assert host["Tmpfs"]["/workspace"].startswith("ro,")


def test_init_is_told_both_users(plan: Make) -> None:
    entry = configuration(plan(BoxSpec(label="test", mounts=())))["Entrypoint"]
    assert entry[:2] == ["/rolewall/init", "serve"]
    assert entry[-4:] == ["--role", "5001:5002", "--self", "6001:6002"]


def link(path: Path) -> Path:
    (path / "target").mkdir()
    (path / "link").symlink_to("target")
    return path / "link"


def file(path: Path) -> Path:
    (path / "file").write_text("")
    return path / "file"


@pytest.mark.parametrize("source", [lambda p: p / "none", link, file, lambda p: Path("relative")])
def test_a_source_that_is_no_directory_is_refused_and_not_made(
    plan: Make, tmp_path: Path, source: Callable[[Path], Path]
) -> None:
    spec = BoxSpec(label="test", mounts=(ZoneMount("workspace", source(tmp_path), True),))
    with pytest.raises(InputError, match="zone workspace"):
        configuration(plan(spec))
    assert not (tmp_path / "none").exists()


def test_a_mount_of_the_box_in_a_zone_is_refused(plan: Make, zones: Callable[[str], Path]) -> None:
    spec = BoxSpec(label="test", mounts=(ZoneMount("usr", zones("usr"), True),))
    with pytest.raises(InputError, match="would lie in the zone usr"):
        configuration(plan(spec))


def test_a_private_zone_leaves_memory_to_run_in() -> None:
    spec = BoxSpec(label="test", mounts=(), limits=Limits(memory_mb=400, disk_mb=1024))
    assert spec.private_mb == 100
    assert replace(spec, limits=Limits(memory_mb=400, disk_mb=50)).private_mb == 50


def test_no_more_cores_are_asked_for_than_there_are(plan: Make) -> None:
    many = BoxSpec(label="test", mounts=(), limits=Limits(cpus=64))
    few = BoxSpec(label="test", mounts=(), limits=Limits(cpus=0.5))
    assert configuration(plan(many))["HostConfig"]["NanoCpus"] == 2_000_000_000
    assert configuration(plan(few))["HostConfig"]["NanoCpus"] == 500_000_000
