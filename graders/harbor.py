"""The grader of Harbor's tasks: a program that writes a reward."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rolewall.graders.outcome import broken, ended_badly, tail
from rolewall.graders.protocol import Finding, Places, Runner
from rolewall.graders.reward import REWARD_DIRECTORY, Reward, RewardError, read_reward
from rolewall.graders.spec import HarborSpec
from rolewall.sandbox import Completed

__all__ = ["HarborGrader"]

# The work may have removed the directory that tests start in.
START = 'cd -- "$1" 2>/dev/null || :; exec "$2"'
# What a shell says of a program that a line of the tests themselves asks for.
LACKING = re.compile(
    r"^/tests/[^\s:]{1,200}: (?:line )?\d+: ([\w./+-]{1,64}): (?:command )?not found$", re.M
)
# How pytest says that it did not get as far as the tests.
INTERNAL = "INTERNALERROR> "
UNUSABLE = re.compile(r"error: unrecognized arguments: |No module named '?_?pytest'?$")
OUTERMOST = re.compile(r'  File ".{0,200}/bin/pytest", line ')
UNREACHED = re.compile(
    r"could not resolve|temporary failure (?:in name resolution|resolving)|"
    r"name or service not known|no address associated with hostname|network is unreachable|"
    r"failed to establish a new connection|dns error|failed to lookup address|"
    r"getaddrinfo|unable to fetch|are you root\?|could not open lock file|"
    r"list directory \S+ is missing|read-only file system|no matching distribution found",
    re.I,
)


class HarborGrader:
    """Runs ``/tests/test.sh`` and reads the reward that it leaves in ``/logs/verifier``.

    A reward of 1 or more is a pass, a smaller one a fail with that score. Its exit status
    says nothing in that protocol. Where tests ask for a program that the box lacks, or for
    the network, or pytest itself breaks, a small reward speaks of the box and not of the
    work: it is an error, and the start state tells whether the work had a part in it.
    """

    places = Places("tests", "logs", (REWARD_DIRECTORY, "agent", "artifacts"))
    tools: tuple[str, ...] = ("sh",)

    def __init__(self, spec: HarborSpec) -> None:
        self.spec = spec
        self.trust = spec.trust

    def files(self) -> Mapping[str, bytes]:
        return {}

    def reports(self) -> Mapping[str, str]:
        return {}

    def run(self, box: Runner, seconds: float) -> Completed:
        argv = ["sh", "-c", START, "sh", self.spec.cwd, f"/tests/{self.spec.run}"]
        return box.run(argv, cwd="/", env=dict(self.spec.env), timeout=seconds)

    def conclude(self, ran: Completed, reports: Path) -> Finding:
        lacking, bad = self._lacking(ran), ended_badly(ran)
        try:
            reward = read_reward(reports)
        except RewardError as error:
            return broken(ran, "; ".join(filter(None, (str(error), lacking or bad))))
        if why := bad if reward.passed else lacking or bad:
            return broken(ran, why)
        return _finding(ran, reward)

    def _lacking(self, ran: Completed) -> str:
        """Why a small reward says nothing, or an empty text."""
        said = f"{ran.stdout.text()}\n{ran.stderr.text()}"
        if absent := sorted(set(LACKING.findall(said))):
            return f"the tests ask for what the grade box lacks: {', '.join(absent[:10])}"
        if broke := _broke(said.splitlines()):
            return f"the tests' own program broke: {broke.strip()[:200]}"
        if self.spec.fetches and UNREACHED.search(said):
            return f"the tests fetch with {', '.join(self.spec.fetches)}, and have no network"
        return ""


def _broke(lines: list[str]) -> str:
    """What pytest itself ended in; of a traceback that is the first line behind it."""
    inside = [line for line in lines if line.startswith(INTERNAL) and line[len(INTERNAL) :].strip()]
    if inside:
        outer = [line for line in inside if not line[len(INTERNAL) :].startswith(" ")]
        return (outer or inside)[-1].removeprefix(INTERNAL)
    for number, line in enumerate(lines):
        if UNUSABLE.search(line):
            return line
        if OUTERMOST.match(line):
            return next((one for one in lines[number:] if one[:1].strip()), line)
    return ""


def _finding(ran: Completed, reward: Reward) -> Finding:
    details = {
        "returncode": ran.returncode,
        "rewards": dict(reward.values),
        "output": tail(ran),
    }
    if reward.passed:
        return Finding("pass", score=reward.value, details=details)
    return Finding("fail", f"reward {reward.value:g}", reward.value, details)
