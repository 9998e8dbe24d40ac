from __future__ import annotations

import os
from pathlib import Path

from rolewall.sandbox.difference import Difference, diff
from rolewall.sandbox.manifest import Manifest
from rolewall.sandbox.snapshot import take


def changes(before: Manifest, zone: Path) -> dict[str, Difference]:
    return {d.name: d for d in diff(before, take(zone))}


def populate(zone: Path) -> Manifest:
    for name in ("content", "mode", "time", "gone", "type", "attr"):
        (zone / name).write_text("x")
        os.utime(zone / name, ns=(1, 1))
    (zone / "link").symlink_to("a")
    (zone / "dir").mkdir()
    (zone / "dir" / "same").write_text("x")
    os.utime(zone / "dir", ns=(1, 1))
    return take(zone)


def test_nothing_changed_is_no_difference(zone: Path) -> None:
    assert diff(populate(zone), take(zone)) == []


def test_each_property_is_named(zone: Path) -> None:
    before = populate(zone)
    (zone / "content").write_text("y")
    os.utime(zone / "content", ns=(1, 1))
    (zone / "mode").chmod(0o400)
    os.utime(zone / "time", ns=(2, 2))
    (zone / "gone").unlink()
    (zone / "type").unlink()
    (zone / "type").mkdir()
    (zone / "link").unlink()
    (zone / "link").symlink_to("b")
    os.setxattr(zone / "attr", "user.x", b"1")
    (zone / "dir" / "new").write_text("x")
    got = changes(before, zone)
    assert got["content"].what == ("content",)
    assert got["mode"].what == ("mode",)
    assert got["time"].what == ("mtime",)
    assert got["gone"].change == "deleted"
    assert "type" in got["type"].what
    assert "target" in got["link"].what
    assert got["attr"].what == ("xattrs",)
    assert got["dir/new"].change == "created"
    assert (got["dir"].what, got["dir"].derived) == (("mtime",), True)
    assert got["."].derived


def test_touching_a_directory_is_not_derived(zone: Path) -> None:
    before = populate(zone)
    os.utime(zone / "dir")
    got = changes(before, zone)
    assert list(got) == ["dir"]
    assert not got["dir"].derived


def test_a_second_name_is_seen(zone: Path) -> None:
    before = populate(zone)
    os.link(zone / "content", zone / "dir" / "name")
    assert changes(before, zone)["content"].what == ("links",)


def test_changes_in_git_are_seen(zone: Path) -> None:
    (zone / ".git").mkdir()
    before = populate(zone)
    (zone / ".git" / "config").write_text("[core]\n")
    assert changes(before, zone)[".git/config"].change == "created"
