import os
import subprocess

import pytest

NAMES = [
    "plain.log",
    " lead and trail .log",
    "back\\slash.log",
    "line\nbreak.log",
    "-n.log",
    "--help.log",
    "star*.log",
    "quote'\".log",
    ".log",
    "tab\t.log",
    "$HOME `id`.log",
]


def collect(*arguments):
    done = subprocess.run(
        ["sh", "collect.sh", *arguments], capture_output=True, text=True, timeout=20, check=False
    )
    return done.returncode, (done.stdout.splitlines() or [""])[-1], done.stderr


def files(root):
    return {
        os.path.relpath(os.path.join(where, name), root)
        for where, _, names in os.walk(root)
        for name in names
    }


@pytest.mark.parametrize("name", NAMES)
def test_any_name(tmp_path, name):
    (tmp_path / "in" / "d e").mkdir(parents=True)
    (tmp_path / "in" / name).write_text("one")
    (tmp_path / "in" / "d e" / name).write_text("two")
    code, last, _ = collect(tmp_path / "in", tmp_path / "out")
    assert (code, last) == (0, "2 files")
    assert files(tmp_path / "out") == {name, f"d e/{name}"}
    assert (tmp_path / "out" / name).read_text() == "one"


def test_directories_with_blanks_newlines_and_a_slash(tmp_path):
    source = tmp_path / "the source" / "a\nb"
    source.mkdir(parents=True)
    (source / "x.log").write_text("x")
    target = tmp_path / "a  target" / "deep"
    assert collect(f"{tmp_path}/the source/", str(target))[:2] == (0, "1 files")
    assert files(target) == {"a\nb/x.log"}


def test_links_and_directories_are_left_out(tmp_path):
    (tmp_path / "in" / "dir.log").mkdir(parents=True)
    (tmp_path / "secret").write_text("s")
    (tmp_path / "in" / "link.log").symlink_to(tmp_path / "secret")
    (tmp_path / "in" / "real.log").write_text("r")
    assert collect(tmp_path / "in", tmp_path / "out")[:2] == (0, "1 files")
    assert files(tmp_path / "out") == {"real.log"}


@pytest.mark.parametrize("source", ["none", "a.log"])
def test_a_source_that_is_no_directory(tmp_path, source):
    (tmp_path / "a.log").write_text("a")
    code, _, message = collect(tmp_path / source, tmp_path / "out")
    assert code == 2
    assert message
    assert not (tmp_path / "out").exists()
