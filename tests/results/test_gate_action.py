"""The GitHub Action: its steps run here as a runner would run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from rolewall._files import load_yaml
from rolewall.cli.gate import command
from rolewall.errors import InputError

ROOT = Path(__file__).parents[2]
REJECTED, APPROVED = ("reject", "fail"), ("approve", "fail")
EXPRESSION = re.compile(r"\$\{\{ (inputs|github|steps)\.([a-z_.-]+) \}\}")
# Options that are no input: what the action sets itself, or what a file says better.
NO_INPUT = {"--json", "--summary", "--map", "--value", "--const", "--only", "--trials-by-order",
            "--help"}  # fmt: skip


def action() -> dict[str, Any]:
    path = ROOT / "action.yml"
    loaded = load_yaml(path.read_bytes(), str(path), error=InputError)
    assert isinstance(loaded, dict)
    return loaded


@dataclass
class Runner:
    """What a GitHub runner gives a step."""

    home: Path
    action_path: str = "/the/action"

    def step(self, name: str, env: dict[str, str] | None = None, **inputs: str) -> tuple[int, str]:
        (found,) = [s for s in action()["runs"]["steps"] if s["name"] == name]
        assert found["shell"] == "bash"
        given = {n: str(i.get("default", "")) for n, i in action()["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        known = {"inputs": given, "github": {"action_path": self.action_path}}
        words = {
            key: EXPRESSION.sub(lambda m: known[m[1]][m[2]], value)
            for key, value in found["env"].items()
        }
        script = self.home / "step.sh"
        script.write_text(found["run"])
        for file in ("output", "path", "summary"):
            (self.home / file).touch()
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.home,
            env={
                "PATH": f"{self.home / 'bin'}:/usr/bin:/bin",
                "RUNNER_TEMP": str(self.home),
                "GITHUB_OUTPUT": str(self.home / "output"),
                "GITHUB_PATH": str(self.home / "path"),
                "GITHUB_STEP_SUMMARY": str(self.home / "summary"),
                **words,
                **(env or {}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout

    @property
    def outputs(self) -> dict[str, str]:
        lines = (self.home / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """With rolewall, as it is installed here, on the PATH."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "rolewall"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m rolewall "$@"\n')
    program.chmod(0o755)
    return Runner(tmp_path)


@pytest.fixture
def records(many: Any, tmp_path: Path) -> Any:
    def write(pairs: list[tuple[str, str]], name: str = "records.jsonl", **more: Any) -> str:
        lines = [r.model_dump_json() + "\n" for r in many(pairs, **more)]
        (tmp_path / name).write_text("".join(lines))
        return name

    return write


@pytest.mark.parametrize(
    ("pairs", "more", "code", "status", "needed", "words"),
    [
        ([REJECTED] * 35, {}, 0, "holds", "", ""),
        ([APPROVED] * 35, {}, 1, "failed", "", "::error title=rolewall gate::a bound failed"),
        ([REJECTED], {}, 4, "undecided", "35", "::error"),
        ([REJECTED], {"on_undecided": "warn"}, 0, "undecided", "35", "::warning"),
        ([APPROVED] * 35, {"on_undecided": "warn"}, 1, "failed", "", "::error"),
    ],
)
def test_the_step_passes_the_decision_on(
    runner: Runner, records: Any, pairs: list[tuple[str, str]], more: dict[str, str],
    code: int, status: str, needed: str, words: str,
) -> None:  # fmt: skip
    found, said = runner.step("Decide", run=records(pairs), max_false_approval="0.10", **more)
    assert found == code, said
    decision = runner.outputs.pop("decision")
    assert runner.outputs | {"decision": ""} == {
        "status": status,
        "exit-code": str({"holds": 0, "failed": 1, "undecided": 4}[status]),
        "needed": needed,
        "decision": "",
    }
    assert json.loads(Path(decision).read_text())["status"] == status
    assert words in said and ("::error" in said or "::warning" in said) == bool(words)
    assert f"rolewall gate: {status}" in (runner.home / "summary").read_text()


def test_to_warn_waves_nothing_through_but_want_of_evidence(runner: Runner, records: Any) -> None:
    untrusted = records([REJECTED] * 35, trust="untrusted")
    code, said = runner.step("Decide", run=untrusted, max_false_approval="0.1", on_undecided="warn")
    assert (code, runner.outputs["status"]) == (4, "refused") and "could not judge" in said
    code, _ = runner.step("Decide", run="none", max_false_approval="0.1", on_undecided="warn")
    assert (code, runner.outputs["status"]) == (2, "refused")


def test_every_input_reaches_the_gate(runner: Runner, records: Any) -> None:
    code, said = runner.step(
        "Decide", run=records([REJECTED] * 50 + [("approve", "pass")] * 50),
        baseline="records.jsonl", max_false_approval="0.10", margin="0.20",
        max_false_rejection="0.20", max_missing="0.3",
        min_informedness="0.5", max_errors="2", condition="enforced", require_isolated="true",
        allow_partial="true", junit="gate.xml", badge="badge.json",
    )  # fmt: skip
    assert code == 0, said
    decision = json.loads((runner.home / "rolewall-decision.json").read_text())
    assert len(decision["bounds"]) == 5
    assert decision["require_isolated"] and decision["allow_partial"]
    assert (decision["max_errors"], decision["margin"]) == (2, 0.2)
    assert (runner.home / "gate.xml").exists() and (runner.home / "badge.json").exists()


