"""The switch that forbids to skip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
TESTS = {
    "inside a test": "def test_it():\n    pytest.skip('said so')\n",
    "in a fixture": (
        "@pytest.fixture\ndef thing():\n    pytest.skip('said so')\n\n"
        "def test_it(thing):\n    pass\n"
    ),
    "by a mark": "@pytest.mark.skipif(True, reason='said so')\ndef test_it():\n    pass\n",
    "a whole module": "pytest.skip('said so', allow_module_level=True)\n",
}


def run(directory: Path, text: str, required: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(CONFTEST, directory)
    (directory / "test_it.py").write_text(f"import pytest\n\n{text}")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(directory)],
        cwd=directory,
        env={**environment, "ROLEWALL_TEST_REQUIRE": required},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("where", TESTS)
def test_a_skip_is_a_failure_where_anything_is_required(tmp_path: Path, where: str) -> None:
    done = run(tmp_path, TESTS[where], "root")
    assert done.returncode in (1, 2), done.stdout
    assert "forbids to skip: " in done.stdout and "said so" in done.stdout
    assert "skipped" not in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("where", TESTS)
def test_a_skip_is_a_skip_where_nothing_is_required(tmp_path: Path, where: str) -> None:
    done = run(tmp_path, TESTS[where], "")
    assert done.returncode in (0, 5), done.stdout
    assert "1 skipped" in done.stdout


def test_an_expected_failure_stays_one(tmp_path: Path) -> None:
    text = "@pytest.mark.xfail(reason='known')\ndef test_it():\n    raise RuntimeError\n"
    done = run(tmp_path, text, "root")
    assert done.returncode == 0 and "1 xfailed" in done.stdout, done.stdout
