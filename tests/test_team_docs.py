"""What "write a team" and "write a grader" show is what happens."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from rolewall.roles.handoff import Handoff
from rolewall.roles.placeholders import PLACEHOLDERS
from rolewall.roles.script import Script, parse_script
from rolewall.roles.teamfile import AgentFile, TeamFile
from rolewall.roles.verdict import VerdictFile
from rolewall.tasks.native import _TaskFile

if TYPE_CHECKING:
    from conftest import Cli, Play, Studio

ROOT = Path(__file__).resolve().parents[1]
TEAM = (ROOT / "docs" / "write-a-team.md").read_text("utf-8")
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.S | re.M)
NAMED = re.compile(r"# (mine/\S+)\n")


def section(title: str, page: str = TEAM) -> str:
    found = page.partition(f"\n## {title}\n")[2]
    assert found, title
    return found.partition("\n## ")[0]


def table(text: str, head: str) -> dict[str, tuple[str, ...]]:
    """The rows of the tables that begin with ``head``, by the first cell without its ticks."""
    rows = []
    for body in text.split(f"| {head} |")[1:]:
        lines = takewhile(lambda line: line.startswith("|"), body.splitlines()[2:])
        rows += [[c.strip().strip("`") for c in line.strip("|").split(" | ")] for line in lines]
    return {row[0]: tuple(row[1:]) for row in rows}


def keys(model: type[BaseModel], within: str = "") -> Iterator[tuple[str, str]]:
    """Each key of a model with its default as the page has it, nested ones with a dot."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from keys(kind, f"{within}{name}.")
        else:
            yield f"{within}{name}", _shown(field.get_default(call_default_factory=True))


def _shown(value: object) -> str:
    if value is PydanticUndefined:
        return "required"
    if value == "":
        return "empty"
    if value in (None, [], {}):
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


@pytest.mark.parametrize(
    ("text", "head", "model"),
    [
        (section("team.yaml"), "key", TeamFile),
        (section("What an agent leaves").partition("**A verdict**")[0], "key", Handoff),
        (section("What an agent leaves").partition("**A verdict**")[2], "key", VerdictFile),
        (section("Tasks"), "key of `task.yaml`", _TaskFile),
    ],
    ids=["team", "handoff", "verdict", "task"],
)
def test_a_table_has_every_key_with_its_default(
    text: str, head: str, model: type[BaseModel]
) -> None:
    stated = {key: row[0] for key, row in table(text, head).items()}
    assert stated == dict(keys(model))


def test_the_tables_of_agents_scripts_and_placeholders_are_whole() -> None:
    named = "`, `".join(table(section("team.yaml"), "key of `agent`")).split("`, `")
    fields = AgentFile.model_fields
    asked = [field.alias or name for name, field in fields.items() if name != "network"]
    assert sorted(named) == sorted([*asked, "network.allow"])
    placeholders = table(section("team.yaml"), "placeholder")
    assert set(placeholders) == {f"{{{name}}}" for name in PLACEHOLDERS}
    assert set(table(section("Scripts"), "key")) == set(Script.model_fields)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The team of the page."""
    for block in BLOCK.finditer(TEAM):
        if named := NAMED.match(block["text"]):
            path = tmp_path / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], encoding="utf-8")
    return tmp_path / "mine" / "team.yaml"


def test_the_team_of_the_page_plays_as_the_page_says(
    mine: Path, cli: Cli, play: Play, tmp_path: Path
) -> None:
    assert cli("init", tmp_path / "new").code == 0
    episode = play(mine, tmp_path / "new" / "tasks" / "feature-flags")
    record = episode.record
    assert [v["verdict"] for v in record["verdicts"]] == ["reject", "approve"]
    assert (record["grade"], record["isolated"]) == ("pass", True)
    assert record["verdicts"][0]["why"] == "shares of search: 115 of 100"
    assert [c["seen"] for v in record["verdicts"] for c in v["claims"]] == ["yes", "yes"]
    handed = json.loads((episode.directory / "handoffs" / "02-executor.json").read_text())
    assert handed["text"].startswith("Round 2: the share is 25. shares of search")
    assert (len(handed["artifacts"][0]["sha256"]), handed["problems"]) == (64, [])


LOOK = """
import json, os, subprocess
from pathlib import Path

found = {
    "environment": dict(os.environ),
    "agents": sorted(str(p) for p in Path("/rolewall/agents").rglob("*") if p.is_file()),
    "where": os.getcwd(),
    "check": subprocess.run(
        ["rolewall-check", "--", "sh", "-c", "ls -d /* /rolewall/agents/*; env; cat"],
        capture_output=True, text=True, input="unheard",
    ).stdout,
}
print(json.dumps(found))
"""


def test_an_agent_finds_what_the_page_says_and_no_more(
    studio: Studio, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "1")
    agent = {"command": ["python3", "{agents}/{role}/look.py"], "env": {"MINE": "{task}{{x}}"}}
    team = studio.team(executor=agent, verifier=agent)
    for role in ("executor", "verifier"):
        (team.parent / role).mkdir()
        (team.parent / role / "look.py").write_text(LOOK)
    episode = play(team, studio.task())
    seen = {
        role: json.loads((episode.directory / "transcripts" / f"0{n}-{role}.stdout").read_text())
        for n, role in enumerate(("executor", "verifier"))
    }
    cells = " ".join(table(section("What an agent finds"), "variable"))
    named = {*re.findall(r"[A-Z_0-9]{4,}", cells), "MINE"} - {"PYTHONPATH"}
    for role, found in seen.items():
        assert found["where"] == "/workspace"
        beside = {f"{role}/look.py", "team.yaml"}
        assert set(found["agents"]) == {f"/rolewall/agents/{name}" for name in beside}
        found["environment"].pop("LC_CTYPE", None)  # Python's own
        assert set(found["environment"]) == named
        assert found["environment"]["MINE"] == "add-one{x}"
    assert seen["executor"]["check"] == ""
    checked = seen["verifier"]["check"]
    assert "/rolewall/agents/verifier" in checked
    assert "ROLEWALL_TASK=add-one" in checked
    assert not re.search(r"/spec|/brief|/verdict|ROLEWALL_ROLE|MINE|unheard", checked)


def test_the_script_of_the_page_is_one() -> None:
    (text,) = [b["text"] for b in BLOCK.finditer(section("Scripts")) if b["language"] == "yaml"]
    assert parse_script(text.encode(), "page", "verifier").checks


@pytest.mark.bubblewrap
def test_shards_are_joined_as_the_page_says(studio: Studio, cli: Cli, tmp_path: Path) -> None:
    tasks = [studio.task(name).parent for name in ("one", "two", "three")]
    team = studio.team(verifier={"verdict": "reject"})
    for shard in (1, 2):
        ran = cli("run", team, "--tasks", tasks[0], "--backend", "bubblewrap",
                  "--shard", f"{shard}/2", "-o", f"shard-{shard}")  # fmt: skip
        assert ran.code == 0, ran.err
    (block,) = [b["text"] for b in BLOCK.finditer(section("A gate that decides")) if "END" in b[0]]
    joined, gate = block[: block.rindex("rolewall gate")], block.splitlines()[-1]
    done = subprocess.run(["sh", "-c", joined], cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 0
    decided = cli(*shlex.split(gate)[1:], "--json")
    assert decided.code == 4
    assert (decided.json["episodes"], decided.json["needed"]) == (3, 35)
