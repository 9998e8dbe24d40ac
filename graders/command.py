"""The command grader: an exit status is the grade."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rolewall.graders.outcome import broken, ended_badly, tail
from rolewall.graders.protocol import Finding, Places, Runner
from rolewall.graders.spec import CommandSpec
from rolewall.sandbox import Completed

__all__ = ["CommandGrader"]


class CommandGrader:
    """Runs ``spec.run`` in ``/workspace``: 0 passes, a fail code fails, all else is an error."""

    places = Places()

    def __init__(self, spec: CommandSpec) -> None:
        self.spec = spec
        self.trust = spec.trust
        self.tools = spec.tools

    def files(self) -> Mapping[str, bytes]:
        return {}

    def reports(self) -> Mapping[str, str]:
        return {}

    def run(self, box: Runner, seconds: float) -> Completed:
        return box.run(self.spec.run, timeout=seconds)

    def conclude(self, ran: Completed, reports: Path) -> Finding:
        details = {"returncode": ran.returncode, "output": tail(ran)}
        if why := ended_badly(ran):
            return broken(ran, why)
        if ran.returncode == 0:
            return Finding("pass", details=details)
        if ran.returncode in self.spec.fail_codes:
            return Finding("fail", f"exit status {ran.returncode}", details=details)
        return broken(ran, f"exit status {ran.returncode} means neither pass nor fail")
