"""What the presets make of a turn, of junk, and of what a program runs of its own accord."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.roles import PRESETS, Execution, Preset, Printed, asked_for, runs_work
from rolewall.roles.agents import PresetName
from rolewall.roles.presets import Told

if TYPE_CHECKING:
    from conftest import Cli, Studio

TOLD = Told("prog", "some-model", "do it", ("--more",), "http://127.0.0.1:8378", "no-key")
ZONES = {"workspace", "verdict", "home", "tmp"}
CLAUDE = Execution("/opt/agents/claude", ("claude", "--print"))
NOTES = "/home/.claude/shell-snapshots/snapshot-bash-17-ab.sh"


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_a_start_names_program_model_and_further_words(preset: Preset) -> None:
    start = preset.start(TOLD)
    assert start.argv[0] == "prog" and "--more" in start.argv
    laid = b"".join(start.files.values()) + start.stdin + " ".join(start.argv).encode()
    assert b"some-model" in laid and b"do it" in laid
    assert all(path.startswith("/home/") for path in start.files)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
@given(
    st.one_of(
        st.binary(max_size=200),
        st.sampled_from(
            [
                b"[" * 5000,
                b'{"type": "assistant", "message": {"content": [{"type": "tool_use"}]}}\n',
                b'{"type": "user", "message": {"content": [{"type": "tool_result"}]}}\n',
                b'{"type": "assistant", "message": {"usage": {"input_tokens": "x"}}}\n',
                b'{"type": "result", "is_error": true}\n{"type": "error"}\n',
                b'{"type": "item.completed", "item": {"type": "x", "result": {"content": 3}}}\n',
                b'{"type": "item.started", "item": {"type": 3, "id": null}}\n',
                b'{"type": "turn.failed", "error": 3}\n',
                b'{"type": "tool_use", "part": {"state": 3, "messageID": 3}}\n',
                b'{"messages": [{"role": "assistant", "tool_calls": [3, {}]}], "info": 3}',
            ]
        ),
    )
)
def test_no_output_makes_reading_fail(preset: Preset, data: bytes) -> None:
    preset.parse(Printed(data, data, data))


def bash(asked: str, notes: str = NOTES, nothing: str = " < /dev/null") -> Execution:
    """A command of Claude Code's shell tool, as it starts it."""
    quoted = "'" + asked.replace("'", "'\"'\"'") + "'"
    text = (
        f"source {notes} 2>/dev/null || true && \\builtin shopt -u extglob 2>/dev/null || true"
        f" && eval {quoted}{nothing} && pwd -P >| /tmp/claude-ab12-cwd"
    )
    return Execution("/usr/bin/bash", ("/bin/bash", "-c", text))


def beside(*executions: Execution, program: str = "claude") -> bool:
    snapshot = ("/bin/bash", "-c", "-l", f"SNAPSHOT_FILE={NOTES}\n source ~/.bashrc")
    first = Execution("/usr/bin/bash", snapshot, whole=False)
    found = asked_for("claude-code", program, [CLAUDE, first, *executions], ZONES)
    return any(map(runs_work, found))


def test_claude_codes_own_shells_are_not_the_work() -> None:
    assert not beside(bash("git diff 'a b' | head"), bash("rolewall-check -- pytest"))
    assert not beside(bash("cat > /verdict/verdict.json <<'E'\n{}\nE", nothing=""))
    assert not beside(Execution(CLAUDE.exe, ("ugrep", "x")))


def test_what_its_model_asks_for_counts() -> None:
    assert beside(bash(". ./work.sh"))
    assert beside(bash("cat > x <<'E'\n{}\nE\n. ./work.sh", nothing=""))
    assert beside(bash("eval \"$(cat 'work.sh')\""))
    assert beside(bash("ls", notes="/home/.claude/shell-snapshots/snapshot-bash-18-cd.sh"))
    assert beside(bash("ls", notes="/workspace/work.sh"))
    assert beside(Execution("/usr/bin/python3.11", ("python3", "app.py")))
    second = ("/bin/bash", "-c", "-l", f"SNAPSHOT_FILE={NOTES}\n. ./work.sh")
    assert beside(Execution("/usr/bin/bash", second))


