"""A verdict that is missing: the rate each way, wherever the rate is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Cli


@pytest.mark.pain(21)
def test_the_rate_is_told_with_missing_verdicts_each_way(cli: Cli, builder: Any) -> None:
    said = {"approve": 4, "reject": 4, "missing": 8}
    for verdict, number in said.items():
        for n in range(number):
            builder.add(task=f"{verdict}{n}", verdict=verdict, grade="fail")
    run = builder.finish()
    shown = cli("show", run, "--json")
    (row,) = shown.json["table"]["conditions"]
    rates = row["false_approvals"]
    found = {n: (rates[n]["events"], rates[n]["total"]) for n in ("excluded", "as_reject")}
    assert found == {"excluded": (4, 8), "as_reject": (4, 16)}
    assert (rates["verifier_failure"]["events"], rates["verifier_failure"]["total"]) == (12, 16)
    text = cli("show", run).out
    assert all(f"{n}/{m}" in text for n, m in ((4, 8), (4, 16), (12, 16)))
    gate = cli("gate", run, "--max-false-approval", "0.6", "--json")
    assert gate.code == 4 and gate.json["false_approvals"]["as_reject"]["events"] == 4
    assert json.loads(gate.out)["status"] == "undecided"
