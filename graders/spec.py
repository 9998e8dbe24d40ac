"""What a task says about its grader: the ``grader:`` key of ``task.yaml``.

Pure data. A task names exactly one grader; nothing is guessed, an unknown key
or value is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from rolewall.errors import TaskError
from rolewall.graders.fields import command, mapping, only_keys, relative, texts

__all__ = [
    "CommandSpec",
    "GraderSpec",
    "HarborSpec",
    "PytestSpec",
    "ScriptSpec",
    "Trust",
    "parse_grader",
]

Trust = Literal["outside", "in-process", "untrusted"]
"""How far a grade may be believed when the work is hostile.

``outside``: the work runs, if at all, as a process that reaches neither tests,
truth nor result. ``in-process``: the work is imported beside the tests.
``untrusted``: the grader runs code that roles could write.
"""

_PYTEST_KEYS = {"tests", "expect", "canaries", "allow_conftest", "work_modules", "tools"}
WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command that judges by its exit status.

    Attributes:
        run: argv, started in ``/workspace`` of the grade box; the grader's files
            are at ``/grader``. Exit 0 is a pass, one of ``fail_codes`` a fail,
            anything else (126, 127, a signal, a time-out) a grader error.
        tools: programs that must be on the grade box's PATH before it starts.
        trust: ``outside`` is the author's statement that ``run`` executes
            nothing of the work, or only through ``rolewall-check``. Absent,
            nothing is stated and the grade is ``untrusted``.
        fail_codes: never empty, never containing 0, 126, 127 or above 128.
    """

    run: tuple[str, ...]
    tools: tuple[str, ...] = ()
    trust: Trust = "untrusted"
    fail_codes: tuple[int, ...] = (1,)


@dataclass(frozen=True, slots=True)
class PytestSpec:
    """Hidden pytest files.

    Attributes:
        tests: files below ``grader/``, at least one.
        expect: node ids (``test_x.py::test_a``) that must each be seen passing
            exactly once; other tests are not run. Empty: every collected test is
            expected, and every test that the source names must be among them.
        canaries: node ids that must fail on any work; a pass betrays tampering.
            Canaries of the harness's own are added to every file.
        allow_conftest: whether a ``conftest.py`` below ``grader/`` is loaded.
            One from the workspace never is.
        work_modules: top-level modules that the work has to bring and the start
            state may lack. Without one of them the work fails; any other module
            that the tests miss on the start state too is the grader's own error.
        tools: programs that must be on the grade box's PATH.
    """

    tests: tuple[str, ...]
    expect: tuple[str, ...] = ()
    canaries: tuple[str, ...] = ()
    allow_conftest: bool = False
    work_modules: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    trust: Trust = "in-process"


@dataclass(frozen=True, slots=True)
class ScriptSpec:
    """A shell script that writes ``score.json``.

    Attributes:
        run: the script, below ``grader/``; it is started with ``bash``.
        arguments: ``teambench`` passes workspace, reports, submission, the
            script's own directory and, where the task has one, the expected file.
        expected: that file, below ``grader/``, or None.
        tools: programs that must be on the grade box's PATH.
        trust: ``untrusted`` unless the author states ``outside``, with the
            meaning that it has for ``CommandSpec``.
    """

    run: str
    arguments: Literal["teambench"] = "teambench"
    expected: str | None = None
    tools: tuple[str, ...] = ()
    trust: Trust = "untrusted"


@dataclass(frozen=True, slots=True)
class HarborSpec:
    """A program that writes a reward, as Harbor's tasks have it. No ``task.yaml`` names it.

    Attributes:
        run: the program, below the hidden files, which are at ``/tests``.
        cwd: where it starts.
        env: its environment, besides what the box sets.
        fetches: programs by which it fetches things from the network, as its text says.
        trust: anything may run in it, the work too, and it writes its own result.
    """

    run: str = "test.sh"
    cwd: str = "/workspace"
    env: tuple[tuple[str, str], ...] = ()
    fetches: tuple[str, ...] = ()
    trust: Trust = "untrusted"


GraderSpec = CommandSpec | PytestSpec | ScriptSpec | HarborSpec


def parse_grader(data: object, place: str) -> GraderSpec:
    """Read the value of ``grader:``; ``place`` is where it stands, for messages.

    Raises:
        TaskError: not exactly one known grader, or a key or value it does not take.
    """
    outer = mapping(data, place)
    if len(outer) != 1 or next(iter(outer)) not in PARSERS:
        raise TaskError(
            "not exactly one grader",
            place=place,
            got=sorted(map(str, outer)),
            expected=f"one of {', '.join(PARSERS)}",
        )
    kind, body = next(iter(outer.items()))
    where = f"{place}.{kind}"
    return PARSERS[kind](mapping(body, where), where)


