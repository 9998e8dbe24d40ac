"""What was asked for, and what was found, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rolewall.binding.arms import ARMS, Arm
from rolewall.binding.domains import DOMAINS
from rolewall.binding.losing import Rates
from rolewall.binding.scoring import Row, Scored
from rolewall.binding.state import Try, tries

__all__ = ["Experiment", "Found", "Plan"]


@dataclass(frozen=True)
class Plan:
    """What is asked for. ``episodes`` and ``twins`` are of each domain and arm; ``jobs`` are
    boxes at the same time."""

    arms: tuple[Arm, ...] = tuple(ARMS.values())
    domains: tuple[str, ...] = tuple(DOMAINS)
    episodes: int = 20
    twins: int = 5
    seed: int = 0
    rates: Rates = field(default_factory=Rates)
    jobs: int = 2

    def tries(self) -> list[Try]:
        return tries(self.domains, self.episodes, self.twins)


@dataclass(frozen=True)
class Experiment:
    """``executor`` is a scripted one's name, or the team's with its digest in ``team``."""

    plan: Plan
    executor: str
    backend: str
    team: str | None = None

    def json(self) -> dict[str, Any]:
        return {
            "executor": self.executor,
            "team": self.team,
            "backend": self.backend,
            "seed": self.plan.seed,
            "domains": list(self.plan.domains),
            "episodes_per_domain": self.plan.episodes,
            "twins_per_domain": self.plan.twins,
            "rates": self.plan.rates.json(),
        }


@dataclass(frozen=True)
class Found:
    """A finished experiment. ``seal`` is the digest of the last line of its file, which holds
    all lines before; None where nothing was written."""

    experiment: Experiment
    scored: Mapping[str, Sequence[Scored]]
    out: Path | None = None
    seal: str | None = None

    def rows(self) -> dict[str, Row]:
        """By arm, in the order of the tables."""
        return {name: Row.of(scored) for name, scored in self.scored.items()}

    @property
    def errors(self) -> int:
        """Episodes that the infrastructure failed."""
        return sum(row.errors for row in self.rows().values())

    def json(self) -> dict[str, Any]:
        return {
            **self.experiment.json(),
            "arms": [self._arm(arm) for arm in self.experiment.plan.arms],
            "seal": self.seal,
        }

    def _arm(self, arm: Arm) -> dict[str, Any]:
        return {
            "arm": arm.name,
            "kind": arm.kind,
            "hops": list(arm.hops),
            "restored": list(arm.restored),
            "control": arm.control,
            **Row.of(self.scored[arm.name]).json(),
            "domains": {one: self._domain(arm.name, one) for one in self.experiment.plan.domains},
        }

    def _domain(self, arm: str, domain: str) -> dict[str, Any]:
        row = Row.of([one for one in self.scored[arm] if one.one.domain == domain]).json()
        del row["artifact"]["hops"]
        return row
