"""The gate for teams whose continuous integration is pytest: a marker and a fixture.

::

    @pytest.mark.rolewall("rolewall-run", max_false_approval=0.10)
    def test_the_verifier_may_guard_the_merge():
        pass

A bound that fails, or cannot be decided, fails the test; what may not be weighed is an error
of its set-up. pytest loads this at every start, so that it imports nothing of weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rolewall.decision import Decision
    from rolewall.library import Sandbox
    from rolewall.policies import Policy
    from rolewall.records import Dataset

__all__ = ["Rolewall"]

MARKER = (
    "rolewall(run, max_false_approval=P, ...): the test fails unless `rolewall gate` holds of run;"
    " takes the options of the gate, and undecided='fail' or 'skip'"
)
FAIL, SKIP = "fail", "skip"
OWN = ("condition", "baseline", "mapping", "undecided")
CONFIDENCE = "confidence"  # no option of the gate: who may lower it lets anything hold


@dataclass(frozen=True)
class _Made:
    """A decision, and what the test does where it is undecided."""

    decision: Decision
    undecided: str


MADE = pytest.StashKey[list[_Made]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(trylast=True)  # when the fixtures are there, one of which may make the run
def pytest_runtest_setup(item: pytest.Item) -> None:
    marks = list(item.iter_markers("rolewall"))
    if not marks:
        return
    item.stash[MADE] = []
    for mark in marks:
        made = _decided(item, mark)
        if isinstance(made, str):
            pytest.fail(made, pytrace=False)
        item.stash[MADE].append(made)


def _decided(item: pytest.Item, mark: pytest.Mark) -> _Made | str:
    """What a marker asks for, or why it cannot be had."""
    from rolewall.errors import RolewallError

    try:
        made = _decide(item.config, *mark.args, **mark.kwargs)
    except RolewallError as error:
        return _shown([f"rolewall gate: {error}"])
    return _text(made.decision) if made.decision.status == "refused" else made


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    for made in item.stash.get(MADE, []):
        _expect(made)


class Rolewall:
    """What the fixture ``rolewall`` gives a test. Paths are taken from pytest's root directory."""

    def __init__(self, request: pytest.FixtureRequest, stack: ExitStack) -> None:
        self._config = request.config
        self._item = request.node
        self._stack = stack

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Those of the test's markers, the nearest first."""
        return tuple(made.decision for made in self._item.stash.get(MADE, []))

    def open(self, run: str | Path, mapping: str | Path | None = None) -> Dataset:
        """The rows of a run directory, or of a file of records by a mapping file."""
        return _read(self._config, run, mapping)

    def decide(self, run: str | Path, **asked: Any) -> Decision:
        """What the gate decides; ``asked`` as for the marker. Nothing is asserted."""
        return _decide(self._config, run, **asked).decision

    def gate(self, run: str | Path, **asked: Any) -> Decision:
        """Fail the test unless the gate holds.

        Raises:
            RolewallError: the records cannot be read, or may not be weighed.
        """
        made = _decide(self._config, run, **asked)
        if made.decision.status == "refused":
            _refuse(made.decision)
        _expect(made)
        return made.decision

    def sandbox(self, policy: Policy, role: str, zones: Mapping[str, Path], **more: Any) -> Sandbox:
        """``rolewall.open_sandbox``, closed when the test is over."""
        from rolewall.library import open_sandbox

        return self._stack.enter_context(open_sandbox(policy, role, zones, **more))


@pytest.fixture
def rolewall(request: pytest.FixtureRequest) -> Iterator[Rolewall]:
    """Runs, decisions and sandboxes of rolewall."""
    with ExitStack() as stack:
        yield Rolewall(request, stack)


def _read(config: pytest.Config, run: str | Path, mapping: str | Path | None = None) -> Dataset:
    """``mapping`` says how a table is to be read; a run directory needs none."""
    from rolewall.records import read_dataset, read_mapping

    path = config.rootpath / run
    if mapping is None or path.is_dir():
        return read_dataset(path)
    return read_dataset(path, read_mapping(config.rootpath / mapping))


def _decide(config: pytest.Config, *place: Any, **asked: Any) -> _Made:
    from rolewall.gate import decide_dataset
    from rolewall.gaterules import Rules

    run, given = _taken(place, asked)
    own = {name: given.pop(name, None) for name in OWN}
    baseline, mapping = own["baseline"], own["mapping"]
    decision = decide_dataset(
        _read(config, run, mapping),
        Rules(**given),
        own["condition"],
        baseline=_read(config, baseline, mapping) if baseline is not None else None,
    )
    return _Made(decision, own["undecided"] or FAIL)


def _taken(place: tuple[Any, ...], asked: dict[str, Any]) -> tuple[str | Path, dict[str, Any]]:
    """The run, and the rest of what a marker says, each word of it known."""
    from rolewall.errors import InputError
    from rolewall.gaterules import Rules

    known = {*OWN, *(item.name for item in fields(Rules))} - {CONFIDENCE}
    given = dict(asked)
    runs = [*place, *([given.pop("run")] if "run" in given else [])]
    if len(runs) != 1 or not isinstance(runs[0], str | Path):
        raise InputError("which run?", place="rolewall marker", got=runs, expected="one path")
    for name in given:
        if name not in known:
            raise InputError(
                "no such option",
                place="rolewall marker",
                got=name,
                expected=", ".join(sorted(known)),
            )
    _check_own(given)
    return runs[0], given


def _check_own(given: Mapping[str, Any]) -> None:
    """Refuse what is no word of its kind; ``Rules`` holds the options of the gate to theirs."""
    from rolewall.errors import InputError

    kinds = {"condition": (str, "a name"), "baseline": (str | Path, "a path"),
             "mapping": (str | Path, "a path")}  # fmt: skip
    for name, (kind, expected) in kinds.items():
        if given.get(name) is not None and not isinstance(given[name], kind):
            raise InputError("of another kind", place=f"rolewall marker: {name}",
                             got=given[name], expected=expected)  # fmt: skip
    if given.get("undecided", FAIL) not in (FAIL, SKIP):
        raise InputError("unknown word", place="rolewall marker: undecided",
                         got=given["undecided"], expected=f"{FAIL} or {SKIP}")  # fmt: skip


def _expect(made: _Made) -> None:
    status = made.decision.status
    if status == "undecided" and made.undecided == SKIP:
        pytest.skip(_shown([f"not enough evidence: {made.decision.reasons[0]}"]))
    if status == "undecided":
        pytest.fail(f"not enough evidence to decide\n{_text(made.decision)}", pytrace=False)
    if status != "holds":
        pytest.fail(_text(made.decision), pytrace=False)


def _refuse(decision: Decision) -> None:
    from rolewall.errors import InfrastructureError, NotEnoughEvidence

    kind = InfrastructureError if decision.exit_code == 3 else NotEnoughEvidence
    raise kind(decision.reasons[0], place=decision.place or None)


def _text(decision: Decision) -> str:
    return _shown([f"rolewall gate: {decision.place}", *decision.lines()])


def _shown(lines: Iterable[object]) -> str:
    from rolewall.terminal import escape

    return "\n".join(map(escape, lines))
