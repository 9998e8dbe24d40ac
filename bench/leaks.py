"""What harnesses that are gone left on this machine, looked for from outside.

Kits, control groups and temporary directories bear their harness in their name,
containers in their labels, and processes are known by the kit in their mount table or
by a mark in their environment.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rolewall.sandbox.owner import Owner, pid_namespace, start_ticks

__all__ = ["KINDS", "MARK", "Search", "owner_of", "settled"]

KINDS = (
    "containers",
    "processes",
    "mounts",
    "network namespaces",
    "control groups",
    "kits and directories",
    "locks and leased users",
)
MARK = "ROLEWALL_CHAOS"
GROUPS = Path("/sys/fs/cgroup")
HIERARCHIES = ("", "memory", "pids", "cpu")
ENGINE_SECONDS = 60.0


def owner_of(pid: int) -> Owner:
    """The mark that a harness puts on what it makes; it must still run, or be a zombie."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return Owner(pid_namespace(), pid, start_ticks(pid) or int(fields[19]))


@dataclass(frozen=True)
class Search:
    """Where to look.

    Attributes:
        places: directories where kits and temporary directories are made.
        mark: the value of ``MARK`` in the harnesses' environment.
        docker: whether to ask an engine, the one that ``DOCKER_HOST`` names.
    """

    places: tuple[Path, ...]
    mark: str
    docker: bool = True
    env: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def left_by(self, owners: Collection[Owner]) -> dict[str, list[str]]:
        """What there is of ``owners``, by kind; nothing left is an empty list for each."""
        names = [_prefix(owner) for owner in owners]
        processes = list(self._processes(names))
        own = os.readlink("/proc/self/ns/net")
        return {
            "containers": self._containers(owners),
            "processes": [f"{pid}: {_command(pid)}" for pid in processes],
            "mounts": _mentioning(Path("/proc/self/mountinfo"), [*names, *self._own_places()]),
            "network namespaces": sorted(set(_networks(processes)) - {own}),
            "control groups": [
                str(path)
                for name in HIERARCHIES
                for path in _named(GROUPS / name / "rolewall", names)
            ],
            "kits and directories": [
                str(path) for place in self.places for path in _named(place, names)
            ],
            "locks and leased users": _locks({owner.pid for owner in owners}),
        }

    def _own_places(self) -> list[str]:
        return [str(place) for place in self.places if self.mark in str(place)]

    def _processes(self, names: list[str]) -> Iterator[int]:
        mark = f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with suppress(OSError):
                marked = mark in (entry / "environ").read_bytes().split(b"\0")
                if marked or _mentioning(entry / "mountinfo", names):
                    yield int(entry.name)

    def _containers(self, owners: Collection[Owner]) -> list[str]:
        if not self.docker:
            return []
        wanted = {str(owner.pid) for owner in owners}
        words = ["docker", "ps", "-a", "--no-trunc", "--filter", "label=rolewall.pid",
                 "--format", '{{.Label "rolewall.pid"}} {{.ID}} {{.Status}}']  # fmt: skip
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=ENGINE_SECONDS, check=True, env=self.env
        )
        return [line for line in done.stdout.splitlines() if line.split()[0] in wanted]


def settled(search: Search, owners: Collection[Owner], seconds: float) -> dict[str, list[str]]:
    """What is left once it changes no more for the better, at most ``seconds`` from now:
    the kernel and the engine finish removals after they have answered."""
    until = time.monotonic() + seconds
    while True:
        left = search.left_by(owners)
        if not any(left.values()) or time.monotonic() > until:
            return left
        time.sleep(0.1)


def _prefix(owner: Owner) -> str:
    return f"rolewall-{owner.namespace}-{owner.pid}-{owner.started}-"


def _named(place: Path, names: list[str]) -> list[Path]:
    try:
        return [path for path in place.iterdir() if path.name.startswith(tuple(names))]
    except FileNotFoundError:
        return []


def _mentioning(file: Path, words: list[str]) -> list[str]:
    text = file.read_text("utf-8", "replace")
    if not any(word in text for word in words):
        return []
    return [line for line in text.splitlines() if any(word in line for word in words)]


def _networks(processes: list[int]) -> Iterator[str]:
    for pid in processes:
        with suppress(OSError):
            yield os.readlink(f"/proc/{pid}/ns/net")


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
    except OSError:
        return "ended"


def _locks(pids: set[int]) -> list[str]:
    lines = Path("/proc/locks").read_text("ascii").splitlines()
    return [line for line in lines if line.split()[-4].isdigit() and int(line.split()[-4]) in pids]
