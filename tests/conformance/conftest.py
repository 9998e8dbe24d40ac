"""Boxes of whichever backend, as ``open_box`` hands them out.

Where a backend truly cannot do what the contract says, its test bears
``@pytest.mark.deviates("backend", "reason")``: a strict expected failure for that
backend alone, so that one which learns to do it is noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rolewall.policies import Limits
from rolewall.sandbox import Backend, Box, BoxSpec, ZoneMount, open_box

SMALL = Limits(memory_mb=256, pids=32, cpus=1.0, disk_mb=8)

Start = Callable[..., Box]
Zone = Callable[..., ZoneMount]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("deviates"):
            name, reason = mark.args
            if name in item.nodeid.rpartition("[")[2].rstrip("]").split("-"):
                expected = pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)
                item.add_marker(expected)


@pytest.fixture
def start(backend: Backend) -> Iterator[Start]:
    """Open boxes without a tap, which the test's end closes."""
    with ExitStack() as boxes:

        def make(*mounts: ZoneMount, **more: Any) -> Box:
            asked = {"label": "test", "limits": SMALL, "tap": False, **more}
            return boxes.enter_context(open_box(backend, BoxSpec(mounts=mounts, **asked)))

        yield make


@pytest.fixture
def zone(tmp_path: Path) -> Zone:
    """Make a zone with a file in it."""

    def make(name: str, *, writable: bool) -> ZoneMount:
        source = tmp_path / name
        source.mkdir()
        (source / "file.txt").write_text("as it was\n")
        return ZoneMount(name, source, writable)

    return make
