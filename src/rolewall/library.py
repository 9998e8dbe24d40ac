"""One role's sandbox, for orchestrators that are not ours.

``open_sandbox`` gives a role its zones behind the wall; commands run in it one
at a time, and every attempt to cross the wall can be read while it runs and
afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self, get_args

from rolewall.errors import InputError, StorageError
from rolewall.policies import (
    Attempt,
    Compiled,
    Observe,
    Policy,
    compile_mounts,
    read_ledger,
    verify_ledger,
)
from rolewall.sandbox import (
    WORKSPACE,
    Backend,
    Box,
    BoxSpec,
    Completed,
    Listen,
    Streams,
    Supervisor,
    WatchSpec,
    WatchSummary,
    ZoneMount,
    check_shown,
    check_sources,
    find_backend,
    open_box,
    temporary_directory,
)

__all__ = ["Sandbox", "box_spec", "open_sandbox"]


def box_spec(
    compiled: Compiled,
    sources: Mapping[str, Path],
    *,
    image: str = "host",
    label: str | None = None,
    files: Mapping[str, bytes] | None = None,
    programs: Mapping[str, bytes] | None = None,
    listen: tuple[Listen, ...] = (),
    env: Mapping[str, str] | None = None,
    workdir: str = WORKSPACE,
    shown: Sequence[Path] = (),
) -> BoxSpec:
    """The box that ``compiled`` describes, over the directories in ``sources``.

    Raises:
        InputError: a zone that the role may see has no directory, or a
            directory is given for none of its zones.
    """
    mounts = []
    for mount in compiled.mounts:
        if mount.zone not in sources:
            raise InputError("a zone has no directory", place=f"zone {mount.zone}")
        mounts.append(ZoneMount(mount.zone, Path(sources[mount.zone]), mount.writable))
    return BoxSpec(
        label=label or compiled.role,
        mounts=tuple(mounts),
        absent=tuple(hidden.zone for hidden in compiled.hidden),
        private=compiled.private,
        files=dict(files or {}),
        programs=dict(programs or {}),
        image=image,
        listen=listen,
        limits=compiled.limits,
        allow=compiled.network,
        env=dict(env or {}),
        workdir=workdir,
        shown=tuple(shown),
    )


class Sandbox:
    """One role behind its wall. Made by ``open_sandbox``; a context manager.

    Attributes:
        ledger: path of the hash-chained record of attempts.
        facts: what was put in force and how: backend, users, limits, probe.
    """

    def __init__(self, box: Box, ledger: Path, before: int, stack: ExitStack) -> None:
        self.ledger = ledger
        self.facts = box.facts
        self._box = box
        self._before = before  # lines of the ledger that other sandboxes wrote
        self._stack = stack

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | int = b"",
        timeout: float | None = None,
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
    ) -> Completed:
        """Run one command as the role and wait for it; see ``Completed``.

        ``stdout`` and ``stderr`` get the output as it comes, besides what the
        result keeps. A command that fails, or does not exist, is no error here:
        its return code says so.

        Raises:
            InputError: a word of the command or its environment holds a NUL byte.
            BoxError: the sandbox broke, or has been finished or closed.
            TapError: attempts can no longer be observed.
            OSError: ``stdout`` or ``stderr`` did not take the output.
        """
        streams = Streams(stdout, stderr, limit=1 << 62)
        return self._box.run(argv, cwd=cwd, env=env, stdin=stdin, timeout=timeout, streams=streams)

    def kill_all(self) -> int:
        """Kill every process of the role, daemons too, and see that none is left."""
        return self._box.kill_all()

    def attempts(self) -> Iterator[Attempt]:
        """Attempts so far in this sandbox, oldest first; the role's own work is counted,
        not listed.

        Raises:
            RecordError: the ledger is not what was written.
        """
        for line in read_ledger(self.ledger):
            if line["type"] == "attempt" and line["seq"] > self._before:
                yield Attempt.from_line(line)

    def finish(self) -> WatchSummary:
        """Kill what is left, end observation, and sum it up. No command runs after this.

        Raises:
            InputError: the sandbox has been finished already.
            TapError: the attempts could not all be observed.
        """
        self._box.kill_all()
        summary = self._box.finish()
        if summary is None:
            raise InputError("the sandbox has been finished already")
        return summary

    def close(self) -> None:
        """End everything and remove the box. Safe to call twice."""
        self._stack.close()


def open_sandbox(
    policy: Policy,
    role: str,
    zones: Mapping[str, Path],
    *,
    backend: str | Backend = "auto",
    image: str = "host",
    attempts: Path | None = None,
    env: Mapping[str, str] | None = None,
    observe: Observe = "changes",
    shown: Sequence[Path] = (),
) -> Sandbox:
    """Put ``role`` behind the wall that ``policy`` describes.

    Args:
        zones: a directory for each zone that the role may see. They may not
            contain one another, share an inode or hold a mount.
        backend: ``auto``, ``docker``, ``bubblewrap``, or a backend object.
        attempts: where the ledger is written; one that exists is verified and
            continued. None for a temporary file that is gone after ``close``.
        env: environment variables of every command, besides what a box sets.
        observe: ``reads`` records peeks as well, opens for reading of zones that are
            hidden from the role, and counts its other opens for reading.
        shown: further directories that the role may read, each at its own path and with its
            programs on the search path: where an agent is installed. They may not hold
            zones, keys or parts of the system.

    Raises:
        InputError: the policy, role or a zone is not acceptable (exit code 2).
        InfrastructureError: the wall could not be put up, or the probe found it
            not to hold (exit code 3). Nothing of the role has run.
    """
    compiled = compile_mounts(policy, role)
    sources = {name: Path(path).absolute() for name, path in zones.items()}
    unknown = set(sources) - {mount.zone for mount in compiled.mounts}
    if unknown:
        raise InputError(f"a directory for a zone that {role} has not", got=sorted(unknown))
    check_sources(sources)
    readable = check_shown(shown, {f"the zone {name}": path for name, path in sources.items()})
    if observe not in get_args(Observe):
        known = " or ".join(get_args(Observe))
        raise InputError("not what can be observed", place="observe", got=observe, expected=known)
    ready = find_backend(backend) if isinstance(backend, str) else backend
    with ExitStack() as stack:
        ledger = _ledger(attempts, sources, stack)
        before = verify_ledger(ledger).lines if ledger.exists() else 0
        supervisor = stack.enter_context(Supervisor())
        watch = WatchSpec(role, 0, compiled.view(), ledger, reads=observe == "reads")
        spec = box_spec(compiled, sources, image=image, env=env, shown=readable)
        box = stack.enter_context(open_box(ready, spec, tap=supervisor, watch=watch))
        return Sandbox(box, ledger, before, stack.pop_all())


def _ledger(path: Path | None, zones: Mapping[str, Path], stack: ExitStack) -> Path:
    if path is None:
        return stack.enter_context(temporary_directory()) / "attempts.jsonl"
    absolute = Path(os.path.realpath(path))
    for name, zone in zones.items():
        if absolute.is_relative_to(os.path.realpath(zone)):
            raise InputError(f"the record of attempts may not lie in zone {name}", place=str(path))
    if not absolute.parent.is_dir():
        raise StorageError("no such directory", place=str(absolute.parent))
    return absolute
