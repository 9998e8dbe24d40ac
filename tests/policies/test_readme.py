from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "policies" / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 1
    exec(blocks[0], {})
    assert capsys.readouterr().out == "/workspace False builder\n/findings True reviewer\n"


@pytest.mark.parametrize("component", ["policies", "roles"])
def test_the_index_names_every_module(component: str) -> None:
    text = (ROOT / component / "README.md").read_text()
    named = set(re.findall(r"^\| `(\w+\.py)` \|", text, re.MULTILINE))
    there = {path.name for path in (ROOT / component).glob("*.py")} - {"__init__.py"}
    assert named == there
