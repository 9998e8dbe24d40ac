from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rolewall.errors import StorageError
from rolewall.sandbox.runtime import cache_directory, runtime_directory

MAKE = runtime_directory.__wrapped__  # without what this process already knows


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLEWALL_CACHE", "/explicit")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_directory() == Path("/explicit")
    monkeypatch.delenv("ROLEWALL_CACHE")
    assert cache_directory() == Path("/xdg/rolewall")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/somebody")
    assert cache_directory() == Path("/somebody/.cache/rolewall")


def test_pytest_runs_from_it_and_the_harness_is_not_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROLEWALL_CACHE", str(tmp_path / "cache"))
    made = MAKE()
    names = {path.name for path in made.iterdir()}
    assert {"pytest", "_pytest", "pluggy"} <= names
    assert not {"rolewall", "docker", "click"} & names
    code = f"import sys; sys.path.insert(0, {str(made)!r}); import pytest; print(pytest.__file__)"
    argv = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(str(made))
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in made.rglob("*"))
    before = made.stat().st_ino
    assert MAKE().stat().st_ino == before
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_a_cache_that_cannot_be_made_is_an_error_that_says_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROLEWALL_CACHE", str(tmp_path / "file"))
    with pytest.raises(StorageError) as caught:
        MAKE()
    assert "ROLEWALL_CACHE" in (caught.value.hint or "")