@pytest.mark.parametrize(
    ("preset", "argv"),
    [
        ("opencode", ("opencode", "run", "/workspace/tools/check.js")),
        ("opencode", ("/opt/agents/prog", "run", "look at it")),
        ("claude-code", ("claude", "--version")),
        ("claude-code", ("claude", "--print")),
        ("claude-code", ("/tmp/ugrep", "x")),
        ("opencode", ("ugrep", "x")),
        ("codex", ("codex", "exec", "look at it")),
        ("codex", ()),
    ],
)
def test_only_the_first_start_of_a_program_is_the_callers(
    preset: PresetName, argv: tuple[str, ...]
) -> None:
    """Later ones run scripts of the work, or do as a file says that they find there."""
    exe = "/opt/agents/prog"
    first, later = Execution(exe, ("prog", "--first")), Execution(exe, argv)
    assert list(asked_for(preset, "prog", [first, later], ZONES)) == [later]
    assert runs_work(later)
    own = {"claude-code": ("ugrep", "-r", "x"), "codex": ("/proc/self/exe", "--set-up")}
    if preset in own:
        assert not list(asked_for(preset, "prog", [first, Execution(exe, own[preset])], ZONES))


def test_a_program_of_the_work_is_not_the_callers() -> None:
    own, again = (Execution("/workspace/claude", ("claude", word)) for word in "ab")
    assert list(asked_for("codex", "claude", [own, again], ZONES)) == [again]
    python, work = (Execution("/usr/bin/python3.11", ("mini", word)) for word in "ab")
    assert list(asked_for("mini-swe-agent", "mini", [python, work], ZONES)) == [work]
    assert list(asked_for("codex", "codex", [CLAUDE], ZONES)) == [CLAUDE]


def test_a_program_around_another_is_neither() -> None:
    words = ("exec", "--json")
    chain = [
        Execution("/usr/bin/dash", ("/bin/sh", "-c", "cat > /home/x")),
        Execution("/opt/codex/bin/codex.js", ("codex", *words)),
        Execution("/usr/bin/node", ("node", "/opt/bin/codex", *words)),
        Execution("/opt/codex/vendor/codex", ("/opt/codex/vendor/codex", *words)),
    ]
    again = Execution("/opt/codex/vendor/codex", ("/proc/self/exe", "--set-up"))
    node = Execution("/usr/bin/node", ("node", "work.js"))
    assert list(asked_for("codex", "codex", [*chain, again, node], ZONES)) == [node]


@pytest.mark.bubblewrap
def test_a_program_that_is_not_there_is_named_with_its_package(
    cli: Cli, studio: Studio, tmp_path: Path
) -> None:
    team = tmp_path / "team" / "team.yaml"
    team.parent.mkdir()
    team.write_text(
        "team: t\nmodels: {m: {endpoint: 'http://127.0.0.1:9/v1', allow: [x]}}\nroles:\n"
        "  executor: {agent: {codex: {model: x, program: no-such-program}}}\n"
        "  verifier: {agent: {claude-code: {model: x}}}\n"
    )
    run = ("run", team, "--tasks", studio.task(), "--backend", "bubblewrap", "-o", tmp_path / "r")
    assert "--allow-team-models" in cli(*run).err
    done = cli(*run, "--allow-team-models")
    assert done.code != 0
    assert "no-such-program" in done.err + done.out and "@openai/codex" in done.err + done.out


@pytest.mark.bubblewrap
def test_every_roles_program_is_looked_for_before_any_is_asked(
    cli: Cli, studio: Studio, tmp_path: Path
) -> None:
    """The verifier's is missing: the executor is not begun, and the directory is nobody's."""
    install = tmp_path / "codex" / "versions" / "1.0"
    install.parent.mkdir(parents=True)
    install.write_text("#!/bin/sh\nexit 0\n")
    install.chmod(0o755)
    team, out = tmp_path / "team" / "team.yaml", tmp_path / "r"
    team.parent.mkdir()
    team.write_text(
        "team: t\nmodels: {m: {endpoint: 'http://127.0.0.1:9/v1', allow: [x]}}\nroles:\n"
        "  executor: {agent: {command: ['true']}}\n  verifier: {agent: {codex: {model: x}}}\n"
    )
    run = ("run", team, "--tasks", studio.task(), "--backend", "bubblewrap", "-o", out,
           "--allow-team-models")  # fmt: skip
    done = cli(*run)
    assert done.code == 2 and "roles.verifier.agent.codex" in done.err
    assert "/usr/local/bin" in done.err and "--show" in done.err
    assert not (out / "run.json").exists()
    again = cli(*run, "--show", tmp_path / "codex")
    assert again.code == 0, again.err
    other = cli(*run)
    assert other.code == 2 and "directories of --show; got" in other.err
