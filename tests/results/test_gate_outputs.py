"""Every output says one decision, whatever it is, and nothing of what roles wrote gets out."""

from __future__ import annotations

import json
import os
import re
import signal
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rolewall.cli import _run
from rolewall.decision import Decision
from rolewall.gate import decide
from rolewall.gaterules import Rules
from rolewall.gating.badge import badge
from rolewall.gating.junit import junit
from rolewall.gating.outputs import Outputs
from rolewall.gating.summary import summary
from rolewall.interruption import SIGNALS
from rolewall.rows import Row, row_of

REJECTED, APPROVED, GOOD = ("reject", "fail"), ("approve", "fail"), ("approve", "pass")
SETS = {
    "holds": [REJECTED] * 35 + [GOOD] * 3,
    "failed": [APPROVED] * 20,
    "undecided": [REJECTED] * 3,
    "refused": [REJECTED] * 35 + [("missing", "error")],
}
CODES = {"holds": 0, "failed": 1, "undecided": 4, "refused": 3}
HOSTILE = (
    "x\x1b[31m</failure><script>alert(1)</script>|`*[a](b)&amp;\u202e\ufffe\x00\ud800\n::error::]]>"
)
# What junit-10.xsd of Jenkins' xUnit plugin allows: element → attributes (* required), children.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log",
         "url", "version"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}  # fmt: skip


@pytest.fixture
def records(many: Any, tmp_path: Path) -> Callable[[str], Path]:
    def write(name: str) -> Path:
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(r.model_dump_json() + "\n" for r in many(SETS[name])))
        return path

    return write


@pytest.fixture
def decided(many: Any) -> Callable[[str], Decision]:
    def make(name: str) -> Decision:
        return decide(tuple(map(row_of, many(SETS[name]))), Rules(0.10), place=f"{name}.jsonl")

    return make


def allowed(element: ET.Element) -> None:
    required, more, children = SCHEMA[element.tag]
    assert required <= set(element.attrib) <= required | more
    for child in element:
        assert child.tag in children
        allowed(child)


@pytest.mark.pain(20)
@pytest.mark.parametrize("name", SETS)
def test_every_output_says_the_same(
    records: Callable[[str], Path], cli: Any, tmp_path: Path, name: str
) -> None:
    step = tmp_path / "step.md"
    step.write_text("another step's words\n")
    ran = cli("gate", records(name), "--max-false-approval", "0.10", "--json",
              "--junit", "out/gate.xml", "--badge", "badge.json", "--summary", "auto",
              env={"GITHUB_STEP_SUMMARY": str(step)})  # fmt: skip
    assert ran.code == ran.json["exit_code"] == CODES[name]
    assert ran.json["status"] == name and ran.err.startswith(f"{name}: ")
    root = ET.parse(tmp_path / "out" / "gate.xml").getroot()
    allowed(root)
    said = {p.get("name"): p.get("value") for p in root.iter("property")}
    assert (said["status"], said["exit_code"]) == (name, str(CODES[name]))
    assert (int(root.attrib["failures"]) + int(root.attrib["errors"]) > 0) == (name != "holds")
    assert root.findtext("testsuite/system-out") == ran.err.removesuffix("\n")
    text = step.read_text()
    assert text.startswith("another step's words\n") and f"rolewall gate: {name}\n" in text
    shown = json.loads((tmp_path / "badge.json").read_text())
    assert shown["message"].endswith(name) and shown["schemaVersion"] == 1


def test_there_is_a_test_case_for_each_bound(many: Any) -> None:
    rules = Rules(0.10, max_false_rejection=0.10, max_missing=0.50)
    decision = decide(tuple(map(row_of, many([REJECTED] * 35 + [("reject", "pass")] * 10))), rules)
    root = ET.fromstring(junit(decision))
    allowed(root)
    found = {case.attrib["name"]: [child.tag for child in case] for case in root.iter("testcase")}
    assert found == {
        "the episodes may be weighed": [],
        "false approvals by 0.1": [],
        "false rejections by 0.1": ["failure"],
        "missing verdicts by 0.5": [],
    }
    assert root.attrib["tests"] == "4" and root.attrib["failures"] == "1"
    assert summary(decision).count("\n| ") == 4  # the head, and a line a bound


def hostile() -> Decision:
    row = Row(HOSTILE, HOSTILE, 0, "reject", "fail", failures=(HOSTILE,))
    return decide((row,), Rules(0.10), place=HOSTILE)


def test_names_are_text_in_every_output() -> None:
    decision = hostile()
    data = junit(decision)
    allowed(ET.fromstring(data))
    assert not re.search(rb"[\x00-\x08\x0b-\x1f]", data) and b"<script" not in data
    text = summary(decision)
    assert "\x1b" not in text and "<script" not in text and "\u202e" not in text
    assert not any(line.startswith("::") for line in text.splitlines())
    assert "\\[a\\]\\(b\\)" in text  # no link
    assert r"\|" in text and json.loads(json.dumps(badge(decision)))["message"]


