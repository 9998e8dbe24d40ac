"""What is concluded when zones cannot be mounted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolewall.errors import BoxError
from rolewall.sandbox import ZoneMount, machine_refused
from rolewall.sandbox.attach import attach_zones
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
