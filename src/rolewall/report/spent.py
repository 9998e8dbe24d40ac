"""What it took: seconds by role, and of models tokens and cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import quantiles

from rolewall.modeluse import ModelTotals, dollars, model_totals, tokens_text
from rolewall.record import PhaseRecord
from rolewall.report.groups import Group
from rolewall.report.model import Cell, Plot, Section, Table
from rolewall.report.plots import Spread, time_plot
from rolewall.rundir import Run

__all__ = ["spent_section"]

LINES = 18
MODEL_COLUMNS = ("calls", "tokens in", "of these cached", "tokens out", "cost", "seconds",
                 "refused", "failed")  # fmt: skip
COLUMNS = ("number", "median", "middle half", "shortest to longest", "in all")


def spent_section(groups: Sequence[Group], run: Run | None) -> Section:
    times: dict[str, list[float]] = defaultdict(list)
    phases: dict[str, list[PhaseRecord]] = defaultdict(list)
    several = len(groups) > 1
    if run is None:
        for group in groups:
            known = [row.seconds for row in group.rows if row.seconds is not None]
            times[group.name] += known
    else:
        places = {group.condition: place for place, group in enumerate(groups)}
        for record in sorted(run.records, key=lambda r: places.get(r.condition, len(places))):
            for phase in record.phases:
                name = f"{record.condition}: {phase.role}" if several else phase.role
                times[name].append(phase.ended - phase.started)
                phases[name].append(phase)
    sizes = {name: sorted(found) for name, found in times.items() if found}
    if not sizes:
        return Section("time", "What did it take?", ("No times are stated.",))
    spreads = [_spread(name, found) for name, found in sizes.items()]
    table = Table(
        "Seconds a phase, by role" if run else "Seconds an episode", "role" if run else "condition",
        COLUMNS, tuple(_line(s, sizes[s.name]) for s in spreads),
    )  # fmt: skip
    of = "phases" if run else "episodes"
    words = f"{_hours(sum(map(sum, sizes.values())))} in all {of} together."
    if run is not None:
        words += f" {_besides(run)}"
    plot: list[Table | Plot] = [time_plot("time", spreads[:LINES], "phase" if run else "episode")]
    used, notes = _models(phases)
    return Section("time", "What did it take?", (words,), (*plot, table, *used), notes)


def _models(
    phases: Mapping[str, Sequence[PhaseRecord]],
) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """Tokens and cost by role, and how to read them; of a team that calls no model, nothing."""
    totals = {name: total for name, of in phases.items() if (total := model_totals(of))}
    if not totals:
        return (), ("No role called a model through the gateway.",)
    lines = tuple((name, _model_line(total)) for name, total in totals.items())
    notes = [
        "Tokens are counted by the endpoints, cost by the prices in the team file; - is not known.",
        "A phase that an endpoint's failure ended is in neither.",
    ]
    if uncounted := sum(total.uncounted for total in totals.values()):
        notes.append(f"Of {uncounted} answers nobody told the tokens: sums with ≥ lack them.")
    return (Table("Tokens and cost of models, by role", "role", MODEL_COLUMNS, lines),), tuple(
        notes
    )


def _model_line(total: ModelTotals) -> tuple[Cell, ...]:
    counts = (total.input, total.cached, total.output)
    tokens = (tokens_text(count, total.uncounted) for count in counts)
    return (
        Cell(str(total.calls)),
        *map(Cell, tokens),
        Cell(dollars(total.usd)),
        Cell(f"{total.seconds:.1f}"),
        Cell(str(total.refused)),
        Cell(str(total.failed)),
    )


def _spread(name: str, found: Sequence[float]) -> Spread:
    several = found if len(found) > 1 else [*found, *found]
    low, middle, high = quantiles(several, n=4, method="inclusive")
    return Spread(name, found[0], low, middle, high, found[-1])


def _line(s: Spread, found: Sequence[float]) -> tuple[str, tuple[Cell, ...]]:
    return s.name, (
        Cell(str(len(found))),
        Cell(f"{s.middle:.2f}"),
        Cell(f"{s.low:.2f} to {s.high:.2f}"),
        Cell(f"{s.least:.2f} to {s.most:.2f}"),
        Cell(f"{sum(found):.1f}"),
    )


def _besides(run: Run) -> str:
    sums: dict[str, float] = defaultdict(float)
    for record in run.records:
        for name in ("grader", "harness"):
            sums[name] += record.seconds.get(name, 0.0)
    grader, harness = _hours(sums["grader"]), _hours(sums["harness"])
    return f"Besides, graders took {grader} and the harness {harness}."


def _hours(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