def _command(body: Mapping[str, object], place: str) -> CommandSpec:
    only_keys(body, {"run", "tools", "trust", "fail_codes"}, place)
    return CommandSpec(
        run=command(body.get("run"), f"{place}.run"),
        tools=_tools(body, place),
        trust=_trust(body, place),
        fail_codes=_fail_codes(body.get("fail_codes", [1]), f"{place}.fail_codes"),
    )


def _pytest(body: Mapping[str, object], place: str) -> PytestSpec:
    only_keys(body, _PYTEST_KEYS, place)
    tests = tuple(
        relative(name, f"{place}.tests") for name in texts(body.get("tests"), f"{place}.tests")
    )
    _check_test_files(tests, f"{place}.tests")
    expect = _node_ids(body, "expect", tests, place)
    canaries = _node_ids(body, "canaries", tests, place)
    both = sorted(set(expect) & set(canaries))
    if both:
        raise TaskError("a canary cannot be expected to pass", place=f"{place}.canaries", got=both)
    allow = body.get("allow_conftest", False)
    if not isinstance(allow, bool):
        raise TaskError(
            "not a truth value",
            place=f"{place}.allow_conftest",
            got=allow,
            expected="true or false",
        )
    modules = _modules(body, place)
    return PytestSpec(tests, expect, canaries, allow, modules, _tools(body, place))


def _script(body: Mapping[str, object], place: str) -> ScriptSpec:
    only_keys(body, {"run", "arguments", "expected", "tools", "trust"}, place)
    arguments = body.get("arguments", "teambench")
    if arguments != "teambench":
        raise TaskError(
            "unknown arguments", place=f"{place}.arguments", got=arguments, expected="teambench"
        )
    expected = body.get("expected")
    return ScriptSpec(
        run=relative(body.get("run"), f"{place}.run"),
        expected=None if expected is None else relative(expected, f"{place}.expected"),
        tools=_tools(body, place),
        trust=_trust(body, place),
    )


PARSERS: dict[str, Callable[[Mapping[str, object], str], GraderSpec]] = {
    "command": _command,
    "pytest": _pytest,
    "script": _script,
}


def _tools(body: Mapping[str, object], place: str) -> tuple[str, ...]:
    if "tools" not in body:
        return ()
    names = texts(body["tools"], f"{place}.tools")
    for name in names:
        if not WORD.match(name):
            raise TaskError("not a program's name", place=f"{place}.tools", got=name)
    return names


def _modules(body: Mapping[str, object], place: str) -> tuple[str, ...]:
    if "work_modules" not in body:
        return ()
    names = texts(body["work_modules"], f"{place}.work_modules")
    for name in names:
        if not name.isidentifier():
            raise TaskError(
                "not a top-level module", place=f"{place}.work_modules", got=name, expected="a name"
            )
    return names


def _trust(body: Mapping[str, object], place: str) -> Trust:
    value = body.get("trust", "untrusted")
    if value == "outside":
        return "outside"
    if value == "untrusted":
        return "untrusted"
    raise TaskError(
        "unknown trust", place=f"{place}.trust", got=value, expected="outside or untrusted"
    )


def _fail_codes(value: object, place: str) -> tuple[int, ...]:
    good = isinstance(value, list) and value and all(_is_fail_code(code) for code in value)
    if not isinstance(value, list) or not good:
        raise TaskError(
            "not exit codes that can mean fail", place=place, got=value, expected="of 1 to 125"
        )
    return tuple(value)


def _is_fail_code(code: object) -> bool:
    return isinstance(code, int) and not isinstance(code, bool) and 1 <= code <= 125


def _check_test_files(tests: Sequence[str], place: str) -> None:
    for name in tests:
        if not name.endswith(".py") or PurePosixPath(name).name == "conftest.py":
            raise TaskError("not a test file", place=place, got=name, expected="a .py file")


def _node_ids(
    body: Mapping[str, object], key: str, tests: Sequence[str], place: str
) -> tuple[str, ...]:
    if key not in body:
        return ()
    ids = texts(body[key], f"{place}.{key}")
    for node in ids:
        if node.partition("::")[0] not in tests or "::" not in node:
            raise TaskError(
                "not a test of the named files",
                place=f"{place}.{key}",
                got=node,
                expected=f"such as {tests[0]}::test_name",
            )
    return ids
