"""What is concluded when zones cannot be mounted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import rolewall.sandbox.init
from rolewall.errors import BoxError, InputError
from rolewall.sandbox import BoxSpec, ZoneMount, machine_refused
from rolewall.sandbox.attach import MOST_ZONES, attach_zones, check_count
from rolewall.sandbox.uids import Identity


@pytest.mark.parametrize(("name", "machine"), [("EMFILE", True), ("ENFILE", True),
                                               ("EINVAL", False), ("nonsense", False)])  # fmt: skip
def test_a_machine_that_is_out_of_something_is_told_from_work_that_breaks_a_box(
    name: str, machine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else work would be said to break its grader where nobody could have opened a file."""
    program = tmp_path / "init"
    program.write_text(
        f"#!/bin/sh\necho rolewall-init: attach /brief: move_mount: {name} >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr("rolewall.sandbox.attach.init_path", lambda: program)
    zone = tmp_path / "brief"
    zone.mkdir()
    user = Identity(os.getuid(), os.getgid(), os.getuid(), os.getgid())
    with pytest.raises(BoxError) as caught:
        attach_zones(os.getpid(), user, [ZoneMount("brief", zone, writable=False)])
    assert name in str(caught.value)
    assert machine_refused(caught.value) is machine


def test_more_zones_than_are_mounted_are_refused_by_their_number(tmp_path: Path) -> None:
    source = Path(rolewall.sandbox.init.__file__).with_name("attach.c").read_text()
    assert f"ZONES_MAX = {MOST_ZONES}" in source
    zones = [ZoneMount(f"z{number}", tmp_path, writable=False) for number in range(MOST_ZONES)]
    check_count(BoxSpec("executor", tuple(zones)))
    one_more = ZoneMount("workspace", tmp_path, writable=True)
    with pytest.raises(InputError, match=r"executor: more zones .* got '65'; expected at most 64"):
        check_count(BoxSpec("executor", (*zones, one_more)))
    second_place = (*zones[1:], one_more)
    with pytest.raises(InputError, match="at most 64"):
        check_count(BoxSpec("executor", second_place, workdir="/app"))
    check_count(BoxSpec("executor", second_place))
