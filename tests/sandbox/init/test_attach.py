"""Zones mounted into a running box, with the owners of the disk kept."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox.init import init_path

if TYPE_CHECKING:
    from conftest import InitBox

pytestmark = pytest.mark.bubblewrap

WAIT = 20.0
ROLE = 2046820352  # the role in a root box


def attach(*arguments: str, pass_fds: tuple[int, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [init_path(), "attach", *arguments],
        pass_fds=pass_fds,
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )


@dataclass
class Source:
    """A directory on disk that belongs to somebody, and a descriptor of it."""

    path: Path
    descriptor: int


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Callable[[str, int, int], Source]]:
    made: list[int] = []

    def make(name: str, uid: int, gid: int) -> Source:
        path = tmp_path / name
        path.mkdir(mode=0o700)
        (path / "file").write_text("content")
        for one in (path, path / "file"):
            os.chown(one, uid, gid)
        made.append(os.open(path, os.O_PATH | os.O_DIRECTORY))
        return Source(path, made[-1])

    yield make
    for descriptor in made:
        os.close(descriptor)


@pytest.mark.root
@pytest.mark.parametrize("owner", [(0, 0), (1000, 100), (ROLE, 7), (ROLE, ROLE), (4294967294, 1)])
def test_attached_zones_belong_to_the_role_and_stay_their_owners(
    root_box: InitBox, source: Callable[[str, int, int], Source], owner: tuple[int, int]
) -> None:
    ro, rw = source("ro", *owner), source("rw", *owner)
    words = [f"{ro.descriptor}:/ro:ro", f"{rw.descriptor}:/rw:rw"]
    own = root_box.own
    done = attach(
        "--pid", str(root_box.pid), "--own", own, *words, pass_fds=(ro.descriptor, rw.descriptor)
    )
    assert (done.returncode, done.stderr) == (0, "")
    script = "stat -c %u:%g /ro/file /rw/file; cat /ro/file; echo new >/rw/new; mkdir /rw/d"
    code, out, _ = root_box.run("sh", "-c", script)
    assert (code, out.decode().split()) == (0, [own, own, "content"])
    assert root_box.run("sh", "-c", "echo >/ro/new || touch /ro/file || chmod 700 /ro")[0] != 0
    for path in (rw.path / "new", rw.path / "d", rw.path / "file", ro.path / "file"):
        assert (path.stat().st_uid, path.stat().st_gid) == owner
    zones = root_box.probe("ro:ro", "rw:rw")["zones"]
    assert zones["ro"] == {
        "want": "ro",
        "exists": True,
        "mountpoint": True,
        "readonly": True,
        "nosuid": True,
        "nodev": True,
        "create": "EROFS",
        "touch": "EROFS",
    }
    assert zones["rw"]["create"] == "ok" and zones["rw"]["nosuid"] and zones["rw"]["nodev"]
    assert sorted(os.listdir(rw.path)) == ["d", "file", "new"]


@pytest.mark.root
def test_what_the_role_calls_root_stays_the_others(
    root_box: InitBox, source: Callable[[str, int, int], Source]
) -> None:
    rw = source("rw", 1000, 1000)
    (rw.path / "alien").write_text("")
    os.chown(rw.path / "alien", 4242, 4243)
    arguments = ("--own", root_box.own, f"{rw.descriptor}:/rw:rw")
    attach("--pid", str(root_box.pid), *arguments, pass_fds=(rw.descriptor,))
    assert root_box.run("stat", "-c", "%u:%g", "/rw/alien")[1] == b"4242:4243\n"


@pytest.mark.root
def test_a_plain_zone_keeps_its_owner_inside(
    root_box: InitBox, source: Callable[[str, int, int], Source]
) -> None:
    rw = source("rw", 1000, 100)
    rw.path.chmod(0o755)
    arguments = ("--plain", f"{rw.descriptor}:/rw:rw")
    assert attach("--pid", str(root_box.pid), *arguments, pass_fds=(rw.descriptor,)).stderr == ""
    assert root_box.run("stat", "-c", "%u:%g", "/rw/file")[1] == b"1000:100\n"
    assert root_box.run("sh", "-c", "echo >/rw/new")[0] != 0


@pytest.mark.root
def test_a_file_system_without_id_maps_is_named(root_box: InitBox) -> None:
    descriptor = os.open("/sys/kernel", os.O_PATH | os.O_DIRECTORY)
    arguments = ("--own", root_box.own, f"{descriptor}:/ro:ro")
    done = attach("--pid", str(root_box.pid), *arguments, pass_fds=(descriptor,))
    os.close(descriptor)
    assert (done.returncode, done.stderr) == (3, "rolewall-init: idmap not supported on sysfs\n")


@pytest.mark.pain(24)
@pytest.mark.root
def test_a_zone_is_never_mounted_through_a_link(
    root_box: InitBox, source: Callable[[str, int, int], Source]
) -> None:
    rw = source("rw", 0, 0)
    arguments = ("--own", root_box.own, f"{rw.descriptor}:/link:rw")
    done = attach("--pid", str(root_box.pid), *arguments, pass_fds=(rw.descriptor,))
    assert (done.returncode, "ELOOP" in done.stderr) == (1, True)
    assert not root_box.probe("rw:rw")["zones"]["rw"]["mountpoint"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--pid", "1"),
        ("--pid", "1", "--plain"),
        ("--pid", "x", "--plain", "3:/a:ro"),
        ("--pid", "0", "--plain", "3:/a:ro"),
        ("--pid", "1", "--own", "1", "3:/a:ro"),
        ("--pid", "1", "--plain", "3:a:ro"),
        ("--pid", "1", "--plain", "3:/:ro"),
        ("--pid", "1", "--plain", "3:/a/../b:ro"),
        ("--pid", "1", "--plain", "3:/..:ro"),
        ("--pid", "1", "--plain", "3:/a:RO"),
        ("--pid", "1", "--plain", "3:/a"),
        ("--pid", "1", "--plain", ":/a:ro"),
    ],
)
def test_attach_refuses_what_it_does_not_understand(arguments: tuple[str, ...]) -> None:
    done = attach(*arguments)
    assert (done.returncode, done.stderr.split()[0]) == (2, "usage:")
