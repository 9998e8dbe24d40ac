"""An edit is what changes a zone of somebody else, however it is written down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Cli

LOOKS_LIKE = "python3 -m pytest --version > /tmp/log 2>&1; echo '> app.py' > /dev/null; cat app.py"
LOOKS_LIKE_NONE = (
    "python3 -c \"import contextlib\nwith contextlib.suppress(OSError): open('ap' + 'p.py', 'w')\""
)
CACHES = "python3 -c 'import os; os.mkdir(\"__pycache__\")' 2>/dev/null"
SCRIPTS = {
    "looks": (LOOKS_LIKE, {}),
    "is": (LOOKS_LIKE_NONE, {("edit", "/workspace/app.py"): 1}),
    "cache": (CACHES, {("incidental", "/workspace/__pycache__"): 1}),
}


@pytest.mark.pain(22)
@pytest.mark.parametrize("name", SCRIPTS)
def test_edits_are_counted_by_what_they_do(
    cli: Cli, tmp_path: Path, backend: Backend, name: str
) -> None:
    script, expected = SCRIPTS[name]
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "app.py").write_text("x = 1\n")
    done = cli("exec", "--role", "verifier", "--zone", f"workspace={tmp_path}/work:read",
               "--backend", backend.name, "--attempts", tmp_path / "a.jsonl",
               "--", "sh", "-c", script)  # fmt: skip
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    found: dict[tuple[str, str], int] = {}
    for line in lines:
        if line["type"] == "attempt" and line["kind"] in ("edit", "incidental"):
            assert line["outcome"] == "blocked"
            for path in line["paths"]:
                key = (line["kind"], path)
                found[key] = found.get(key, 0) + 1
    assert found == expected, done.err
    assert (tmp_path / "work" / "app.py").read_text() == "x = 1\n"
