"""A sandbox opened from Python: its attempts, its errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolewall import InputError, RecordError, open_sandbox
from rolewall.errors import BoxError
from rolewall.library import Sandbox
from rolewall.policies import Access, Limits
from rolewall.sandbox import Backend
from rolewall.zones import AskedZone, zone_policy


def opened(backend: Backend, workspace: Path, attempts: Path | None) -> Sandbox:
    zone = AskedZone("workspace", workspace, Access.READ)
    policy = zone_policy("verifier", [zone], (), Limits())
    zones = {"workspace": workspace}
    return open_sandbox(policy, "verifier", zones, backend=backend, attempts=attempts)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def test_a_kept_record_is_continued_and_each_sandbox_tells_its_own(
    backend: Backend, workspace: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "attempts.jsonl"
    for name in ("one", "two"):
        with opened(backend, workspace, kept) as sandbox:
            sandbox.run(["mkdir", f"/workspace/{name}"])
            sandbox.finish()
        assert [a.paths for a in sandbox.attempts()] == [(f"/workspace/{name}",)]
    text = kept.read_text()
    assert "/workspace/one" in text and "/workspace/two" in text


def test_a_kept_record_that_was_altered_is_refused(
    backend: Backend, workspace: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "attempts.jsonl"
    kept.write_text("{}\n")
    with pytest.raises(RecordError, match="not a ledger line"):
        opened(backend, workspace, kept)
    assert kept.read_text() == "{}\n"


def test_run_raises_what_it_says(backend: Backend, workspace: Path) -> None:
    with opened(backend, workspace, None) as sandbox:
        with pytest.raises(InputError, match="NUL"):
            sandbox.run(["echo", "a\0b"])
        with pytest.raises(InputError, match="half a character"):
            sandbox.run(["echo", "\ud800"])
        assert sandbox.run(["true"]).returncode == 0
        sandbox.finish()
        with pytest.raises(BoxError):
            sandbox.run(["true"])
        with pytest.raises(InputError, match="finished already"):
            sandbox.finish()
    with pytest.raises(BoxError):
        sandbox.run(["true"])
