from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from rolewall._beneath import Root, shown
from rolewall._files import load_json, load_yaml, read_beneath
from rolewall._validate import Strict, validate
from rolewall.errors import InputError, TaskError, TeamError


def test_reads_a_file_beneath(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_bytes(b"words")
    assert read_beneath(tmp_path, "a/b.txt") == b"words"


def test_a_root_named_through_a_link_is_the_users_own_choice(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    assert read_beneath(tmp_path / "link", "f") == b"x"


@pytest.mark.parametrize("target", ["/etc/passwd", "inside", "../outside", "loop"])
def test_no_link_is_followed(tmp_path: Path, target: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_text("o")
    (root / "inside").write_text("i")
    (root / "loop").symlink_to(target)
    with pytest.raises(TaskError, match="not a regular file; got 'link'"):
        read_beneath(root, "loop", error=TaskError)


@pytest.mark.parametrize("relative", ["d/passwd", "../outside", "/etc/passwd", "d/../../outside"])
def test_no_way_leads_out(tmp_path: Path, relative: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_text("o")
    (root / "d").symlink_to("/etc")
    with pytest.raises(InputError, match="leads out of its directory"):
        read_beneath(root, relative)


def test_special_files_are_refused_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dir").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))
        for name, kind in (("fifo", "FIFO"), ("dir", "directory"), ("sock", "socket")):
            with pytest.raises(InputError, match=f"not a regular file; got '{kind}'"):
                read_beneath(tmp_path, name)


@pytest.mark.parametrize("relative", ["none", "file/below", "nul\0byte"])
def test_what_is_not_there(tmp_path: Path, relative: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        read_beneath(tmp_path, relative)


def test_size_cap(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert read_beneath(tmp_path, "f", 5) == b"12345"
    with pytest.raises(InputError, match="too large; expected at most 4 bytes"):
        read_beneath(tmp_path, "f", 4)


def test_a_root_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(TeamError, match="does not exist; expected a directory"):
        Root(tmp_path / "none", TeamError)


def test_unreadable_file_names_the_reason(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    target.write_text("x")
    target.chmod(0)
    os.chmod(tmp_path, 0o755)
    if os.geteuid() != 0:
        with pytest.raises(InputError, match="Permission denied"):
            read_beneath(tmp_path, "secret")
        return
    with Root(tmp_path) as root:  # opened before the change of user: parents may be 0700
        child = os.fork()
        if child == 0:
            os.setresuid(64101, 64101, 64101)
            try:
                root.read("secret", 10)
            except InputError as problem:
                os._exit(0 if "Permission denied" in str(problem) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_walk_lists_everything_and_follows_nothing(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "run.sh").write_text("")
    (tmp_path / "d" / "run.sh").chmod(0o755)
    (tmp_path / "up").symlink_to("..")
    with Root(tmp_path) as root:
        found = {e.path: (e.kind, e.executable) for e in root.walk()}
        assert root.target("up") == b".."
    assert found["d"][0] == "directory"
    assert found["d/run.sh"] == ("file", True)
    assert found["up"][0] == "link"
    assert len(found) == 3


def test_walk_is_bounded(tmp_path: Path) -> None:
    for index in range(5):
        (tmp_path / str(index)).touch()
    with Root(tmp_path) as root, pytest.raises(InputError, match="too many files"):
        list(root.walk(most=4))


class Inner(Strict):
    port: int
    word: str = ""


class Outer(Strict):
    items: list[Inner]
    named: dict[str, Inner] = Field(default_factory=dict)
    alone: Inner | None = None


INVALID: dict[str, tuple[object, str]] = {
    "nothing": (None, "f: not a mapping; got 'nothing'; expected a mapping of keys to values"),
    "list": ([1], "f: not a mapping; got 'a list of 1'"),
    "missing": ({}, "f: items: missing; expected a value"),
    "in a list": ({"items": [{"port": 1}, {"port": "x"}]}, "f: items[1].port: not acceptable; got"),
    "in a mapping": ({"items": [], "named": {"a": {"port": 0.5}}}, "f: named.a.port: not acc"),
    "unknown in a list": (
        {"items": [{"port": 1, "prot": 2}]},
        "f: items[0].prot: unknown key; got 'prot'; expected one of port, word",
    ),
    "unknown in a mapping": (
        {"items": [], "named": {"a": {"port": 1, "x": 2}}},
        "f: named.a.x: unknown key; got 'x'; expected one of port, word",
    ),
    "unknown in an optional": (
        {"items": [], "alone": {"port": 1, "x": 2}},
        "f: alone.x: unknown key; got 'x'; expected one of port, word",
    ),
    "several": ({"items": [{"port": "1"}, {"port": True}]}, "(also wrong: items[1].port)"),
    "many": ({"items": [{}] * 9}, "items[5].port and 3 more)"),
    "long value": ({"items": [{"port": "x" * 500}]}, "…'; expected a valid integer"),
    "control characters": ({"items": [], "a\x1b[31m\nb": 1}, "f: a\\x1b[31m\\nb: unknown key"),
}


@pytest.mark.parametrize("case", INVALID)
def test_what_is_wrong_is_one_message_with_its_place(case: str) -> None:
    data, message = INVALID[case]
    with pytest.raises(TeamError) as caught:
        validate(Outer, data, "f", TeamError)
    assert message in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


def test_names_are_shown_escaped() -> None:
    assert shown(os.fsdecode(b"a\xff\n\x1b[31mb")) == "a\\xff\\n\\x1b[31mb"


YAML_REFUSED = {
    "duplicate key": ("a: 1\nb: 2\na: 3\n", ":3: .*duplicate key 'a'"),
    "nested duplicate": ("a:\n  - {x: 1, x: 2}\n", ":2: .*duplicate key 'x'"),
    "boolean key": ("on: 1\n", ":1: .*no string, 'on'; quote it"),
    "number key": ("1: 1\n", "no string"),
    "complex key": ("? [a]\n: 1\n", "no string"),
    "tag": ("a: !!python/object/apply:os.system [id]\n", ":1: "),
    "two documents": ("a: 1\n---\nb: 2\n", ":2: "),
    "unclosed": ("a: [1, 2\n", ":2: "),
    "tab": ("a:\n\tb: 1\n", ":2: "),
    "control character": ("a: 1\nb: \x01\n", ":2: not text; got 'character 0x01'"),
    "undefined alias": ("a: *x\n", "undefined alias"),
    "self alias": ("a: &x [*x]\n", "alias"),
    "deep": ("a: " + "[" * 200 + "]" * 200, "nested deeper than 64"),
    "bad date": ("a: 2020-13-45\n", "not acceptable YAML"),
    "empty number": ("a: !!int ''\n", "not acceptable YAML"),
    "no timestamp": ("a: !!timestamp x\n", "not acceptable YAML"),
    "no truth value": ("a: !!bool x\n", "not acceptable YAML"),
    "surrogate": ('a: "\\ud800"\n', "surrogate"),
    "huge number": ("a: " + "9" * 5000 + "\n", "not acceptable YAML"),
}


@pytest.mark.parametrize("case", YAML_REFUSED)
def test_yaml_refused(case: str) -> None:
    text, pattern = YAML_REFUSED[case]
    with pytest.raises(TeamError, match=pattern) as caught:
        load_yaml(text, "team.yaml", error=TeamError)
    assert str(caught.value).startswith("team.yaml")


YAML_PIECES = ["a", ": ", "- ", "\n", "  ", "{", "}", "[", "]", ", ", "&x ", "*x", "<<: ", "? "]
YAML_PIECES += ["!!int ", "!!set ", "!!omap ", "!!binary ", "| ", '"', "'", "1", "~", "#", "%"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(YAML_PIECES), max_size=20).map("".join) | st.text(max_size=50))
def test_no_text_ends_in_anything_but_a_value_or_an_input_error(text: str) -> None:
    with suppress(InputError):
        load_yaml(text, "f")
    with suppress(InputError):
        load_json(text.encode("utf-8", "surrogatepass"), "f")


def test_yaml_alias_bomb_is_refused_and_a_plain_alias_is_not() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))
    with pytest.raises(InputError, match="more than 20000 values"):
        load_yaml(bomb, "f")
    assert load_yaml("a: &x {k: 1}\nb: *x\nc: {<<: *x, k: 2}\n", "f") == {
        "a": {"k": 1},
        "b": {"k": 1},
        "c": {"k": 2},
    }


def test_binary_junk_names_the_line() -> None:
    with pytest.raises(InputError, match=r"^f:3: not text; got 'byte 0xff'; expected UTF-8$"):
        load_yaml(b"a: 1\nb: 2\n\xff\xfe", "f")


def test_yaml_size_cap() -> None:
    with pytest.raises(InputError, match="too large"):
        load_yaml(b"#" * ((1 << 20) + 1), "f")


JSON_REFUSED = {
    "duplicate": (b'{"a": 1, "a": 2}', "duplicate key 'a'"),
    "nan": (b'{"a": NaN}', "NaN is no number"),
    "infinity": (b"[-Infinity]", "no number"),
    "overflow": (b"[1e999]", "too large a number"),
    "trailing": (b'{"a": 1} and more', r"f:1:10: not JSON: extra data; got 'and more'"),
    "fence": (b"```json\n{}\n```", "f:1:1: not JSON: .*; got '```json"),
    "empty": (b"", "got 'the end of the file'"),
    "deep": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "deep in an unclosed text": (b'"' + b"[" * 100, "nested too deeply|not JSON"),
    "bytes": (b"{\n\xff", "f:2: not text"),
    "surrogate": (b'["\\ud800"]', "half of a surrogate pair"),
    "digits": (b"9" * 5000, "not acceptable JSON"),
}


@pytest.mark.parametrize("case", JSON_REFUSED)
def test_json_refused(case: str) -> None:
    data, pattern = JSON_REFUSED[case]
    with pytest.raises(InputError, match=pattern):
        load_json(data, "f")


def test_json_surrogate_pairs_are_text() -> None:
    assert load_json(b'["\\ud83d\\ude00"]', "f") == ["\U0001f600"]


def test_json_accepted() -> None:
    brackets = "[" * 100
    assert load_json(f'{{"a": ["{brackets}", 1.5, null]}}'.encode(), "f") == {
        "a": [brackets, 1.5, None]
    }