def test_bad_input_stands_in_the_files_too(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "gate.xml").write_text("of the last time")
    ran = cli("gate", "none.jsonl", "--max-false-approval", "0.1", "--junit", "gate.xml",
              "--summary", "gate.md", "--badge", "badge.json")  # fmt: skip
    assert ran.code == 2 and ran.err.count("\n") == 1
    root = ET.parse(tmp_path / "gate.xml").getroot()
    allowed(root)
    assert root.attrib["errors"] == "1" and "cannot read" in (tmp_path / "gate.md").read_text()
    assert json.loads((tmp_path / "badge.json").read_text())["isError"] is True


FILES = ("--junit", "gate.xml", "--summary", "gate.md", "--badge", "badge.json")


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The exit code of the gate, in this process, which then heeds signals as before."""
    monkeypatch.chdir(tmp_path)
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def run(*words: object) -> int:
        monkeypatch.setattr("sys.argv", ["rolewall", "gate", *map(str, words)])
        return _run()[0]

    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


def all_say(status: str, directory: Path) -> bool:
    return (
        f'name="status" value="{status}"' in (directory / "gate.xml").read_text()
        and f"rolewall gate: {status}\n" in (directory / "gate.md").read_text()
        and json.loads((directory / "badge.json").read_text())["message"].endswith(status)
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--max-false-approval", "nan"),
        ("--max-false-approval", "x"),
        ("--mapping", "nope.yaml"),
        ("--map", "verdict"),
        ("--max-errors=x",),
        ("--max-errors", "-1"),
        ("--allow-partial=yes",),
        ("--no-such-option", "3"),
        ("one", "too", "many"),
        ("--condition", "another"),
        ("--baseline", "none.jsonl"),
        ("--condition",),
    ],
)
def test_nothing_green_is_left_where_there_is_no_decision(
    records: Callable[[str], Path], gate: Any, tmp_path: Path, words: tuple[str, ...]
) -> None:
    asked = (records("holds"), "--max-false-approval", "0.10")
    assert gate(*asked, *FILES) == 0 and all_say("holds", tmp_path)
    first = words if words != ("--condition",) else ()  # which wants a word after it
    assert gate(*asked, *first, *FILES, *words) == 2 and all_say("refused", tmp_path)


@pytest.mark.parametrize("word", ["directory", "link", "gate.md"])
def test_what_is_no_file_leaves_nothing_else_green(
    records: Callable[[str], Path], gate: Any, tmp_path: Path, word: str
) -> None:
    asked = (records("holds"), "--max-false-approval", "0.10", "--summary", "gate.md", "--badge",
             "badge.json", "--junit")  # fmt: skip
    assert gate(*asked, "gate.xml") == 0 and all_say("holds", tmp_path)
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert gate(*asked, word) == 2
    assert json.loads((tmp_path / "badge.json").read_text())["isError"]
    assert "gate: holds" not in (tmp_path / "gate.md").read_text()
    assert (tmp_path / "link").is_symlink() and not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_a_gate_that_is_ended_leaves_nothing_green(
    records: Callable[[str], Path], gate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
) -> None:  # fmt: skip
    asked = (records("holds"), "--max-false-approval", "0.10", *FILES)
    assert gate(*asked) == 0

    def ended(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("rolewall.gate.decide_dataset", ended)
    monkeypatch.delenv("ROLEWALL_DEBUG", raising=False)
    assert gate(*asked) == (130 if error is KeyboardInterrupt else 3)
    assert all_say("refused", tmp_path)


def test_a_forgotten_name_does_not_cost_the_records(
    records: Callable[[str], Path], gate: Any, tmp_path: Path
) -> None:
    path = records("holds")
    before = path.read_bytes()
    assert gate("--badge", "badge.json", "--junit", path, "--max-false-approval", "0.1") == 2
    assert path.read_bytes() == before and (tmp_path / "badge.json").exists()


@pytest.mark.parametrize(("name", "code"), [("holds", 3), ("failed", 1), ("undecided", 4)])
def test_a_file_that_cannot_be_written_is_said_after_the_text(
    records: Callable[[str], Path], cli: Any, tmp_path: Path, name: str, code: int
) -> None:
    (tmp_path / "file").write_text("")
    ran = cli("gate", records(name), "--max-false-approval", "0.10",
              "--junit", "file/gate.xml", "--badge", "badge.json")  # fmt: skip
    assert ran.code == code and ran.out.startswith(f"{name}: ")
    assert "file/gate.xml: cannot write: " in ran.err
    assert (tmp_path / "badge.json").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--summary", "auto"), "GITHUB_STEP_SUMMARY"),
        (("--junit", "directory"), "something that is no file"),
        (("--badge", "link"), "something that is no file"),
        (("--summary", "/dev/stdout"), "something that is no file"),
        (("--junit", "a.xml", "--badge", "./a.xml"), "one file for two outputs"),
    ],
)
def test_outputs_are_checked_before_anything_is_decided(
    cli: Any, tmp_path: Path, words: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    before = os.readlink("/dev/stdout")
    ran = cli("gate", "none.jsonl", "--max-false-approval", "0.1", *words,
              env={"GITHUB_STEP_SUMMARY": ""})  # fmt: skip
    assert ran.code == 2 and expected in ran.err and not ran.out
    assert os.readlink("/dev/stdout") == before and (tmp_path / "link").is_symlink()


def test_files_are_put_in_place_whole(decided: Callable[[str], Decision], tmp_path: Path) -> None:
    outputs = Outputs(junit=tmp_path / "a.xml", summary=tmp_path / "a.md")
    for name in SETS:
        inode = os.stat(tmp_path / "a.xml").st_ino if name != "holds" else 0
        outputs.write(decided(name), {})
        assert os.stat(tmp_path / "a.xml").st_ino != inode
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.md", "a.xml"]


def test_a_shard_is_named(builder: Any, cli: Any) -> None:
    for n in range(35):
        builder.add(task=f"t{n}", verdict="reject", grade="fail")
    run, asked = builder.finish(), ("--max-false-approval", "0.1", "--json")
    whole = cli("gate", run, *asked)
    assert whole.code == 0 and not any("shard" in note for note in whole.json["notes"])
    builder.finish(shard=(2, 3))
    shard = cli("gate", run, *asked, "--summary", "gate.md")
    assert shard.code == 0 and "note: this is shard 2 of 3 of what was planned" in shard.err
    assert "shard 2 of 3" in (run.parent / "gate.md").read_text()
    assert (
        "the baseline: this is shard" in cli("gate", run, "--baseline", run, "--margin", "0.2").out
    )


def test_another_confidence_is_named(many: Any) -> None:
    rows = tuple(map(row_of, many([REJECTED] * 35)))
    assert not any("confidence" in note for note in decide(rows, Rules(0.1)).notes)
    (note,) = [n for n in decide(rows, Rules(0.1, confidence=0.6)).notes if "confidence" in n]
    assert note == "the intervals are of 0.6 confidence, not of 0.95"


def test_a_gate_without_a_bound_is_refused(cli: Any, records: Callable[[str], Path]) -> None:
    ran = cli("gate", records("holds"))
    assert ran.code == 2 and "--max-false-approval: nothing bounds the false approvals" in ran.err


def test_a_baseline_through_the_command_line(cli: Any, records: Callable[[str], Path]) -> None:
    main, here = records("holds"), records("failed")
    ran = cli("gate", here, "--baseline", main, "--margin", "0.05", "--allow-partial", "--json")
    assert ran.code == 1 and ran.json["baseline"]["pairing"] == "unpaired"
    assert ran.json["bounds"][0]["seen"]["value"] == 1.0
    assert cli("gate", main, "--baseline", main, "--margin", "0.2").code == 0
    lone = cli("gate", main, "--baseline", main, "--max-false-approval", "0.1")
    assert lone.code == 2 and "both, or neither" in lone.err


@pytest.mark.parametrize(
    ("rules", "pairs", "label", "start"),
    [
        (Rules(0.10), [REJECTED] * 35, "false approvals", "0.0% to 9.9%, holds"),
        (Rules(0.10), [REJECTED] * 60 + [("missing", "fail")] * 30, "false approvals", "24.5% to"),
        (Rules(0.10, max_false_rejection=0.1), [REJECTED] * 35 + [("reject", "pass")] * 10,
         "false rejections", "72.2% to 100.0%, failed"),
        (Rules(0.10, min_informedness=0.9), [REJECTED] * 40 + [GOOD] * 10,
         "informedness", "+0.71 to +1.00, undecided"),
        (Rules(0.10), [], "false approvals", "undecided"),
        (Rules(0.10), [("reject", "error")], "verifier", "refused"),
    ],
)  # fmt: skip
def test_the_badge_says_what_decided_and_all_that_silence_may_hide(
    many: Any, rules: Rules, pairs: Any, label: str, start: str
) -> None:
    decision = decide(tuple(map(row_of, many(pairs))), rules)
    silent = any(verdict == "missing" for verdict, _ in pairs)
    assert ("With missing verdicts as rejects" in summary(decision)) == silent
    shown = badge(decision)
    assert shown["label"] == label and shown["message"].startswith(start)
