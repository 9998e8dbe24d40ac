"""The script grader: a shell script that writes ``score.json``, as TeamBench's do."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from rolewall.graders.outcome import broken, ended_badly, tail
from rolewall.graders.protocol import Finding, Places, Runner
from rolewall.graders.score import Score, ScoreError, read_score
from rolewall.graders.spec import ScriptSpec
from rolewall.sandbox import Completed

__all__ = ["ScriptGrader"]

BROKEN_PIPE = 128 + signal.SIGPIPE  # how a script under pipefail ends after `… | head`


class ScriptGrader:
    """Runs ``bash SCRIPT /workspace /reports /submission TASKDIR [EXPECTED]``.

    The script's exit status says nothing in that protocol (most end with the
    status of their last check); ``/reports/score.json`` does.
    """

    places = Places()

    def __init__(self, spec: ScriptSpec) -> None:
        self.spec = spec
        self.trust = spec.trust
        self.tools = ("bash", *(tool for tool in spec.tools if tool != "bash"))

    def files(self) -> Mapping[str, bytes]:
        return {}

    def reports(self) -> Mapping[str, str]:
        return {"expected.json": self.spec.expected} if self.spec.expected else {}

    def argv(self) -> tuple[str, ...]:
        script = PurePosixPath("/grader") / self.spec.run
        zones = ("/workspace", "/reports", "/submission")
        expected = ("/reports/expected.json",) if self.spec.expected else ()
        return ("bash", str(script), *zones, str(script.parent), *expected)

    def run(self, box: Runner, seconds: float) -> Completed:
        return box.run(self.argv(), timeout=seconds)

    def conclude(self, ran: Completed, reports: Path) -> Finding:
        if why := ended_badly(_but_for_a_pipe(ran)):
            return broken(ran, why)
        try:
            score = read_score(reports)
        except ScoreError as error:
            return broken(ran, str(error))
        return _finding(ran, score)


def _but_for_a_pipe(ran: Completed) -> Completed:
    """A script that met a broken pipe has judged all the same; one that was ended has not."""
    return replace(ran, returncode=0) if ran.returncode == BROKEN_PIPE else ran


def _finding(ran: Completed, score: Score) -> Finding:
    details = {
        "returncode": ran.returncode,
        "failure_modes": list(score.failure_modes),
        "output": tail(ran),
    }
    if score.passed:
        return Finding("pass", score=score.partial, details=details)
    why = ", ".join(score.failure_modes) or "score.json says so"
    return Finding("fail", why, score.partial, details)
