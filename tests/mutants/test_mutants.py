"""Faults of every kind, in every language that is known, and nothing but faults."""

from __future__ import annotations

import ast
import configparser
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rolewall.mutants import Mutant, mutants_of, read_solution
from rolewall.mutants.config import faults as config_faults
from rolewall.mutants.python import faults as python_faults
from rolewall.mutants.table import faults as table_faults
from rolewall.mutants.text import faults as text_faults
from rolewall.tasks import Task, load_task, load_tasks

EXAMPLES = Path(__file__).parents[2] / "examples" / "tasks"
Make = Callable[..., Task]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A task whose solution has ``files`` and whose workspace has ``start``."""

    def made(files: Mapping[str, str], start: Mapping[str, str] | None = None) -> Task:
        root = tmp_path / f"task-{len(list(tmp_path.iterdir()))}"
        for folder in ("workspace", "grader", "solution"):
            (root / folder).mkdir(parents=True)
        (root / "task.yaml").write_text(
            "id: t\ngrader: {command: {run: [python3, /grader/check.py], trust: outside}}\n"
        )
        for name in ("spec.md", "brief.md", "grader/check.py"):
            (root / name).write_text("x\n")
        for folder, content in (("workspace", start or {}), ("solution", files)):
            for name, text in content.items():
                path = root / folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        return load_task(root)

    return made


def said(mutants: tuple[Mutant, ...]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for mutant in mutants:
        found.setdefault(mutant.fault, set()).add((mutant.data or b"").decode())
    return found


PYTHON = '''def area(a, b, *, scale=1):
    """Not 7."""
    if a < 0 or b is None:
        raise ValueError("no")
    total = a * b + 2
    log(total, scale=2)
    return mix(total, b)
'''


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        ("boundary", "if a <= 0 or b is None:"),
        ("condition", "if a < 0 and b is None:"),
        ("condition", "if a < 0 or b is not None:"),
        ("condition", "if not (a < 0 or b is None):"),
        ("off-by-one", "if a < 1 or b is None:"),
        ("off-by-one", "total = a * b + 1"),
        ("arithmetic", "total = a / b + 2"),
        ("arithmetic", "total = a * b - 2"),
        ("arguments", "return mix(b, total)"),
        ("arguments", "log(total)"),
        ("return", "return None"),
        ("constant", 'raise ValueError("n")'),
    ],
)
def test_a_fault_in_python(make: Make, fault: str, line: str) -> None:
    found = said(mutants_of(make({"m.py": PYTHON})))
    assert any(line in text for text in found[fault]), found[fault]


def test_a_statement_is_left_out_and_the_rest_stays_as_it_is(make: Make) -> None:
    found = said(mutants_of(make({"m.py": PYTHON})))["statement"]
    lines = PYTHON.splitlines(keepends=True)
    assert "".join(lines[:5] + lines[6:]) in found  # the call
    assert "".join(lines[:2] + lines[4:]) in found  # the guard, whole
    assert "".join([*lines[:3], "        pass\n", *lines[4:]]) in found  # alone in its block


def test_python_stays_python_and_docstrings_stay_as_they_are(make: Make) -> None:
    found = mutants_of(make({"m.py": PYTHON}))
    assert len(found) > 15
    for mutant in found:
        assert mutant.data is not None
        tree = ast.parse(mutant.data)
        assert ast.get_docstring(tree.body[0]) == "Not 7."  # type: ignore[arg-type]


PARSERS: dict[str, Callable[[str], object]] = {
    "a.json": json.loads,
    "a.toml": tomllib.loads,
    "a.yaml": yaml.safe_load,
    "a.ini": lambda text: configparser.RawConfigParser().read_string(text),
}
CONFIGS = {
    "a.json": '{\n  "port": 8080,\n  "debug": false,\n  "name": "web"\n}\n',
    "a.toml": 'port = 8080\ndebug = false\n[web]\nname = "web"\n',
    "a.yaml": "port: 8080\ndebug: false\nweb:\n  name: web\n",
    "a.ini": "[web]\nport = 8080\ndebug = false\nname = web\n",
}


@pytest.mark.parametrize("name", CONFIGS)
def test_configuration_stays_readable_and_says_something_else(make: Make, name: str) -> None:
    found = said(mutants_of(make({name: CONFIGS[name]})))
    assert found.keys() == {"value", "key"}
    for text in found["value"] | found["key"]:
        PARSERS[name](text)
    values = "\n".join(found["value"])
    assert "8081" in values and "8079" in values and "true" in values and "we" in values
    assert any("8080" not in text for text in found["key"])


def test_a_table(make: Make) -> None:
    start = 'id,name\n1,"Lind, Bo"\n02,Fay\n'
    found = said(mutants_of(make({"a.csv": start})))
    assert found.keys() == {"row", "cell", "order"}
    assert found["row"] == {"id,name\n02,Fay\n", 'id,name\n1,"Lind, Bo"\n'}
    assert found["order"] == {'id,name\n02,Fay\n1,"Lind, Bo"\n'}
    assert 'id,name\n1,"Lind, Bo"\n03,Fay\n' in found["cell"]
    assert 'id,name\n1,"Lind, B"\n02,Fay\n' in found["cell"]


@pytest.mark.parametrize(
    ("name", "text", "fault", "line"),
    [
        ("a.sh", 'cp -- "$1" "$2" && exit 3\n', "option", 'cp -- $1 "$2" && exit 3'),
        ("a.sh", 'cp -- "$1" "$2" && exit 3\n', "option", 'cp "$1" "$2" && exit 3'),
        ("a.sh", 'cp -- "$1" "$2" && exit 3\n', "operator", 'cp -- "$1" "$2" || exit 3'),
        ("a.sh", 'cp -- "$1" "$2" && exit 3\n', "number", 'cp -- "$1" "$2" && exit 4'),
        ("a.sql", "SELECT max(a) FROM t WHERE a <= 1;\n", "operator", "a < 1;"),
        ("a.sql", "SELECT max(a) FROM t WHERE a <= 1;\n", "operator", "min(a)"),
        ("a.sql", "CREATE TABLE t (a TEXT NOT NULL UNIQUE);\n", "option", "(a TEXT UNIQUE)"),
        ("a.sql", "SELECT lower(trim(a)) FROM t;\n", "option", "lower(a)"),
        ("notes.txt", "one\ntwo\n", "line", "two"),
    ],
)
def test_a_fault_in_a_text(make: Make, name: str, text: str, fault: str, line: str) -> None:
    assert any(line in found for found in said(mutants_of(make({name: text})))[fault])


def test_half_of_a_fix_is_a_fault(make: Make) -> None:
    start = {"m.txt": "a\nb\nc\nd\ne\n", "gone.txt": "x\n", "same.txt": "s\n"}
    fixed = {
        "m.txt": "A\nb\nc\nd\nE\n",
        "same.txt": "s\n",
        "new.txt": "n\n",
        "DELETE": "gone.txt\n",
    }
    task = make({**fixed, "DELETE": "gone.txt\n"}, start)
    solution = read_solution(task)
    assert solution is not None and solution.deleted == ("gone.txt",)
    found = [mutant for mutant in mutants_of(task) if mutant.fault == "reverted"]
    by_path = {(mutant.path, mutant.data) for mutant in found}
    assert by_path == {
        ("m.txt", b"a\nb\nc\nd\nE\n"), ("m.txt", b"A\nb\nc\nd\ne\n"),
        ("m.txt", b"a\nb\nc\nd\ne\n"), ("new.txt", None), ("gone.txt", b"x\n"),
    }  # fmt: skip
    (kept,) = [mutant for mutant in found if mutant.path == "gone.txt"]
    work = kept.over(solution)
    assert work.deleted == () and work.files["gone.txt"].data == b"x\n"
    (absent,) = [mutant for mutant in found if mutant.path == "new.txt"]
    work = absent.over(solution)
    assert work.deleted == ("gone.txt", "new.txt") and "new.txt" not in work.files
    assert {mutant.path for mutant in mutants_of(task)} == {"m.txt", "new.txt", "gone.txt"}


def test_the_start_is_no_mutant(make: Make) -> None:
    """Undoing the one change of the one file would be the untouched workspace."""
    task = make({"m.txt": "one\n"}, {"m.txt": "two\n"})
    assert b"two\n" not in {mutant.data for mutant in mutants_of(task)}


@pytest.mark.parametrize("task", load_tasks([EXAMPLES]), ids=lambda task: str(task.id))
def test_mutants_of_an_example(task: Task) -> None:
    solution = read_solution(task)
    assert solution is not None
    found = mutants_of(task, seed=1)
    assert len(found) >= 10
    assert len({mutant.fault for mutant in found}) >= 3
    assert len({mutant.id for mutant in found}) == len(found)
    assert len({(mutant.path, mutant.data) for mutant in found}) == len(found)
    assert {mutant.path for mutant in found} <= set(solution.paths)
    first = found[: len({mutant.fault for mutant in found})]
    assert len({mutant.fault for mutant in first}) == len(first), "kinds take turns"
    assert mutants_of(task, seed=1) == found
    assert {m.id for m in mutants_of(task, seed=2)} == {m.id for m in found}
    assert mutants_of(task, seed=2) != found
    assert mutants_of(task, seed=1, most=4) == found[:4]
    for mutant in found:
        assert "\n" not in mutant.what and mutant.what.startswith(mutant.path)
        old = solution.files.get(mutant.path)
        assert old is None or mutant.data != old.data


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", b"\xff\xfe if 1 < 2"),
        ("a.py", b"i\x00f\x00 \x001\x00"),
        ("a.py", b"x = " + b"-" * 100_000 + b"1\n"),
        ("a.py", b"a = 1 \x00 < 2\n"),
        ("a.json", b"\x00{}"),
        ("a.csv", b'id,name\n1,"open\n'),
        ("empty.txt", b""),
    ],
)
def test_what_cannot_be_read_is_left_alone(make: Make, name: str, data: bytes) -> None:
    task = make({name: "x"})
    (task.directory / "solution" / name).write_bytes(data)
    assert mutants_of(load_task(task.directory)) == ()


@pytest.mark.parametrize(
    ("data", "faulty"),
    [
        (b"\xef\xbb\xbfa = 1 < 2\n", b"\xef\xbb\xbfa = 1 <= 2\n"),
        (b"def broken(:\n    return 1 < 2\n", b"def broken(:\n    return 1 <= 2\n"),
        (b"# coding: latin-1\na = '\xe9' < 2\n", b"# coding: latin-1\na = '\xe9' <= 2\n"),
        (b"print 'a', 1\n", b"print 'a', 2\n"),
    ],
)
def test_python_of_another_kind_is_still_mutated(make: Make, data: bytes, faulty: bytes) -> None:
    task = make({"a.py": "x"})
    (task.directory / "solution" / "a.py").write_bytes(data)
    assert faulty in {mutant.data for mutant in mutants_of(load_task(task.directory))}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "flag: !!bool maybe\nother: 1\n"),
        ("a.yaml", "d: !!timestamp 1\nother: 1\n"),
        ("a.py", f"x = 0x{'f' * 5000}\nother = 1\n"),
        ("a.csv", f"a,b\n{'9' * 6000},1\n"),
        ("a.sql", f"SELECT {'9' * 1900}, 1\n"),
    ],
)
def test_values_beyond_a_limit_leave_the_others_to_be_mutated(
    make: Make, name: str, text: str
) -> None:
    found = {(mutant.data or b"").decode() for mutant in mutants_of(make({name: text}))}
    assert any(one.replace("2", "1", 1) == text for one in found)


COLUMNS, LINES = ",".join("1" * 30_000), b"if a > 1 and b == 2: f(a, b=1)\n"
LARGE = {
    "wide.csv": ("", f"{COLUMNS}\n{COLUMNS}\n"),
    "square.csv": ("", "\n".join([",".join("1" * 1000)] * 60)),
    "quoted.csv": ("", '\n'.join([",".join(['"1"'] * 500)] * 60)),
    "bomb.yaml": ("", "a: &a [x]\n" + "".join(
        f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in pairwise("abcdefghijk"))),
    "sections.ini": ("", "[DEFAULT]\n" + "".join(f"k{n} = 1\n" for n in range(3000))
                     + "".join(f"[s{n}]\n" for n in range(3000))),
    "many.py": ("", LINES.decode() * 4000),
    "alike.txt": ("xx\nyy\n" * 900, "yy\nxx\nzz\n" * 600),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_large_files_take_neither_the_memory_nor_the_time_of_their_square(
    make: Make, name: str
) -> None:
    start, text = LARGE[name]
    task = make({name: text}, {name: start})
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from rolewall.mutants import mutants_of; from rolewall.tasks import load_task\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (30, 30))\n"
        "print(len(mutants_of(load_task(Path(sys.argv[1])), most=5)))\n"
    )
    argv = [sys.executable, "-c", code, str(task.directory)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stdout) == (0, "5\n"), ran.stderr


def test_the_edits_of_a_long_line_do_not_hold_it() -> None:
    data = f"{COLUMNS}\n{COLUMNS}\n".encode()
    held = sum(len(edit.new) + len(edit.what) for edit in table_faults(data, ","))
    assert held < 100 * len(data)


def test_a_mutant_keeps_the_mode_and_one_line(make: Make) -> None:
    task = make({"new\nline.txt": "a 1\nb\n", "DELETE": "run.sh\n"}, {"run.sh": "exit 1\n"})
    (task.directory / "workspace" / "run.sh").chmod(0o755)
    task = load_task(task.directory)
    solution = read_solution(task)
    assert solution is not None
    found = mutants_of(task)
    assert not any("\n" in mutant.what for mutant in found)
    assert any(mutant.what.startswith("new\\nline.txt:1: ") for mutant in found)
    (kept,) = [mutant for mutant in found if mutant.path == "run.sh"]
    assert kept.over(solution).files["run.sh"].executable


def test_a_task_without_a_solution_has_none(make: Make) -> None:
    task = make({"a.txt": "x\n"})
    (task.directory / "solution" / "a.txt").unlink()
    (task.directory / "solution").rmdir()
    bare = load_task(task.directory)
    assert read_solution(bare) is None and mutants_of(bare) == ()


@given(st.text(max_size=300))
def test_any_text_gives_edits_that_lie_in_it(text: str) -> None:
    data = text.encode()
    for edits in (python_faults(data), config_faults(data), table_faults(data, ","),
                  text_faults(data)):  # fmt: skip
        for edit in edits:
            assert 0 <= edit.start <= edit.end <= len(data)
            edit.on(data).decode()


@given(st.binary(max_size=300))
def test_any_bytes_give_edits_that_lie_in_them(data: bytes) -> None:
    for edit in text_faults(data):
        assert 0 <= edit.start <= edit.end <= len(data)
        edit.on(data)
