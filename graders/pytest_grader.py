"""The pytest grader: every expected test seen passing, every canary seen failing."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from rolewall.graders.outcome import broken, ended_badly, tail
from rolewall.graders.protocol import Finding, Places, Runner
from rolewall.graders.pytest_events import Run, StreamError, read_events, replay
from rolewall.graders.pytest_tests import promised_tests, undefined_tests
from rolewall.graders.spec import PytestSpec
from rolewall.sandbox import Completed

__all__ = ["PytestGrader"]

PROGRAM = "grade/run_tests.py"
INI = "grade/pytest.ini"
BYTE_CODE = "/tmp/byte-code"  # new and empty: none that stands beside a source is read
EVENT_LIMIT = 64 << 20
CANARIES_PER_FILE = 2
SHOWN = 20
JUDGED = {0, 1, 2, 5, -1}  # passed, failed, interrupted, none collected, ended by the work
PASSED = [("setup", "passed", False), ("call", "passed", False), ("teardown", "passed", False)]


class PytestGrader:
    """Runs the hidden tests ``spec.tests`` of the directory ``files``.

    The workspace is the current directory and the last entry of the import
    path; its configuration, conftest files and plug-ins are not loaded.
    """

    places = Places()

    def __init__(self, spec: PytestSpec, files: Path) -> None:
        self.spec = spec
        self.trust = spec.trust
        self.tools = ("python3", *(tool for tool in spec.tools if tool != "python3"))
        self._files = files
        self._key = secrets.token_bytes(32)

    def files(self) -> Mapping[str, bytes]:
        program = resources.files("rolewall.graders").joinpath("pytest_plugin.py").read_bytes()
        return {PROGRAM: program, INI: b"[pytest]\n"}

    def reports(self) -> Mapping[str, str]:
        return {}

    def _job(self) -> dict[str, object]:
        return {
            "key": self._key.hex(),
            "tests": self.spec.tests,
            "only": sorted({*self.spec.expect, *self.spec.canaries}) if self.spec.expect else [],
            "allow_conftest": self.spec.allow_conftest,
            "canaries_per_file": CANARIES_PER_FILE,
            "grader": "/grader",
            "directory": "/workspace",
            "path": ["/grader", "/workspace"],
            "ini": f"/rolewall/{INI}",
        }

    def run(self, box: Runner, seconds: float) -> Completed:
        # One key for one run: a run can not repeat what it learnt in another.
        self._key = secrets.token_bytes(32)
        return box.run(
            ["python3", "-I", "-B", "-X", f"pycache_prefix={BYTE_CODE}", f"/rolewall/{PROGRAM}"],
            stdin=json.dumps(self._job()).encode(),
            timeout=seconds,
            output_limit=EVENT_LIMIT,
        )

    def conclude(self, ran: Completed, reports: Path) -> Finding:
        if why := ended_badly(ran):
            return broken(ran, why)
        if ran.stdout.truncated:
            return broken(ran, "the test run wrote more than can be read")
        try:
            promised, absent = self._promised(), self._undefined()
            run = replay(read_events(ran.stdout.data, self._key))
        except (StreamError, SyntaxError, ValueError, OSError, RecursionError) as error:
            return broken(ran, str(error))
        mistake = absent or _unfinished(run, ran.returncode) or _own_mistake(run, self.spec)
        return broken(ran, mistake) if mistake else _judge(run, self.spec, promised, ran)

    def _sources(self) -> dict[str, bytes]:
        return {name: (self._files / name).read_bytes() for name in self.spec.tests}

    def _promised(self) -> list[str]:
        """The tests that must be seen, by expectation or else by source."""
        if self.spec.expect:
            return list(self.spec.expect)
        found: list[str] = []
        for name, source in self._sources().items():
            found += promised_tests(source, name)
        return [node for node in found if node not in self.spec.canaries]

    def _undefined(self) -> str:
        found = undefined_tests([*self.spec.expect, *self.spec.canaries], self._sources())
        return f"no such test in grader/: {', '.join(found[:SHOWN])}" if found else ""


def _unfinished(run: Run, returncode: int) -> str:
    if run.no_pytest:
        return f"pytest is not in the grade box: {run.no_pytest}"
    if not run.begun:
        return f"the test run did not begin (exit status {returncode})"
    if run.end is None:
        return f"the test run ended early (exit status {returncode})"
    if run.end not in JUDGED:
        return f"pytest ended with status {run.end} and judged nothing"
    if returncode != 0:
        return f"the test run ended with status {returncode} after it had said it was over"
    return ""


def _own_mistake(run: Run, spec: PytestSpec) -> str:
    """What looks like a mistake of the hidden tests; where the start state has it too, it is."""
    seen = {*run.collected, *run.dropped}
    bases = {node.partition("[")[0] for node in seen}
    for node in (*spec.expect, *spec.canaries):
        if node not in seen and "[" in node and node.partition("[")[0] in bases:
            return f"no such parameters: {node}"
    for node, module in run.own_fault.items():
        if module not in spec.work_modules:
            hint = f" (should the work bring {module}? list it in work_modules)" if module else ""
            return f"{node} could not be collected: {run.uncollected[node]}{hint}"
    return ""


def _judge(run: Run, spec: PytestSpec, promised: Sequence[str], ran: Completed) -> Finding:
    expected = _expected(run, spec, promised)
    passed = [node for node in expected if run.reports.get(node) == PASSED]
    why = _tampering(run, spec) or _shortfall(run, spec, expected, len(passed))
    unmet = [node for node in expected if node not in set(passed)]
    details = {
        "expected": len(expected),
        "passed": len(passed),
        "failed": {node: _state(run, node) for node in unmet[:SHOWN]},
        "canaries": len(run.canaries) + len(spec.canaries),
        **run.begun,
        "output": tail(ran)["stderr"],
    }
    score = len(passed) / len(expected) if expected else None
    return Finding("fail" if why else "pass", why, score, details)


def _expected(run: Run, spec: PytestSpec, promised: Sequence[str]) -> list[str]:
    """Node ids to be seen passing: with parameters where a test has them."""
    if spec.expect:
        return list(spec.expect)
    collected = [node for node in run.collected if node not in spec.canaries]
    bases = {node.partition("[")[0] for node in collected}
    return collected + [node for node in promised if node not in bases]


def _tampering(run: Run, spec: PytestSpec) -> str:
    for node in (*run.canaries, *spec.canaries):
        states = run.reports.get(node, [])
        if states and all(outcome == "passed" for _, outcome, _ in states):
            return (
                "a canary passed: the work tampers with the test run, or the canary is wrong: "
                f"{node}"
            )
    return ""


def _shortfall(run: Run, spec: PytestSpec, expected: Sequence[str], passed: int) -> str:
    if run.uncollected:
        node, note = next(iter(run.uncollected.items()))
        return f"{node} could not be collected: {note}"
    if run.end == -1:
        return f"the work ended the test run: {run.end_note}"
    if not expected:
        return "no test was collected"
    if passed < len(expected):
        return f"{passed} of {len(expected)} expected tests were seen passing"
    silent = [node for node in (*run.canaries, *spec.canaries) if not _failed(run, node)]
    if silent or not run.canaries:
        return "a canary was not seen failing"
    return ""


def _failed(run: Run, node: str) -> bool:
    return any(outcome == "failed" for _, outcome, _ in run.reports.get(node, []))


def _state(run: Run, node: str) -> str:
    if node in run.notes:
        return run.notes[node]
    reports = run.reports.get(node)
    if not reports:
        return "not seen"
    if reports == PASSED:
        return "passed"
    return ", ".join(f"{when} {outcome}" for when, outcome, _ in reports)
