"""Measures as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rolewall.graders import Rate
from rolewall.measures.effort import Share
from rolewall.measures.measure import EpisodeMeasures, Measured, rates_of
from rolewall.terminal import Sheet

__all__ = ["measures_json", "measures_sheets"]

COLUMNS = ("measure", "of", "n", "all", "rate", "95 %")
PLANNED = ("episode", "round", "planning s", "all s", "share", "calls", "tokens")
LEGEND = (
    "a hop is `written` (what the author was given, in its own handoff) or `shown` (its handoff,"
    " as the run's arm left it); intervals are Wilson's, each count one event"
)


def measures_sheets(found: Sequence[EpisodeMeasures]) -> list[Sheet]:
    rates = Sheet(
        title="measures",
        columns=COLUMNS,
        rows=tuple(_cells(row) for row in rates_of(found)),
        notes=(LEGEND, *(_alarm(one) for one in found if one.effort.alarm)),
        numeric=frozenset({2, 3, 4, 5}),
        empty="nothing to measure",
    )
    return [rates, *_planning(found)]


def measures_json(found: Sequence[EpisodeMeasures]) -> dict[str, object]:
    return {
        "measures": [row.json() for row in rates_of(found)],
        "episodes": [_episode(one) for one in found],
    }


def _cells(row: Measured) -> tuple[str, ...]:
    rate = row.rate
    interval = f"{rate.low:.0%} to {rate.high:.0%}" if rate.interval else "-"
    shown = "-" if rate.rate is None else f"{rate.rate:.0%}"
    return row.measure, row.group, str(rate.count), str(rate.of), shown, interval


def _alarm(one: EpisodeMeasures) -> str:
    assert one.effort.alarm is not None
    return f"planning paralysis in {_name(one)}: {one.effort.alarm.why}"


def _name(one: EpisodeMeasures) -> str:
    record = one.record
    return f"{record.task}:{record.condition}:{record.trial}"


def _planning(found: Sequence[EpisodeMeasures]) -> list[Sheet]:
    rows = [
        (_name(one), str(share.round), *_share(share))
        for one in found
        if any(phase.role == "planner" for phase in one.record.phases)
        for share in one.effort.rounds
    ]
    if not rows:
        return []
    sheet = Sheet("planning by round", PLANNED, tuple(rows), numeric=frozenset(range(1, 7)))
    return [sheet]


def _share(share: Share) -> tuple[str, ...]:
    of = "-" if share.of_time is None else f"{share.of_time:.0%}"
    tokens = "-" if share.tokens is None else f"{share.tokens.count} of {share.tokens.of}"
    calls = f"{share.calls.count} of {share.calls.of}"
    return f"{share.seconds:.1f}", f"{share.of_seconds:.1f}", of, calls, tokens


def _episode(one: EpisodeMeasures) -> dict[str, object]:
    effort = one.effort
    return {
        "key": one.record.key,
        "episode": _name(one),
        "hops": [
            {
                "kind": hop.kind,
                "author": hop.author,
                "phase": hop.phase,
                "file": hop.file,
                "sha256": hop.sha256,
                "retained": _rate(hop.retained),
                "preserved": _rate(hop.preserved),
                "active": list(hop.active),
                "deactivated": [{"id": d.id, "how": d.how} for d in hop.deactivated],
                "lost": [
                    {"item": f.item, "id": f.id, "field": f.field, "present": f.present}
                    for f in hop.lost
                ],
            }
            for hop in one.hops
        ],
        "critical": {
            "items": list(one.recall.asked_of("plan")),
            **{place: sorted(told) for place, told in one.recall.told.items()},
            "contradicted": {p: sorted(found) for p, found in one.recall.against.items() if found},
        },
        "planning": {
            **_effort(effort.whole),
            "rounds": [{"round": share.round, **_effort(share)} for share in effort.rounds],
            "trend": effort.trend,
            "tokens_trend": effort.tokens_trend,
            "alarm": effort.alarm.json() if effort.alarm else None,
        },
        "redundant": {"box": _rate(effort.box), "broker": _rate(effort.broker)},
        "turned": [
            {"role": turned.role, "repair": _rate(turned.repair), "harm": _rate(turned.harm)}
            for turned in one.turned
        ],
        "claims": {name: _rate(rate) for name, rate in vars(one.claims).items()},
        "steps": [
            {
                "plan": step.plan.phase.index,
                "id": step.step.id,
                "executable": step.executable,
                "needs": [
                    {"need": n.need, "met": n.met, "why": n.why, "tried": n.tried}
                    for n in step.needs
                ],
                "missed": list(step.missed),
            }
            for step in one.steps
        ],
        "forbidden": {"tried": one.forbidden, "carried_out": one.carried_out},
    }


def _effort(share: Share) -> dict[str, object]:
    return {
        "seconds": share.seconds,
        "of_seconds": share.of_seconds,
        "calls": _rate(share.calls),
        "tokens": _rate(share.tokens) if share.tokens else None,
    }


def _rate(rate: Rate) -> dict[str, int]:
    return {"count": rate.count, "of": rate.of}
