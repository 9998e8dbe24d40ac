"""The digest of the code: every part that decides what an episode is stands in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall.code import COMPONENTS, code_version, digest_code

ROOT = Path(__file__).parents[1]
Roots = dict[str, Path]


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    """A copy of the code as a checkout has it: components beside, and links to them."""
    no_copies = shutil.ignore_patterns("__pycache__", "*.o")
    found = {"": tmp_path / "src" / "rolewall", **{n: tmp_path / n for n in COMPONENTS}}
    for name, path in found.items():
        source = ROOT / name if name else ROOT / "src" / "rolewall"
        shutil.copytree(source, path, symlinks=True, ignore=no_copies)
    return found


def test_the_running_code_is_digested_with_its_components(roots: Roots) -> None:
    assert code_version() == digest_code(roots)


@pytest.mark.parametrize(
    ("component", "file"),
    [
        ("", "plan.py"),
        ("", "cli/run.py"),
        ("policies", "classify.py"),
        ("roles", "verdict.py"),
        ("graders", "pytest_plugin.py"),
        ("sandbox", "tap/bpf.py"),
        ("sandbox", "docker/seccomp.json"),
        ("sandbox", "init/rolewall-init"),
    ],
)
def test_another_byte_is_other_code(roots: Roots, component: str, file: str) -> None:
    before = digest_code(roots)
    path = roots[component] / file
    path.write_bytes(path.read_bytes() + b"\n")
    assert digest_code(roots) != before


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "more.py").write_text(""),
        lambda root: (root / "script.py").rename(root / "scripts.py"),
        lambda root: (root / "script.py").unlink(),
    ],
)
def test_a_file_more_less_or_renamed_is_other_code(
    roots: Roots, change: Callable[[Path], object]
) -> None:
    before = digest_code(roots)
    change(roots["graders"])
    assert digest_code(roots) != before


def test_what_is_no_code_changes_nothing(roots: Roots) -> None:
    before = digest_code(roots)
    (roots["graders"] / "README.md").write_text("other words\n")
    (roots["graders"] / "__pycache__").mkdir()
    (roots["graders"] / "__pycache__" / "script.pyc").write_bytes(b"x")
    assert digest_code(roots) == before


def test_installed_or_from_a_checkout_it_is_the_same_code(roots: Roots, tmp_path: Path) -> None:
    installed = tmp_path / "site" / "rolewall"
    shutil.copytree(roots[""], installed, symlinks=True)
    for name in COMPONENTS:
        (installed / name).unlink()
        shutil.copytree(roots[name], installed / name)
    inside = {"": installed, **{name: installed / name for name in COMPONENTS}}
    assert digest_code(inside) == digest_code(roots)
