"""The attacker under ``rolewall exec``, and its twins outside any box."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.attacks import make_tree
from rolewall.attacks.payload import load
from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import User

TRIED = load()
MODULES = [f"--module={name}" for name in ("contents", "magic", "metadata", "names", "routes")]


@pytest.fixture
def kit(root: User) -> Path:
    """The attacker's program, as a zone."""
    tree = root.directory("tree")
    team, _ = make_tree(tree)
    return team.parent


@pytest.mark.root
@pytest.mark.parametrize("access", ["read", "write"])
def test_one_command_as_a_role(root: User, backend: Backend, kit: Path, access: str) -> None:
    """The same attacker under ``rolewall exec``, over a directory that is looked at directly."""
    zone, ledger = root.directory("zone"), root.home / "attempts.jsonl"
    prepared = root.python(kit / "attack.py", "prepare", "--zone", zone, *MODULES)
    assert prepared.code == 0, prepared.err
    for fifo in zone.rglob("fifo"):
        fifo.unlink()  # no zone may hold one
    before = _snapshot(zone)
    done = root.cli(
        "exec", "--role", "verifier", "--backend", backend.name, "--attempts", ledger,
        "--zone", f"workspace={zone}:{access}", "--zone", f"kit={kit}:read", "--",
        "python3", "-B", "/kit/attack.py", "attack", *MODULES,
    )  # fmt: skip
    assert done.code == 0, done.err
    told = {line["id"]: line for line in map(json.loads, done.out.splitlines())}
    changed = {path.split("/")[0] for path, state in _snapshot(zone).items()
               if before.get(path) != state}  # fmt: skip
    if access == "read":
        assert changed == set()
        assert {name for name, line in told.items() if line["end"] == "returned"} == set()
    else:
        assert len(changed) >= 100
    outcome = "blocked" if access == "read" else "allowed"
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    seen = {a["comm"] for a in lines if a.get("kind") == "edit" and a["outcome"] == outcome}
    zones = {a.id for a in TRIED if a.id in told and a.twin == "zone"} - {"unlink-fifo"}
    assert len(zones) >= 120 and {n for n in zones - seen if told[n]["end"] != "skipped"} == set()


def _snapshot(zone: Path) -> dict[str, tuple[object, ...]]:
    """Path, kind, mode, time and size of everything below."""
    found = {}
    for path in (zone / "t").rglob("*"):
        seen = path.lstat()
        name = str(path.relative_to(zone / "t"))
        found[name] = (seen.st_mode, seen.st_mtime_ns, seen.st_size, seen.st_nlink)
    return found


@pytest.mark.root
def test_the_twins_that_are_made_outside_any_box(root: User, kit: Path) -> None:
    """As root and in throw-away namespaces, these calls succeed: only the wall refuses them."""
    own = root.directory("own")
    command = ("import os, sys; os.execvp('unshare', ['unshare', '-mpfinuC', '--mount-proc',"
               " sys.executable, *sys.argv[1:]])")  # fmt: skip
    told = {}
    for role in ("verifier", "executor"):
        done = root.python("-c", command, kit / "attack.py", "bare", "--role", role, "--own", own)
        assert done.code == 0, done.err
        told |= {line["id"]: line for line in map(json.loads, done.out.splitlines())}
    assert set(told) == {attempt.id for attempt in TRIED if attempt.twin == "bare"}
    refused = [line for line in told.values() if line["end"] not in ("returned", "skipped")]
    assert refused == []
    assert sum(line["end"] == "returned" for line in told.values()) >= len(told) // 2
