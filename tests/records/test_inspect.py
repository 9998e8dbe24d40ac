"""Inspect's logs. Those made by inspect-ai itself need the extra ``inspect``; what a log's
samples amount to is tested on samples of the same shape, everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.errors import RecordError
from rolewall.records import RecordMapping, read_dataset, read_mapping
from rolewall.records.inspect_logs import rows_of_samples

if TYPE_CHECKING:
    from conftest import Command, Put

SAID = RecordMapping(columns={"verdict": "scores.verifier", "grade": "scores.tests",
                              "condition": "metadata.arm"})  # fmt: skip
SPEC = {"task": "demo", "model": "mock/m", "dataset": {"sample_ids": ["a", 2]},
        "config": {"epochs": 2}}  # fmt: skip


def sample(name: str | int, epoch: int = 1, **more: Any) -> dict[str, Any]:
    scores = {
        "verifier": {"value": "approve", "answer": "ok", "metadata": {"says": {"first": "LGTM"}}},
        "tests": {"value": "I"},
    }
    return {"id": name, "epoch": epoch, "metadata": {"arm": "no-plan"}, "scores": scores,
            "total_time": 1.5, "error": None, "completed": True, **more}  # fmt: skip


def read(samples: list[dict[str, Any]], mapping: RecordMapping = SAID) -> Any:
    return rows_of_samples(SPEC, samples, mapping, "demo.eval")


def test_a_sample_is_a_task_and_an_epoch_a_trial() -> None:
    rows, notes, absent = read([sample("a"), sample("a", 2), sample(2)])
    assert [(r.task, r.trial, r.condition, r.verdict, r.grade) for r in rows] == [
        ("a", 1, "no-plan", "approve", "fail"),
        ("a", 2, "no-plan", "approve", "fail"),
        ("2", 1, "no-plan", "approve", "fail"),
    ]
    assert (rows[0].source.team, rows[0].source.model, rows[0].seconds) == ("demo", "mock/m", 1.5)
    assert (notes, absent) == ((), 1)


@pytest.mark.parametrize(
    ("dataset", "config", "total", "absent"),
    [
        ({"samples": 100}, {}, None, 98),
        ({"samples": 100, "sample_ids": None}, {"epochs": 2}, None, 198),
        ({"samples": 100}, {"limit": 5}, None, 3),
        ({"samples": 100}, {"limit": [90, 110]}, None, 8),
        ({"samples": 100}, {"sample_id": ["a", "b"]}, 2, 0),
        ({"sample_ids": ["a", "b"]}, {}, 7, 5),
        ({"sample_ids": ["a", "b"], "samples": 100}, {"limit": 2}, None, 0),
        ({"samples": 2}, None, None, 0),
    ],
)
def test_samples_that_were_planned_are_missed(
    dataset: Any, config: Any, total: int | None, absent: int
) -> None:
    spec = {**SPEC, "dataset": dataset, "config": config}
    found = rows_of_samples(spec, [sample("a"), sample("b")], SAID, "demo.eval", total=total)
    assert found[1:] == ((), absent)


@pytest.mark.parametrize("status", ["started", "cancelled", "error"])
def test_the_status_of_a_log_is_told_and_needed_where_nothing_else_tells(status: str) -> None:
    samples = [sample("a"), sample(2)]
    _, notes, absent = rows_of_samples(SPEC, samples, SAID, "demo.eval", status=status)
    assert (any(f"status is {status}" in note for note in notes), absent) == (True, 2)
    for dataset, config in (({}, {}), ({"samples": 9}, {"sample_id": "x*"})):
        spec = {**SPEC, "dataset": dataset, "config": config}
        with pytest.raises(RecordError, match=f"no one can tell to be whole; got 'status {status}"):
            rows_of_samples(spec, samples, SAID, "demo.eval", status=status)
        _, notes, absent = rows_of_samples(spec, samples, SAID, "demo.eval")
        assert ("does not say how many" in notes[0], absent) == (True, 0)


def test_samples_that_a_limit_halted_are_told() -> None:
    halted = [sample("a", limit="token"), sample(2, limit="time"), sample("a", 2, limit="token")]
    (note,) = read(halted)[1]
    assert note.startswith("3 samples halted by a limit (time 1, token 2)")


def test_a_verdict_from_within_a_score() -> None:
    mapping = read_mapping(
        columns=["verdict=scores.verifier.metadata.says.first", "grade=scores.tests"],
        values=["verdict:LGTM=approve"],
        constants=["condition=no-plan"],
    )
    assert read([sample("a")], mapping)[0][0].verdict == "approve"


def test_an_error_needs_no_scores() -> None:
    rows, _, _ = read([sample("a", error="RuntimeError('gone')", scores={}), sample(2)])
    assert (rows[0].error, rows[0].verdict, rows[0].grade) == (
        "RuntimeError('gone')", "missing", "error")  # fmt: skip


@pytest.mark.parametrize(
    ("mapping", "samples", "words"),
    [
        (RecordMapping(), [sample("a")], "what the `verdict` is; got 'scorers tests, verifier'"),
        (RecordMapping(columns={"verdict": "scores.verifier"}), [sample("a")], "the `grade` is"),
        (SAID, [sample("a", scores={"tests": {"value": "C"}})],
         ":1: no column for `verdict`.*scores.tests.*'scores.verifier'"),
        (SAID, [sample("a"), sample(2, scores={})], ":2: no `verdict`"),
        (SAID, [sample("a"), sample("a")], ":2: two records of one episode"),
        (SAID, [sample("a", scores={"verifier": {"value": "approve"}, "tests": {"value": "P"}})],
         ":1: not a value of `grade`; got 'P'.*--value grade:P=WORD"),
        (SAID, [sample("a", scores={"verifier": {"value": {"x": 1}}, "tests": {"value": "C"}})],
         ":1: `verdict` is no single value; got 'an object'"),
    ],
)  # fmt: skip
def test_refused(mapping: RecordMapping, samples: list[Any], words: str) -> None:
    with pytest.raises(RecordError, match=f"(?s)demo.eval.*{words}"):
        read(samples, mapping)


def test_without_inspect_the_way_to_it_is_said(
    put: Put, gate: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    for path in (put(b"PK\x03\x04", "a.eval"), put('{"version": 2, "status": "", "eval": {}}')):
        done = gate(path)
        assert done.code == 2
        assert "pip install 'rolewall[inspect]'" in done.text


OPTIONS = ("--map", "verdict=scores.verifier", "--map", "grade=scores.tests",
           "--map", "condition=metadata.arm")  # fmt: skip


MAKE_LOGS = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver

@solver
def works():
    async def solve(state, generate):
        if state.sample_id == "broken":
            raise RuntimeError("gone")
        return state
    return solve

def judge(name, values):
    @scorer(metrics=[accuracy()], name=name)
    def made():
        async def score(state, target):
            return Score(value=values[state.epoch - 1])
        return score
    return made()

samples = [Sample(input="x", target="y", id=name, metadata={"arm": "no-plan"})
           for name in ("fine", "broken")]
scorers = [judge("verifier", ("approve", "reject")), judge("tests", ("C", "I"))]
for form in ("eval", "json"):
    task = Task(dataset=samples, solver=works(), scorer=scorers, name="demo", epochs=2)
    eval(task, model="mockllm/model", log_dir=f"{sys.argv[1]}/{form}", log_format=form,
         display="none", fail_on_error=False)
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Logs in both formats, as inspect-ai writes them: two tasks twice, one of them broken."""
    place = tmp_path_factory.mktemp("logs")
    # In a process of its own: inspect-ai leaves streams of its own open.
    subprocess.run(
        [sys.executable, "-c", MAKE_LOGS, str(place)], check=True, timeout=300, cwd=place
    )
    return {form: next((place / form).iterdir()) for form in ("eval", "json")}


@pytest.mark.inspect
@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_real_log(logs: dict[str, Path], gate: Command, form: str) -> None:
    found = read_dataset(logs[form], SAID)
    fine = [row for row in found.rows if row.task == "fine"]
    assert [(r.trial, r.verdict, r.grade) for r in fine] == [
        (1, "approve", "pass"), (2, "reject", "fail")]  # fmt: skip
    assert [bool(row.error) for row in found.rows if row.task == "broken"] == [True, True]
    assert found.origin == "inspect"
    assert gate(logs[form], *OPTIONS).code == 3
    assert gate(logs[form], *OPTIONS, "--max-errors", "2").code == 4


@pytest.mark.inspect
def test_a_damaged_log_is_refused(logs: dict[str, Path], put: Put, gate: Command) -> None:
    data = logs["eval"].read_bytes()
    for content in (data[: len(data) // 2], b"PK\x03\x04junk"):
        done = gate(put(content, "cut.eval"), *OPTIONS)
        assert done.code == 2
        assert "not a log that inspect-ai reads" in done.text
