"""Whatever a verifier leaves in the place of its verdict is a verdict or ``missing``."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Cli, Studio

APPROVE = (
    '{"schema_version": 1, "nonce": "$NONCE", "verdict": "approve", "checks": [], "commands": []}'
)
# Approvals have the verifier's own nonce: only the kind of file is in their way.
KINDS = {
    "plain": f"cat > /verdict/verdict.json <<END\n{APPROVE}\nEND\n",
    "link-own": f"cat > /verdict/v <<END\n{APPROVE}\nEND\nln -s v /verdict/verdict.json",
    "fifo-fed": f"mkfifo /verdict/verdict.json; (echo '{APPROVE}' > /verdict/verdict.json) &",
    "link-work": "ln -s /workspace/verdict.json /verdict/verdict.json",
    "link-host": "ln -s HOST/verdict.json /verdict/verdict.json",
    "link-loop": "ln -s verdict.json /verdict/verdict.json",
    "link-zone": "ln -s ../workspace/verdict.json /verdict/verdict.json",
    "fifo": "mkfifo /verdict/verdict.json",
    "directory": "mkdir -p /verdict/verdict.json/verdict.json",
    "closed": "echo {} > /verdict/verdict.json; chmod 0 /verdict/verdict.json /verdict",
    "large": "truncate -s 200M /verdict/verdict.json",
}


@pytest.fixture
def host() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rolewall-host-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.pain(6)
@pytest.mark.pain(25)
def test_only_a_plain_file_is_a_verdict(
    cli: Cli, studio: Studio, backend: Backend, host: Path
) -> None:
    (host / "verdict.json").write_text(APPROVE)
    task = "".join(f"{name}) {words} ;;\n" for name, words in KINDS.items())
    find = "NONCE=$(grep -o '[0-9a-f]\\{32\\}' /rolewall/prompt.md | head -1)\n"
    leave = find + f"case $ROLEWALL_TASK in\n{task.replace('HOST', str(host))}esac"
    verifier = {"steps": [{"run": leave}]}
    executor = {"steps": [{"run": f"echo '{APPROVE}' > verdict.json"}]}
    team = studio.team(executor=executor, verifier=verifier)
    tasks = [word for name in KINDS for word in ("--tasks", studio.task(name))]
    out = studio.path / "out"
    done = cli("run", team, *tasks, "--backend", backend.name, "-o", out)
    assert done.code == 0, done.err
    records = [json.loads(p.read_text()) for p in (out / "episodes").glob("*/episode.json")]
    found = {record["task"]: (record["status"], record["verdict"]) for record in records}
    assert found.pop("plain") == ("complete", "approve"), "the twin"
    assert found == {name: ("complete", "missing") for name in KINDS if name != "plain"}
    assert (host / "verdict.json").read_text() == APPROVE
