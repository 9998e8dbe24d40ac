"""Both ways to resolve a path agree with the kernel's own answer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from rolewall.policies import Effect
from rolewall.sandbox.tap.measure import measure
from rolewall.sandbox.tap.resolve import Root
from rolewall.sandbox.tap.task import TaskFacts, task_facts

PARTS = ("a", "..", "file", "up", "abs", "loop", "gone", "missing", ".", "dir")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a/dir").mkdir(parents=True)
    for place in (tmp_path, tmp_path / "a", tmp_path / "a/dir"):
        (place / "file").write_text("x")
        (place / "up").symlink_to("..")
        (place / "abs").symlink_to(tmp_path / "a")
        (place / "loop").symlink_to("loop")
        (place / "gone").symlink_to("nothing/there")
    return tmp_path


@pytest.fixture
def root() -> Iterator[Root]:
    root = Root(os.getpid())
    yield root
    root.close()


@pytest.mark.parametrize("tail", ["", "/"])
def test_paths_are_resolved_as_the_kernel_does(tree: Path, root: Root, tail: str) -> None:
    for parts in product(PARTS, repeat=3):
        path = f"{tree}/{'/'.join(parts)}{tail}"
        if "loop" in parts or not _kernel_accepts(path):
            continue
        wanted = os.fsencode(os.path.realpath(path))
        assert root.canonical(os.fsencode(path), True, os.getpid()) == wanted, path
        assert root._walk(os.fsencode(path), True, os.getpid()) == wanted, path


def _kernel_accepts(path: str) -> bool:
    # A file or a missing name on the way ends the call; where that path "is" matters to nobody.
    parent = os.path.dirname(path.rstrip("/"))
    return os.path.isdir(parent) and not (path.endswith("/") and os.path.isfile(path))


def test_a_last_link_is_kept_without_follow(tree: Path, root: Root) -> None:
    for path in (tree / "abs/up", tree / "abs/gone", tree / "loop"):
        found = root.canonical(os.fsencode(path), False, os.getpid())
        assert found == os.fsencode(path.parent.resolve() / path.name)


def test_a_loop_ends(tree: Path, root: Root) -> None:
    assert root.canonical(os.fsencode(tree / "loop/x"), True, os.getpid())


def test_descriptors_of_proc_lead_to_their_file(tree: Path, root: Root) -> None:
    me = os.getpid()
    with (tree / "file").open() as stream:
        for path in (
            f"/proc/self/fd/{stream.fileno()}",
            f"/dev/fd/{stream.fileno()}",
            f"/proc/thread-self/fd/{stream.fileno()}",
            f"/proc/{me}/fd/{stream.fileno()}",
        ):
            assert root.canonical(path.encode(), True, me) == os.fsencode(tree / "file")
            assert root.canonical(path.encode(), False, me) != os.fsencode(tree / "file")
    assert root.canonical(b"/proc/self/root/usr/../usr", True, me) == b"/usr"
    reader, writer = os.pipe()
    assert root.canonical(f"/proc/self/fd/{writer}".encode(), True, me) == b""
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(
    ("mode", "uid", "wanted"),
    [
        (0o644, 5, (Effect.WRITE, False)),
        (0o666, 5, (Effect.WRITE, True)),
        (0o666, 5, (Effect.MODE, False)),
        (0o600, 0, (Effect.MODE, True)),
        (0o644, 5, (Effect.TIMES, False)),
        (0o666, -1, (Effect.WRITE, None)),
    ],
)
def test_mode_bits(
    tree: Path, root: Root, mode: int, uid: int, wanted: tuple[Effect, bool | None]
) -> None:
    effect, permits = wanted
    path = tree / "file"
    path.chmod(mode)
    found = measure(root, os.fsencode(path), effect, TaskFacts(uid=uid))
    assert found.exists
    assert found.read_only is False
    assert found.permits is permits


def test_a_sticky_directory_keeps_entries(tree: Path, root: Root) -> None:
    other = TaskFacts(uid=5)
    path = os.fsencode(tree / "file")
    tree.chmod(0o777)
    assert measure(root, path, Effect.UNLINK, other).permits
    tree.chmod(0o1777)
    assert measure(root, path, Effect.UNLINK, other).permits is False
    assert measure(root, path + b"new", Effect.CREATE, other).permits


def test_facts_of_this_process() -> None:
    facts = task_facts(os.getpid())
    assert facts.uid == os.geteuid()
    assert facts.exe == os.path.realpath("/proc/self/exe")
    assert facts.pid > 0 and facts.comm
