"""How a box of bubblewrap begins and ends, where that is bubblewrap's own affair."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from rolewall.errors import BackendUnavailable, BoxError
from rolewall.sandbox.bubblewrap import BubblewrapBackend, find_bwrap
from rolewall.sandbox.bubblewrap import backend as module
from rolewall.sandbox.bubblewrap.backend import BubblewrapBox
from rolewall.sandbox.bubblewrap.find import bwrap_version
from rolewall.sandbox.channel import Channel
from rolewall.sandbox.protocol import BoxSpec

pytestmark = pytest.mark.bubblewrap

SPEC = BoxSpec(label="test", mounts=(), tap=False)


def started() -> tuple[BubblewrapBox, int]:
    box = BubblewrapBackend().launch(SPEC)
    pid = Channel(box.control).hello(30).pid
    box.admit(pid)
    return box, pid


def alive(pid: int) -> bool:
    """Whether it runs; nobody may have reaped it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_box_that_does_not_end_by_itself_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "END_SECONDS", 0.2)
    box, pid = started()
    os.kill(pid, signal.SIGSTOP)
    box.close()
    box.close()
    assert not alive(pid)
    assert not box._kit.path.exists()


def test_a_box_that_cannot_be_ended_keeps_its_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "END_SECONDS", 0.1)
    box, pid = started()
    os.kill(pid, signal.SIGSTOP)
    with monkeypatch.context() as powerless:
        powerless.setattr(BubblewrapBox, "_killed", lambda self: False)
        with pytest.raises(BoxError, match="did not end"):
            box.close()
    assert box._kit.path.exists()
    assert not box.identity.leased or box.identity._lock >= 0
    box.close()
    assert not alive(pid)
    assert box.identity._lock == -1
    assert not box._kit.path.exists()


def test_a_bubblewrap_that_cannot_be_started_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    find_bwrap()
    monkeypatch.setattr(module, "find_bwrap", lambda: tmp_path / "none")
    monkeypatch.setattr(module, "bwrap_version", lambda path: (0, 8, 0))
    with pytest.raises(BackendUnavailable, match="cannot be started"):
        BubblewrapBackend().launch(SPEC)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_version_is_asked_once(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho x >> {tmp_path}/asked\necho bubblewrap 1.2.3\n")
    assert bwrap_version(program) is None
    program.chmod(0o755)
    assert bwrap_version(program) == bwrap_version(program) == (1, 2, 3)
    assert (tmp_path / "asked").read_text() == "x\n"