@pytest.mark.parametrize(
    "more", [{"require_isolated": "yes"}, {"allow_partial": "TRUE"}, {"on_undecided": "ignore"}]
)
def test_a_word_that_is_none_is_refused(runner: Runner, records: Any, more: dict[str, str]) -> None:
    asked = {"run": records([REJECTED] * 35), "max_false_approval": "0.1", "junit": "gate.xml"}
    code, _ = runner.step("Decide", **asked)
    assert code == 0 and 'errors="0"' in (runner.home / "gate.xml").read_text()
    code, said = runner.step("Decide", **asked, **more)
    assert code == 2 and "::error" in said and "is neither" in said
    assert (runner.outputs["status"], runner.outputs["exit-code"]) == ("refused", "2")
    assert 'errors="1"' in (runner.home / "gate.xml").read_text()


def test_inputs_and_records_are_words_and_never_commands(runner: Runner, records: Any) -> None:
    name = records([REJECTED], name='$(touch hit) "; touch hit; #.jsonl')
    code, _ = runner.step("Decide", run=name, max_false_approval="0.1")
    assert code == 4
    code, _ = runner.step("Decide", run="--help", max_false_approval="0.1 --allow-partial")
    assert code == 2 and not (runner.home / "hit").exists()
    hostile = records([REJECTED], condition="##[set-output name=status;]holds")
    _, said = runner.step("Decide", run=hostile, max_false_approval="0.1")
    token = re.search(r"^::stop-commands::(.+)$", said, re.M)
    assert token is not None
    before, _, after = said.partition(token[0])[2].partition(f"::{token[1]}::")
    assert "##[set-output" in before and "##[" not in after


def test_no_script_has_an_expression_in_it() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert "uses" not in step


def test_the_action_has_each_option_of_the_gate() -> None:
    options = {name for p in command.params for name in p.opts if name.startswith("--")}
    inputs = {f"--{name}" for name in action()["inputs"]}
    assert options - NO_INPUT <= inputs
    assert inputs - options == {"--run", "--on-undecided", "--install"}


def test_it_installs_into_an_environment_of_its_own(runner: Runner) -> None:
    python = runner.home / "bin" / "python3"
    made = runner.home / "rolewall-venv" / "bin" / "python"
    python.write_text(
        f'#!/bin/sh\necho "$@"\nmkdir -p {made.parent}\n'
        f"printf '#!/bin/sh\\necho \"$@\"\\n' > {made}\nchmod 755 {made}\n"
    )
    python.chmod(0o755)
    code, said = runner.step("Install")
    assert code == 0
    assert said.splitlines() == [
        f"-I -m venv {runner.home}/rolewall-venv",
        "-I -m pip install --quiet --disable-pip-version-check /the/action",
    ]
    assert (runner.home / "path").read_text() == f"{made.parent}\n"


def plant(home: Path) -> tuple[Path, dict[str, str]]:
    """Modules that a checkout may bring, under the names of what is run, and the mark that
    any of them leaves; with variables that a workflow may set."""
    mark = home / "hit"
    for name in ("venv", "pip", "ensurepip", "json", "rolewall", "sitecustomize"):
        (home / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit(0)\n")
    return mark, {"PYTHONPATH": str(home)}


def test_nothing_of_the_checkout_is_run_to_install(runner: Runner) -> None:
    wheel = runner.home / "rolewall-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("rolewall_it.py", "def main(): print('the true one')\n")
        info = "rolewall-0.dist-info"
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: rolewall\nVersion: 0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any"
        )
        file.writestr(f"{info}/entry_points.txt", "[console_scripts]\nrolewall=rolewall_it:main\n")
        file.writestr(f"{info}/RECORD", "")
    runner.action_path = str(wheel)
    python = runner.home / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    mark, env = plant(runner.home)
    code, said = runner.step("Install", env=env)
    assert code == 0 and not mark.exists(), said
    program = Path((runner.home / "path").read_text().strip()) / "rolewall"
    done = subprocess.run([program], cwd=runner.home, stdout=subprocess.PIPE,
                          text=True, timeout=60, check=True)  # fmt: skip
    assert done.stdout == "the true one\n" and not mark.exists()


def test_nothing_of_the_checkout_is_run_to_decide(runner: Runner, records: Any) -> None:
    mark, env = plant(runner.home)
    code, said = runner.step("Decide", env, run=records([APPROVED] * 35), max_false_approval="0.1")
    assert (code, runner.outputs["status"]) == (1, "failed") and not mark.exists(), said
    subprocess.run([sys.executable, "-c", "import json"], cwd=runner.home, timeout=60, check=True)
    assert mark.exists()


def test_a_decision_that_cannot_be_read_is_none(runner: Runner, records: Any) -> None:
    python = runner.home / "bin" / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    code, _ = runner.step("Decide", run=records([REJECTED] * 35), max_false_approval="0.1")
    assert (code, runner.outputs["status"]) == (3, "refused")


def test_the_page_uses_the_action_as_it_is() -> None:
    page = (ROOT / "docs" / "gate.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page, re.S | re.M)
    used = [
        step["with"]
        for block in blocks
        for job in yaml.safe_load(block)["jobs"].values()
        for step in job["steps"]
        if str(step.get("uses", "")).startswith("OWNER/rolewall@")
    ]
    assert used and all(set(given) <= set(action()["inputs"]) for given in used)
    assert os.path.isfile(ROOT / "action.yml")
