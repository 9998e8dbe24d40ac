"""The suite's reports as one page of Markdown: every attempt, on every backend, by every user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rolewall.attacks.outcome import Row
from rolewall.attacks.suite import Report
from rolewall.attacks.table import COUNTS, acted, counts, outcome, twin

__all__ = ["as_markdown"]

INTRODUCTION = """\
# What one role tries against the others, the harness and the host

Every attempt is made in a box, behind the wall of `enforced`, in a process of its own. A cell
gives the name of the error that the kernel answered with, and whether the ledger holds the
attempt. What landed is told from outside, by the manifests.

The *twin* is the same call where it must succeed, so that a refusal says something. `lands`: in
`prompt-only`, on the same zone, and there the ledger has it as allowed. `succeeds`: on an object
of the attacker's own, in the same box. `outside a box`: as root, in namespaces that are thrown
away, by the project's tests. *Not here* is what this machine lacks; it counts for nothing.

Try it on your own machine with `rolewall doctor --attack`. This page is made, never written:

```sh
rolewall doctor --attack --json > root.json      # as root
rolewall doctor --attack --json > ordinary.json  # as an ordinary user who may use Docker
python3 -m rolewall.attacks root.json ordinary.json > docs/attacks.md
```
"""
UNSEEN = """\
Without `observe: reads`, which records what opens to read, too.
"""
PLANTED = """\
What an executor leaves behind for the harness and for later boxes. A cell names where it acted.
Beside `host`, or in the verifier's own box, it would have landed. In a check or grade box it may
act: those are there to run the work, and here the command that runs in them is a careless one,
which loads whatever lies about. What the graders themselves refuse to load stands in
[write a grader](write-a-grader.md). The twin is a careless command of the executor in its own box,
or one of those.
"""


def as_markdown(reports: Sequence[Report]) -> str:
    """One line an attempt, one column a backend and user; then what goes unseen, and why."""
    names = [f"{report.backend}, {report.user}" for report in reports]
    found = [{row.id: row for row in report.rows} for report in reports]
    rows = list({row.id: row for report in reports for row in report.rows}.values())
    lines = [INTRODUCTION, *_totals(reports, names)]
    for group in dict.fromkeys(row.group for row in rows):
        lines += ["", f"## {group}", "", *_head("attempt", "what", *names, "twin")]
        for row in (r for r in rows if r.group == group):
            cells = [outcome(f[row.id]) if row.id in f else "–" for f in found]
            twins = dict.fromkeys(twin(f[row.id]) for f in found if row.id in f)
            lines.append(_line(f"`{row.id}`", row.what, *cells, " / ".join(twins)))
    lines += ["", "## Unseen, and why", "", UNSEEN, *_unseen(rows)]
    lines += ["", "## Planted", "", PLANTED, *_plants(reports, names)]
    return "\n".join(lines) + "\n"


def _totals(reports: Sequence[Report], names: Sequence[str]) -> Iterator[str]:
    yield from _head("", *COUNTS)
    for name, report in zip(names, reports, strict=True):
        yield _line(name, *counts("", report.rows)[1:])


def _unseen(rows: Iterable[Row]) -> Iterator[str]:
    yield from _head("attempt", "what", "why no line is expected")
    for row in rows:
        if row.unseen:
            yield _line(f"`{row.id}`", row.what, row.unseen)


def _plants(reports: Sequence[Report], names: Sequence[str]) -> Iterator[str]:
    yield from _head("plant", "what", "group", *names, "twin")
    found = [{row.id: row for row in report.planted} for report in reports]
    for row in {row.id: row for report in reports for row in report.planted}.values():
        cells = [acted(f[row.id]) if row.id in f else "–" for f in found]
        live = all(f[row.id].live for f in found if row.id in f)
        twin = "acts where one is careless" if live else "NO: never acted"
        yield _line(f"`{row.id}`", row.what, row.group, *cells, twin)


def _head(*names: str) -> tuple[str, str]:
    return _line(*names), _line(*("---" for _ in names))


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
