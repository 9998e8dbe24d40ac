from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolewall.errors import TeamError
from rolewall.policies import HostPort, enforced
from rolewall.roles.agents import CommandAgent, ScriptAgent
from rolewall.roles.placeholders import expand
from rolewall.roles.team import load_team

DESIGN = """
team: payments-fixers
sandbox: {backend: auto, image: host}
limits: {phase_seconds: 900, memory_mb: 2048, pids: 256, cpus: 1, disk_mb: 1024}
rounds: 2
replan: false
roles:
  planner:  {agent: {command: [python3, "{agents}/plan.py"]}}
  executor:
    agent: {command: [my-agent, --prompt-file, "{prompt}"],
            network: {allow: ["models.internal:443"]}}
  verifier: {agent: {script: verify.yaml}}
"""
ROLES = """
roles:
  executor: {agent: {command: [agent]}}
  verifier: {agent: {script: verify.yaml}}
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "verify.yaml").write_text("steps: [{id: a, check: ls}]\nverdict: approve\n")
    (tmp_path / "plan.py").write_text("print()\n")
    return tmp_path


def write(directory: Path, text: str) -> Path:
    (directory / "team.yaml").write_text(text)
    return directory / "team.yaml"


def test_the_team_of_the_design(directory: Path) -> None:
    team = load_team(write(directory, DESIGN))
    assert (team.name, team.backend, team.image, team.rounds) == (
        "payments-fixers",
        "auto",
        "host",
        2,
    )
    assert team.roles == ("planner", "executor", "verifier")
    assert team.limits.cpus == 1
    executor = team.agents["executor"]
    assert isinstance(executor, CommandAgent)
    assert executor.prompt == "file"
    assert executor.argv(role="executor", task="t") == (
        "my-agent",
        "--prompt-file",
        "/rolewall/prompt.md",
    )
    assert team.network == {"executor": (HostPort("models.internal", 443),)}
    verifier = team.agents["verifier"]
    assert isinstance(verifier, ScriptAgent)
    assert verifier.script.decide(frozenset()) == "approve"
    assert set(team.files()) == {"team.yaml", "verify.yaml", "plan.py"}
    enforced(team.roles, limits=team.limits, network=team.network)


def test_a_planner_is_optional_and_order_is_not_the_files(directory: Path) -> None:
    text = "team: t\nroles:\n  verifier: {agent: {script: verify.yaml}}\n"
    text += "  executor: {agent: {command: [a]}}\n"
    assert load_team(write(directory, text)).roles == ("executor", "verifier")


def test_digest_covers_every_file_and_its_mode(directory: Path) -> None:
    path = write(directory, "team: t" + ROLES)
    before = load_team(path).digest
    assert load_team(path).digest == before
    (directory / "__pycache__").mkdir()
    (directory / "__pycache__" / "plan.pyc").write_bytes(b"x")
    assert load_team(path).digest == before
    (directory / "plan.py").chmod(0o755)
    with_mode = load_team(path)
    assert with_mode.digest != before
    assert with_mode.executables == {"plan.py"}
    (directory / "plan.py").write_text("print(1)\n")
    assert load_team(path).digest not in (before, with_mode.digest)


def test_files_are_those_that_were_digested(directory: Path) -> None:
    team = load_team(write(directory, "team: t" + ROLES))
    (directory / "plan.py").write_text("changed")
    assert team.files()["plan.py"] == b"print()\n"


def agent(inside: str) -> str:
    verifier = "  verifier: {agent: {script: verify.yaml}}\n"
    return f"team: t\nroles:\n{verifier}  executor: {{agent: {inside}}}\n"


REFUSED = {
    "unknown key": (
        "team: t\nround: 2" + ROLES,
        "round: unknown key; got 'round'; expected one of",
    ),
    "unknown sandbox key": (
        "team: t\nsandbox: {engine: docker}" + ROLES,
        "sandbox.engine: unknown key; got 'engine'; expected one of backend, image",
    ),
    "unknown backend": ("team: t\nsandbox: {backend: podman}" + ROLES, "sandbox.backend"),
    "bubblewrap with an image": (
        "team: t\nsandbox: {backend: bubblewrap, image: python}" + ROLES,
        "bubblewrap has the image host only",
    ),
    "no roles": ("team: t", "roles: missing"),
    "no executor": ("team: t\nroles: {verifier: {agent: {script: verify.yaml}}}", "no executor"),
    "no verifier": ("team: t\nroles: {executor: {agent: {command: [a]}}}", "no verifier"),
    "unknown role": (
        "team: t" + ROLES + "  auditor: {agent: {command: [a]}}\n",
        "unknown role 'auditor', not one of planner, executor, verifier",
    ),
    "role twice": ("team: t" + ROLES + "  executor: {agent: {command: [b]}}\n", "duplicate key"),
    "zero rounds": ("team: t\nrounds: 0" + ROLES, "rounds: not acceptable; got 0"),
    "rounds as text": ("team: t\nrounds: two" + ROLES, "rounds"),
    "replan": ("team: t\nreplan: true" + ROLES, "replan needs a planner"),
    "limit": ("team: t\nlimits: {pids: -1}" + ROLES, "limits.pids"),
    "infinite": ("team: t\nlimits: {cpus: .inf}" + ROLES, "limits.cpus"),
    "name": ("team: ../x" + ROLES, "team: "),
    "no name": (ROLES, "team: missing"),
    "command as text": (agent("{command: agent --fast}"), "roles.executor.agent.command"),
    "empty command": (agent("{command: []}"), "roles.executor.agent.command"),
    "empty word": (agent('{command: [""]}'), "first word is empty"),
    "both": (agent("{command: [a], script: verify.yaml}"), "an agent is one of command, script"),
    "neither": (agent("{env: {A: b}}"), "an agent is one of command, script"),
    "prompt of a script": (agent("{script: x.yaml, prompt: stdin}"), "script is given no prompt"),
    "prompt": (agent("{command: [a], prompt: env}"), "roles.executor.agent.prompt"),
    "placeholder": (
        agent('{command: [a, "{secret}"]}'),
        "roles.executor.agent.command[1]: unknown placeholder {secret}, not one of {agents}",
    ),
    "placeholder in env": (agent('{command: [a], env: {A: "{x}"}}'), "unknown placeholder {x}"),
    "shell variable": (agent('{command: [sh, -c, "echo ${HOME}"]}'), "write {{HOME}}"),
    "env name": (agent('{command: [a], env: {"A-B": x}}'), "'A-B' is no name of a variable"),
    "reserved env": (agent("{command: [a], env: {ROLEWALL_ROLE: x}}"), "is set by the harness"),
    "env type": (agent("{command: [a], env: {A: 1}}"), "roles.executor.agent.env.A"),
    "wildcard": (
        agent('{command: [a], network: {allow: ["*:443"]}}'),
        "network.allow[0]: wildcards are not supported; name each host; got '*:443'; expected host",
    ),
    "url": (agent('{command: [a], network: {allow: ["https://x"]}}'), "a URL is no"),
    "port": (agent('{command: [a], network: {allow: ["x:99999"]}}'), "not a port of 1 to 65535"),
    "network word": (agent("{command: [a], network: all}"), "roles.executor.agent.network"),
    "no such script": (
        agent("{script: nope.yaml}"),
        "roles.executor.agent.script: no such file beside the team file; got 'nope.yaml'",
    ),
    "script outside": (agent("{script: ../verify.yaml}"), "not a plain path"),
    "verdict of an executor": (agent("{script: verify.yaml}"), "verify.yaml: steps[0].check: only"),
    "junk": ("\x00\x01", "team.yaml:1: not text"),
    "empty": ("", "not a mapping; got 'nothing'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(directory: Path, case: str) -> None:
    text, message = REFUSED[case]
    path = write(directory, text)
    with pytest.raises(TeamError) as caught:
        load_team(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(directory))
    assert caught.value.exit_code == 2


def test_a_bad_script_is_found_with_its_place(directory: Path) -> None:
    (directory / "verify.yaml").write_text("steps: [{run: a}]\nverdict: {when: b}\n")
    with pytest.raises(TeamError, match=r"verify\.yaml: verdict\.then: missing"):
        load_team(write(directory, "team: t" + ROLES))


@pytest.mark.parametrize("target", ["/etc/passwd", "plan.py", "/etc"])
def test_links_beside_the_team_are_refused_by_name(directory: Path, target: str) -> None:
    path = write(directory, "team: t" + ROLES)
    load_team(path)
    (directory / "extra").symlink_to(target)
    with pytest.raises(TeamError, match=r"/extra: a link beside the team file"):
        load_team(path)


def test_special_files_are_refused_by_name(directory: Path) -> None:
    os.mkfifo(directory / "pipe")
    with pytest.raises(TeamError, match=r"/pipe: a FIFO beside the team file"):
        load_team(write(directory, "team: t" + ROLES))


def test_names_that_are_not_text(directory: Path) -> None:
    Path(os.fsdecode(os.fsencode(directory) + b"/\xff")).touch()
    with pytest.raises(TeamError, match=r"/\\xff: a file name that is not UTF-8"):
        load_team(write(directory, "team: t" + ROLES))


def test_bounds(directory: Path) -> None:
    path = write(directory, "team: t" + ROLES)
    with open(directory / "sparse", "wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(TeamError, match="at most 64 MiB together"):
        load_team(path)
    (directory / "sparse").unlink()
    (directory / "many").mkdir()
    for index in range(2_000):
        (directory / "many" / str(index)).touch()
    with pytest.raises(TeamError, match="too many files"):
        load_team(path)


def test_no_team_file(tmp_path: Path) -> None:
    with pytest.raises(TeamError, match=r"team\.yaml: does not exist"):
        load_team(tmp_path / "team.yaml")
    with pytest.raises(TeamError):
        load_team(tmp_path)
    (tmp_path / "secret").write_text("team: x")
    (tmp_path / "team.yaml").symlink_to("secret")
    with pytest.raises(TeamError, match="not a regular file; got 'link'"):
        load_team(tmp_path / "team.yaml")


def test_expansion_is_done_once_and_leaves_other_braces_alone() -> None:
    values = {"role": "{task}", "task": "t"}
    assert expand('{role} {{task}} {"a": {"b": 1}} {} {a b}', values) == (
        '{task} {task} {"a": {"b": 1}} {} {a b}'
    )


def test_what_is_observed_is_one_of_two_words(directory: Path) -> None:
    assert load_team(write(directory, "team: t" + ROLES)).observe == "changes"
    assert load_team(write(directory, "team: t\nobserve: reads" + ROLES)).observe == "reads"
    for bad in ("writes", "[reads]", "true", "{reads: true}", "~", "Reads"):
        with pytest.raises(TeamError, match="observe"):
            load_team(write(directory, f"team: t\nobserve: {bad}" + ROLES))


MODELS = "models: {main: {endpoint: 'http://127.0.0.1:9/v1', allow: [m]}}\n"


@pytest.mark.parametrize(
    ("models", "agent", "words"),
    [
        (MODELS, "{claude-code: m}", "write {claude-code: {model: m}}"),
        (MODELS, "claude-code", "write {claude-code: {model: NAME}}"),
        (MODELS, "{claude: {model: m}}", "claude-code is one"),
        (MODELS, "{codx: {model: m}}", "codex is one"),
        (MODELS, "{codex: {model: m, budget: {calls: 3}}}", "budget stands beside codex"),
        (MODELS, "{chat: {model: m, endpoint: main}}", "endpoint stands beside chat"),
        ("", "{codex: {model: m}}", "add models: to the team file"),
        (MODELS.replace("[m]", "['*']"), "{codex: {model: m}}", "no wildcards; name each model"),
    ],
)
def test_what_is_meant_by_an_agent_is_said(
    directory: Path, models: str, agent: str, words: str
) -> None:
    verifier = "  verifier: {agent: {script: verify.yaml}}\n"
    text = f"team: t\n{models}roles:\n  executor: {{agent: {agent}}}\n{verifier}"
    with pytest.raises(TeamError) as caught:
        load_team(write(directory, text))
    assert words in str(caught.value)
