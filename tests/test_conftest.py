"""The switch that forbids to skip, and what is left out of the whole suite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
ROOT = str(CONFTEST.parents[1])
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
        env={**environment, "ROLEWALL_TEST_REQUIRE": required, "PYTHONPATH": ROOT},
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


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_is_left_out_for_its_length_is_told(tmp_path: Path, workers: str) -> None:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_it.py").write_text(
        "def test_short():\n    pass\n\ndef test_long():\n    0 / 0\n"
    )
    (tmp_path / "long.txt").write_text("# long\ntest_it.py::test_long\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    told = "left out for their length: 1 test, those of tests/long.txt; `make test-long`"
    assert told in whole(tmp_path, workers, 0).stdout
    assert told not in whole(tmp_path, workers, 1, ROLEWALL_TEST_LONG="1").stdout


def whole(
    directory: Path, workers: str, code: int, **environment: str
) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "ROLEWALL_TEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", workers],
        cwd=directory, env={**kept, **environment, "PYTHONPATH": ROOT}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout
    return done
