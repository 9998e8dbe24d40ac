"""The harness's side of the tap, on a machine that is short of something or full of it."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import TapError
from rolewall.policies import View
from rolewall.sandbox.tap import Supervisor, WatchSpec


@pytest.fixture
def files() -> Iterator[tuple[int, int]]:
    """The limits on open files, put back at the end."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield limits
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.bubblewrap
def test_a_harness_with_many_open_files_can_watch(
    open_box: Callable[..., Any], files: tuple[int, int]
) -> None:
    most = files[1]
    if most != resource.RLIM_INFINITY and most < 1100:
        pytest.skip("no descriptor above 1023 can be had here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1100, most))
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1024)]
    try:
        box = open_box(writable=True)
        assert box.watch.fileno() > 1023
        assert box.run("touch", "/workspace/app.py")[0] == 0
        assert not box.watch.poll()
        summary, _ = box.finish()
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert summary.count("edit", "allowed") >= 1


def test_a_supervisor_that_cannot_be_started_is_an_error(files: tuple[int, int]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for room in range(8):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before - 1 + room, files[1]))
        with pytest.raises(TapError, match="supervisor"):
            Supervisor()
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
        assert len(os.listdir("/proc/self/fd")) == before
        if room == 3:
            break
    Supervisor().close()


def test_a_watch_that_cannot_be_made_closes_its_listener(
    tap: Supervisor, files: tuple[int, int], tmp_path: Path
) -> None:
    listener = os.open("/dev/null", os.O_RDONLY)
    spec = WatchSpec("verifier", 1, View("verifier", ()), tmp_path / "audit.jsonl")
    used = len(os.listdir("/proc/self/fd")) - 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, files[1]))
    with pytest.raises(TapError, match="no way to the supervisor"):
        tap.watch(listener, spec)
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(listener)
