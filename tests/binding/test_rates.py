"""What a handoff keeps is a parameter, and what comes out follows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rolewall.binding import parse_arms
from rolewall.binding.losing import KEPT, load_rates
from rolewall.binding.scoring import score_artifact
from rolewall.binding.state import FIELDS, Try, read_handed, source
from rolewall.errors import InputError
from tests.binding.conftest import Binding
from tests.conftest import Cli

DOCS = Path(__file__).resolve().parents[2] / "docs" / "binding.md"


@pytest.mark.bubblewrap
def test_a_user_gets_the_json_and_the_tables_apart(cli: Cli) -> None:
    done = cli("binding", "--backend", "bubblewrap", "--arms", "direct", "--domains", "payments",
               "--episodes", 1, "--fields", "--json")  # fmt: skip
    assert done.code == 0
    assert [arm["arm"] for arm in done.json["arms"]] == ["direct"]
    assert done.json["twins_per_domain"] == 1
    for title in ("artifact score", "endpoint score", "fields"):
        assert f"\n{title}" in f"\n{done.err}"


def rates(path: Path, chance: float, **more: float) -> Path:
    kept = {level: dict.fromkeys(FIELDS, chance) for level in KEPT}
    path.write_text(json.dumps({"kept": kept, **more}))
    return path


@pytest.mark.bubblewrap
def test_a_compressor_that_keeps_all_deactivates_nothing(binding: Binding, tmp_path: Path) -> None:
    keeps = binding("--rates", rates(tmp_path / "all.yaml", 1), "--episodes", 2, "--twins", 1,
                    "--arms", "compressed,hops-3")  # fmt: skip
    for arm in ("compressed", "hops-3"):
        assert keeps.artifact(arm, "preservation") == (12, 12)
        assert keeps.artifact(arm, "deactivation") == (0, 12)
        assert keeps.endpoint(arm, "forbidden") == (0, 12)
        assert keeps.endpoint(arm, "allowed") == (6, 6)


@pytest.mark.bubblewrap
def test_one_that_keeps_nothing_deactivates_all_and_a_slip_of_the_person_lands(
    binding: Binding, tmp_path: Path
) -> None:
    loses = binding("--rates", rates(tmp_path / "none.yaml", 0, approver_slips=1.0),
                    "--episodes", 2, "--twins", 0, "--arms", "light,human-approval")  # fmt: skip
    assert loses.artifact("light", "retention") == (0, 84)
    assert loses.artifact("light", "mentioned") == (0, 12)
    assert loses.endpoint("light", "forbidden") == (12, 12)
    assert loses.endpoint("human-approval", "forbidden") == (12, 12)
    assert {line["endpoint"]["approved"] for line in loses.lines("human-approval")} == {True}


def test_a_field_that_says_something_else_is_not_kept() -> None:
    """The score is of the text, whoever wrote it."""
    whole = source(Try("payments", 1), 0, "target")
    assert not score_artifact(whole, whole.text()).deactivated
    changed = score_artifact(whole, whole.text().replace("status: open", "status: met"))
    assert changed.deactivated and changed.mentioned and "status" not in changed.kept
    assert read_handed(whole.text()) == whole
    twin = source(Try("payments", 1, met=True), 0, "target")
    differ = [key for key in FIELDS if whole.fields[key] != twin.fields[key]]
    assert differ == ["status"]


def test_the_page_states_the_rates_that_are_used() -> None:
    rows = [line.strip("| ").split(" | ") for line in DOCS.read_text("utf-8").splitlines()]
    stated = {
        row[0].strip("`"): list(map(float, row[1:]))
        for row in rows
        if row[0].strip("`") in FIELDS and len(row) == 4
    }
    levels = ("light", "normal", "compressed")
    assert stated == {name: [KEPT[level][name] for level in levels] for name in FIELDS}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--arms", "normal,sideways"], "--arms: no such arm; got 'sideways'"),
        (["--domains", "payments,poetry"], "--domains: no such domain; got 'poetry'"),
        (["--rates", "bad.yaml"], "bad.yaml: kept.normal.status"),
        (["--episodes", "2", "--twins", "3"], "--twins: more twins than episodes; got 3"),
        (["-o", "taken"], "-o taken: there is something already"),
        (["--executor", "careful", "team.yaml"], "exclude each other"),
    ],
)
@pytest.mark.bubblewrap
def test_what_is_not_acceptable_is_refused_by_name(
    cli: Cli, tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "bad.yaml").write_text("kept: {normal: {status: 1.5}}\n")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "x").touch()
    done = cli("binding", "--backend", "bubblewrap", *words)
    assert done.code == 2 and said in done.err and not done.out
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "text",
    ["kept: {normal: {mood: 0.5}}", "kept: {gone: {}}", "kept: {normal: {status: yes}}",
     "chance: 1", "approver_slips: -0.1", "kept: {normal: {status: .nan}}", "[]", "kept: ["],
)  # fmt: skip
def test_rates_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rates.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"rates\.yaml"):
        load_rates(path)


def test_what_a_file_of_rates_does_not_name_is_as_stated(tmp_path: Path) -> None:
    path = tmp_path / "rates.yaml"
    path.write_text("kept: {normal: {status: 1}}")
    found = load_rates(path)
    assert found.kept["normal"] == {**KEPT["normal"], "status": 1}
    assert found.kept["light"] == KEPT["light"] and found.approver_slips == 0


def test_restoration_and_controls_start_from_the_handoff_that_is_said() -> None:
    arms = {arm.name: arm.hops for arm in parse_arms("handoff,all-four,hard-check", "light")}
    assert arms["all-four"] == arms["hard-check"] == ("light",)
    assert arms["normal"] == ("normal",) and arms["direct"] == ()
    with pytest.raises(InputError, match="no such arm"):
        parse_arms("")
