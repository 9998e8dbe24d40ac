"""Boxes for the endpoint: the executor's role, a zone for each step, and the tap.

What an open condition forbids is a hold of the policy. Where the arm's endpoint is a hard
check the hold binds: the zone is mounted read-only. Elsewhere an attempt at it is recorded as
forbidden and let through.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolewall.binding.arms import Arm, hand_on
from rolewall.binding.losing import Rates
from rolewall.binding.scoring import Artifact, score_artifact
from rolewall.binding.state import Handed, Try, source
from rolewall.errors import StorageError, TapError
from rolewall.library import box_spec
from rolewall.policies import (
    HARNESS,
    Access,
    Attempt,
    Hold,
    Kind,
    Limits,
    Outcome,
    Policy,
    Zone,
    compile_mounts,
    hold,
    read_ledger,
)
from rolewall.sandbox import Backend, Box, Listen, WatchSpec, open_box, remove_tree, storage
from rolewall.watching import Supervisors

__all__ = ["EXECUTOR_ROLE", "Held", "Scene", "Stage", "Touched", "scene"]

EXECUTOR_ROLE = "executor"
_PRIVATE = ("tmp", "home")


@dataclass(frozen=True)
class Scene:
    """One episode of an arm, ready to be played. ``whole`` is the source state, ``hops`` what
    was handed on after each hop."""

    one: Try
    whole: Handed
    hops: tuple[Handed, ...]

    @property
    def zone(self) -> str:
        return self.whole.zone

    def artifacts(self) -> tuple[Artifact, ...]:
        return tuple(score_artifact(self.whole, hop.text()) for hop in self.hops)


def scene(one: Try, arm: Arm, zone: str, seed: int, rates: Rates) -> Scene:
    """The episode ``one`` of ``arm``, whose step writes to ``zone``."""
    whole = source(one, seed, zone)
    return Scene(one, whole, tuple(hand_on(whole, one, arm, seed, rates)))


@dataclass(frozen=True)
class Held:
    """What is held in a box: zones of steps with the condition's id. ``binding``: by the wall."""

    zones: Mapping[str, str]
    binding: bool

    @classmethod
    def by_conditions(cls, scenes: Sequence[Scene], *, binding: bool) -> Held:
        """What the open conditions forbid."""
        return cls({s.zone: s.one.key for s in scenes if not s.one.met}, binding)

    @classmethod
    def until_approved(cls, scenes: Sequence[Scene]) -> Held:
        """Everything, by the wall."""
        return cls({s.zone: f"approval-{s.one.key}" for s in scenes}, binding=True)


@dataclass(frozen=True, slots=True)
class Touched:
    """What became of one zone: forbidden system calls, those that were blocked, and whether
    there is anything in it now."""

    tries: int
    blocked: int
    filled: bool


class Stage:
    """Opens boxes, and looks at zones and ledgers after them. Safe for threads.

    Args:
        ledgers: a directory for the ledger of each box.
        scratch: one for zones, which whoever made it removes: a worker that is asked to stop
            does not stay to do so.
    """

    def __init__(
        self, backend: Backend, supervisors: Supervisors, ledgers: Path, scratch: Path
    ) -> None:
        self._backend = backend
        self._supervisors = supervisors
        self._ledgers = ledgers
        self._scratch = scratch

    @contextmanager
    def zones(self, name: str, zones: Sequence[str]) -> Iterator[dict[str, Path]]:
        """An empty directory for each of ``zones``, gone after the block."""
        root = self._scratch / name
        found = {zone: root / zone for zone in zones}
        with storage(root):
            root.mkdir()
            for path in found.values():
                path.mkdir()
                path.chmod(0o755)
        yield found
        remove_tree(root)

    @contextmanager
    def box(
        self,
        name: str,
        sources: Mapping[str, Path],
        held: Held,
        *,
        read: tuple[str, ...] = (),
        files: Mapping[str, bytes],
        programs: Mapping[str, bytes],
        listen: tuple[Listen, ...] = (),
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Iterator[Box]:
        """The executor's box over ``sources``, of which it owns all but ``read``. When the
        block has ended, nothing of the role is left and its ledger is whole."""
        compiled = compile_mounts(_policy(tuple(sources), read, held, limits), EXECUTOR_ROLE)
        spec = box_spec(compiled, sources, files=files, programs=programs, listen=listen, env=env)
        watch = WatchSpec(EXECUTOR_ROLE, 0, compiled.view(), self.ledger(name))
        supervisor = self._supervisors.one()
        with open_box(self._backend, spec, tap=supervisor, watch=watch) as box:
            yield box
            box.kill_all()
            summary = box.finish()
        if summary is None:
            raise TapError("the box of a role has no tap", got=name)

    def ledger(self, name: str) -> Path:
        return self._ledgers / f"{name}.jsonl"

    def touched(self, name: str, zones: Mapping[str, Path]) -> dict[str, Touched]:
        """What became of ``zones`` in the box ``name``, which is closed."""
        tries: Counter[str] = Counter()
        blocked: Counter[str] = Counter()
        for line in read_ledger(self.ledger(name)):
            if line["type"] != "attempt":
                continue
            attempt = Attempt.from_line(line)
            if attempt.kind is Kind.FORBIDDEN:
                tries[attempt.zone] += 1
                blocked[attempt.zone] += attempt.outcome is Outcome.BLOCKED
        return {
            zone: Touched(tries[zone], blocked[zone], _filled(path)) for zone, path in zones.items()
        }


def _policy(
    zones: tuple[str, ...], read: tuple[str, ...], held: Held, limits: Limits | None
) -> Policy:
    access = {zone: Access.READ if zone in read else Access.WRITE for zone in zones}
    owners = {zone: HARNESS if zone in read else EXECUTOR_ROLE for zone in zones}
    policy = Policy(
        name="binding",
        roles=(EXECUTOR_ROLE,),
        zones=(
            *(Zone(zone, owner) for zone, owner in owners.items()),
            *(Zone(zone, HARNESS, private=True) for zone in _PRIVATE),
        ),
        access={EXECUTOR_ROLE: access | dict.fromkeys(_PRIVATE, Access.WRITE)},
        limits=limits or Limits(),
    )
    holds = [Hold("write", zone, condition) for zone, condition in held.zones.items()]
    return hold(policy, holds, binding=held.binding)


def _filled(path: Path) -> bool:
    """Whether there is anything. What cannot be looked into has been changed."""
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except PermissionError:
        return True
    except OSError as error:
        raise StorageError(f"a zone is gone: {error.strerror}", place=str(path)) from error
