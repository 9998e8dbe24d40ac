"""Whether the roles of one episode kept to their contracts, told by what changed.

Manifests decide, in every condition: what one role produces is that role's alone, and
what is used further is what an approving verdict covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rolewall.episode.played import Played
from rolewall.policies import HARNESS, Policy, is_cache, shorten
from rolewall.record import Breach, ContractRecord
from rolewall.roles import BREACHES, BreachKind, Team, contract_of
from rolewall.sandbox import Manifest

__all__ = ["Contracts", "contracts_in"]


def contracts_in(policy: Policy, team: Team) -> dict[str, ContractRecord]:
    """Every role's contract, as a record holds it."""
    found = {
        role: contract_of(policy, role, (tool.name for tool in team.tools_of(role)))
        for role in policy.roles
    }
    return {
        role: ContractRecord(
            consumes=tuple(map(str, one.consumes)),
            produces=tuple(map(str, one.produces)),
            may=one.may,
            done=one.done,
        )
        for role, one in found.items()
    }


class Contracts:
    """Finds breaches, phase by phase.

    Attributes:
        breaches: all so far.
    """

    def __init__(self, owners: Mapping[str, str]) -> None:
        self.breaches: list[Breach] = []
        self._owners = owners
        self._executing = False
        self._handed = ""
        self._covered: set[str] = set()
        self._further = [
            zone
            for zone, owner in owners.items()
            if owner == "executor" and zone not in ("workspace", "report")
        ]
        self._judged: dict[str, str] = {}

    def played(self, played: Played) -> list[Breach]:
        """What a phase that is over broke."""
        if played.place.role == "executor":
            self._executing = True
            self._handed = _state(played.after["workspace"])
        found = list(self._broken(played))
        self.breaches += found
        return found

    def approved(self, played: Played) -> None:
        """A verdict, given in ``played``, covers what the executor handed in last: of the
        team's own zones those that the verifier could read."""
        self._covered.add(self._handed)
        self._judged = {
            zone: _state(played.before[zone])
            for zone in self._further
            if not played.held.closed(zone)
        }

    def unjudged(self, zones: Mapping[str, Manifest]) -> list[str]:
        """The team's own zones of the executor that are not as the last approval covers them."""
        return [one for one in self._further if self._judged.get(one) != _state(zones[one])]

    def given(self, role: str, phase: int, workspace: Manifest) -> list[Breach]:
        """What is wrong with giving ``workspace`` to ``role`` as approved work."""
        if _state(workspace) in self._covered:
            return []
        found = [_breach("uncovered-result", phase, role, "workspace")]
        self.breaches += found
        return found

    def _broken(self, played: Played) -> Iterator[Breach]:
        role, phase = played.place.role, played.place.index
        changed = played.changes.landed
        for zone, owner in self._owners.items():
            if zone in changed and owner != HARNESS:
                why = f"of {owner}: {changed[zone]}"
                yield _breach("merged-identity", phase, role, zone, why)
        if "plan" in changed and self._executing:
            yield _breach("plan-changed", phase, role, "plan", changed["plan"])
        if role == "verifier" and "workspace" in changed:
            yield _breach("author-touched-work", phase, role, "workspace", changed["workspace"])


def _breach(kind: BreachKind, phase: int, role: str, zone: str, what: str = "") -> Breach:
    words = BREACHES[kind]
    why = f"{words} ({shorten(what)})" if what else words
    return Breach(kind=kind, phase=phase, role=role, zone=zone, why=why)


def _state(workspace: Manifest) -> str:
    """What a verdict covers; caches come and go."""
    return workspace.without(is_cache).content_digest
