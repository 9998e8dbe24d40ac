"""What was handed over as a role finds it in its box, and the command that shows it.

``/rolewall/handoffs/ZONE/`` holds the handoff of that zone, rendered beforehand by the
harness: a shell and ``cat`` are all that the command ``handoff`` needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rolewall.roles.briefing import briefing
from rolewall.roles.evidence import Evidence
from rolewall.roles.handedtext import (
    artifact_lines,
    condition_lines,
    evidence_detail,
    evidence_line,
    question_lines,
    step_lines,
)
from rolewall.roles.onelines import one_line, visible
from rolewall.roles.seal import SealedHandoff

__all__ = ["HANDED", "HANDOFF", "HANDOFF_PROGRAM", "Given", "handed_files"]

HANDED = "/rolewall/handoffs"
"""Where a box has what was handed over, by zone."""

HANDOFF = "/rolewall/bin/handoff"
"""The command that shows it."""

MOST_DETAILS = 2_000  # uses of tools that have files of their own
# Ids are the harness's, and become names of files.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")


@dataclass(frozen=True, slots=True)
class Given:
    """What a role gets of a result: its bytes and those of its standard error, or ``why``
    it gets none."""

    out: bytes = b""
    err: bytes = b""
    why: str = ""


def handed_files(
    zone: str, shown: SealedHandoff, *, now: float, given: Callable[[Evidence], Given]
) -> dict[str, bytes]:
    """The files below ``HANDED/zone`` by name; what there is nothing of has none.

    Args:
        shown: what the arm leaves.
        now: when the reader's phase begins, by which results are fresh or stale.
        given: what the reader gets of a result; asked for the newest first.
    """
    lists: dict[str, Iterable[str]] = {
        "steps": step_lines(shown.steps),
        "conditions": condition_lines(shown.conditions),
        "questions": question_lines(shown.questions),
        "artifacts": artifact_lines(shown.artifacts),
        "problems": map(one_line, shown.problems),
        "evidence": (evidence_line(found, now) for found in shown.evidence),
        "text": [visible(shown.text.rstrip("\n"))] if shown.text.strip() else [],
    }
    files = {name: _lines(lines) for name, lines in lists.items()}
    files = {name: data for name, data in files.items() if data}
    files["briefing.md"] = briefing(zone, shown, now)
    named = [found for found in shown.evidence if _NAME.match(found.id)]
    for found in reversed(named[-MOST_DETAILS:]):
        files |= _detail(found, now, given(found))
    return files


def _detail(found: Evidence, now: float, given: Given) -> dict[str, bytes]:
    result = one_line(given.why) or f"handoff result {found.id}"
    place = f"results/{found.id}"
    files = {f"details/{found.id}": _lines(evidence_detail(found, now, result))}
    if given.why:
        return files | {f"{place}.why": _lines([one_line(given.why)])}
    files[f"{place}.out"] = given.out
    if given.err:
        files[f"{place}.err"] = given.err
    if found.truncated:
        words = f"{found.id} is cut: its beginning and its end, of {found.size} bytes"
        files[f"{place}.cut"] = _lines([words])
    return files


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


HANDOFF_PROGRAM = rb"""#!/bin/sh
# What other roles handed over, as the harness laid it out below /rolewall/handoffs.
at=/rolewall/handoffs

usage() {
    cat <<'END'
handoff                      the briefing of each handoff
handoff [ZONE] WHAT          steps, conditions, questions, artifacts, problems, evidence or text
handoff [ZONE] evidence ID   all that is known of one use of a tool
handoff [ZONE] result ID     what it gave: standard output and error, byte for byte
ZONE is whose handoff, such as plan; without it, all that there are.
END
}

fail() {
    printf 'handoff: %s\n' "$2" >&2
    exit "$1"
}

show() {
    for zone in $zones; do
        [ -f "$at/$zone/$1" ] || continue
        [ "$many" = no ] || [ "$1" = briefing.md ] || printf '# %s\n' "$zone"
        cat "$at/$zone/$1" || exit 1
        found=yes
    done
    [ "$found" = yes ] || fail 1 "nothing of this was handed over: $2"
}

detail() {
    for zone in $zones; do
        [ -f "$at/$zone/details/$1" ] || continue
        cat "$at/$zone/details/$1"
        exit
    done
    fail 1 "no evidence with this id was handed over: $1"
}

result() {
    for zone in $zones; do
        base=$at/$zone/results/$1
        if [ -f "$base.why" ]; then
            read -r why <"$base.why"
            fail 1 "$1: $why"
        fi
        [ -f "$base.out" ] || continue
        [ ! -f "$base.cut" ] || cat "$base.cut" >&2
        [ ! -f "$base.err" ] || cat "$base.err" >&2
        cat "$base.out"
        exit
    done
    fail 1 "no result with this id was handed over: $1"
}

zones= many=no found=no
for one in "$at"/*/briefing.md; do
    [ -f "$one" ] || continue
    one=${one%/briefing.md}
    [ -z "$zones" ] || many=yes
    zones="${zones:+$zones }${one##*/}"
done
if [ $# -gt 0 ] && [ -f "$at/$1/briefing.md" ]; then
    zones=$1 many=no
    shift
fi

what=${1:-briefing}
case $what in
help | -h | --help) usage; exit ;;
briefing | steps | conditions | questions | artifacts | problems | text) most=1 ;;
evidence | result) most=2 ;;
*) usage >&2; fail 2 "unknown: $what" ;;
esac
[ $# -le "$most" ] || { usage >&2; fail 2 "too many words"; }
case ${2:-} in
*/* | .*) fail 2 "not an id: $2" ;;
esac
case $what${2:+ id} in
briefing) show briefing.md briefing ;;
'evidence id') detail "$2" ;;
'result id') result "$2" ;;
result) usage >&2; fail 2 "result needs an id" ;;
*) show "$what" "$what" ;;
esac
"""
