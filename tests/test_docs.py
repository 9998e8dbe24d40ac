"""What the documentation shows is what happens: examples, commands, options, links."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import rolewall
from rolewall.sandbox import Backend

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "bench" / "README.md"])
WITH_EXAMPLES = (ROOT / "README.md", ROOT / "docs" / "library.md")
EXAMPLE = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```$)?", re.S | re.M
)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.S | re.M)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
ROW = re.compile(r"^\| `rolewall ([\w-]+)[^`]*` \|(.*)\|$", re.M)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
VARIABLE = re.compile(r"[\"']((?:ROLEWALL|DOCKER|XDG)_[A-Z_]+)[\"']")
ANY_AUTO = re.compile(r'backend="auto"')
JOBS = {"run": ("--jobs", "2"), "compare": ("--jobs", "2")}


def examples() -> Iterator[object]:
    for page in WITH_EXAMPLES:
        for number, found in enumerate(EXAMPLE.finditer(page.read_text("utf-8")), 1):
            yield pytest.param(found["code"], found["output"], id=f"{page.stem}-{number}")


@pytest.mark.parametrize(("code", "output"), list(examples()))
def test_an_example_prints_what_the_page_says(
    code: str, output: str | None, backend: Backend, tmp_path: Path
) -> None:
    script = tmp_path / "example.py"
    script.write_text(ANY_AUTO.sub(f'backend="{backend.name}"', code), encoding="utf-8")
    ran = run([sys.executable, str(script)], tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert output is not None, "an example without its output"
    assert ran.stdout == output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_shows_of_a_shell_is_whole(page: Path) -> None:
    text = page.read_text("utf-8")
    indented = re.findall(
        r"(?:^    (?:python3|rolewall|pip|git|make|docker) .*\n(?:    .*\n)*)", text, re.M
    )
    for block in [*SHELL.findall(text), *map(textwrap.dedent, indented)]:
        done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True,
                              timeout=20, check=False)  # fmt: skip
        assert not done.stderr, block


def test_the_library_page_has_an_example_of_each_part() -> None:
    text = (ROOT / "docs" / "library.md").read_text("utf-8")
    shown = "".join(found["code"] for found in EXAMPLE.finditer(text))
    for name in ("policy_from_mapping", "open_sandbox", ".run(", ".attempts(", "seal_handoff",
                 "read_handoff", "grade_directory"):  # fmt: skip
        assert name in shown


def test_every_public_name_exists_and_stands_on_the_page() -> None:
    text = (ROOT / "docs" / "library.md").read_text("utf-8")
    for name in rolewall.__all__:
        assert getattr(rolewall, name) is not None
        documented = name.endswith("Error") or name == "ProbeFailed" or name.startswith("__")
        assert documented or f"`{name}`" in text, name


def test_importing_rolewall_loads_no_dependency() -> None:
    code = "import rolewall, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = set(run([sys.executable, "-c", code], ROOT).stdout.split())
    assert "rolewall" in loaded
    assert not loaded & {"docker", "pydantic", "scipy", "git", "yaml", "click", "rich", "pytest"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'open_sandbx'"):
        rolewall.open_sandbx  # noqa: B018


def test_the_readme_names_every_command_and_no_other() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    listed = run([rolewall_command(), "--help"], ROOT).stdout.partition("Commands:\n")[2]
    assert [name for name, _ in ROW.findall(readme)] == [
        line.split()[0] for line in listed.splitlines() if re.match(r"  \w", line)
    ]


@pytest.mark.parametrize(
    "command", [name for name, _ in ROW.findall((ROOT / "README.md").read_text("utf-8"))]
)
def test_the_readme_lists_exactly_the_options_of(command: str) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = dict(ROW.findall(readme))
    assert set(OPTION.findall(rows[command])) == options(command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_on_a_page_have_the_options_they_use(page: Path) -> None:
    for line in commands(page):
        words = shlex.split(line, comments=True)
        assert words[1].startswith("-") or options(words[1]), line
        own = words[2 : words.index("--")] if "--" in words else words[2:]
        assert {w for w in own if w.startswith("--")} <= options(words[1]), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_make_targets_on_a_page_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make (\w+)`", page.read_text("utf-8")):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_first_session_of_the_readme_runs(backend: Backend, tmp_path: Path) -> None:
    """Each command in turn, with the exit code that its comment states."""
    readme = (ROOT / "README.md").read_text("utf-8")
    session = readme.partition("## A first team and task")[2].partition("\n## ")[0]
    text = "".join(SHELL.findall(session)).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line]
    assert sum(line.startswith("rolewall ") for line in lines) >= 6
    at = tmp_path
    for line in lines:
        stated = re.search(r"# exit (\d+)", line)
        words = shlex.split(line, comments=True)
        if words[0] == "cd":
            at = at / words[1]
            continue
        assert words[0] == "rolewall", line
        if words[1] in ("run", "compare", "exec"):
            words[2:2] = ["--backend", backend.name, *JOBS.get(words[1], ())]
        ran = run([rolewall_command(), *words[1:]], at)
        assert ran.returncode == (int(stated[1]) if stated else 0), (line, ran.stdout, ran.stderr)


def test_every_variable_that_is_read_stands_on_a_page() -> None:
    folders = ("src/rolewall", "policies", "sandbox", "roles", "graders")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    read = {name for path in sources for name in VARIABLE.findall(path.read_text("utf-8"))}
    assert {"ROLEWALL_CACHE", "DOCKER_HOST", "ROLEWALL_ENGINE_SECONDS"} <= read
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert {name for name in read if f"`{name}`" not in text} == set()


def commands(page: Path) -> Iterator[str]:
    for block in SHELL.findall(page.read_text("utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("rolewall "):
                yield line


@cache
def options(command: str) -> frozenset[str]:
    shown = run([rolewall_command(), command, "--help"], ROOT)
    assert shown.returncode == 0, command
    body = shown.stdout.partition("Options:\n")[2]
    heads = (line for line in body.splitlines() if re.match(r"  -", line))
    return frozenset(name for line in heads for name in OPTION.findall(line)) - {"--help"}


def rolewall_command() -> str:
    return str(Path(sys.executable).with_name("rolewall"))


def run(argv: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
