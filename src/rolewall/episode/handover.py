"""What passes between phases: handoffs are sealed, verdicts are read."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rolewall.episode.phase import Played
from rolewall.episode.setting import Setting
from rolewall.episode.zones import Zones
from rolewall.record import VerdictRecord
from rolewall.roles import (
    HANDOFF_ZONES,
    MAX_HANDOFF,
    MAX_VERDICT,
    SealedHandoff,
    claim_seen,
    complete_and_seal,
    read_handoff,
    read_verdict,
    runs_work,
    sealed_bytes,
)
from rolewall.rundir import write_atomic

__all__ = ["Handovers", "verdict_of"]


@dataclass
class Handovers:
    """Seals handoffs of one episode, each chained to the one before."""

    setting: Setting
    zones: Zones
    previous: str | None = None

    def seal(self, played: Played) -> SealedHandoff:
        """Complete and seal what the role left, and put it in place for the next one."""
        zone = HANDOFF_ZONES[played.role]
        data = self.zones.read(zone, "handoff.json", MAX_HANDOFF)
        sealed = complete_and_seal(
            read_handoff(data, f"{zone}/handoff.json"),
            author=played.role,
            phase=played.index,
            time=time.time(),
            previous=self.previous,
            evidence=played.acted.evidence,
            digests=_digests(played),
        )
        self.previous = sealed.seal.sha256
        body = sealed_bytes(sealed)
        self.zones.write(zone, "handoff.json", body)
        name = f"{played.index:02}-{played.role}.json"
        write_atomic(self.setting.directory / "handoffs" / name, body)
        return sealed


def _digests(played: Played) -> dict[tuple[str, str], str]:
    return {
        (zone, entry.name): entry.sha256
        for zone, manifest in played.after.items()
        for entry in manifest.entries
        if entry.sha256
    }


def verdict_of(played: Played, zones: Zones) -> VerdictRecord:
    """The verdict of a verifier's phase, with what its claims are worth."""
    parsed = read_verdict(zones.read("verdict", "verdict.json", MAX_VERDICT), played.nonce or "")
    ran = [*played.executions, *played.checked]
    seen_all = not played.summary.unrecorded
    return VerdictRecord(
        round=played.round,
        phase=played.index,
        verdict=parsed.verdict,
        why=parsed.why,
        isolated=not any(runs_work(argv) for argv in played.executions) and seen_all,
        checks=tuple(check.model_dump(mode="json") for check in parsed.checks),
        claims=tuple(
            {"command": claim, "seen": _seen(claim, ran, seen_all)} for claim in parsed.commands
        ),
    )


def _seen(claim: str, ran: list[tuple[str, ...]], seen_all: bool) -> str:
    words = claim.removeprefix("rolewall-check").strip().removeprefix("--").strip()
    if claim_seen(claim, ran) or claim_seen(words, ran):
        return "yes"
    return "no" if seen_all else "unknown"
