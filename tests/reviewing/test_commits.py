"""``export_commit``: what was committed, and nothing that a tree could do beside."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rolewall import InputError, RolewallError, export_commit


def git(at: Path, *words: str, stdin: bytes = b"") -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *who, *words], cwd=at, input=stdin, check=True, timeout=60,
                          stdout=subprocess.PIPE)  # fmt: skip
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    made.mkdir()
    git(made, "init", "-q")
    return made


def commit_of(repository: Path, *entries: tuple[str, str, bytes]) -> str:
    """A commit of a tree with these entries, mode, name and content, as no git would make it."""
    tree = b""
    for mode, name, content in entries:
        kind = ("-t", "tree") if mode == "40000" else ("-t", "blob")
        oid = git(repository, "hash-object", "-w", "--literally", *kind, "--stdin", stdin=content)
        tree += f"{mode} {name}".encode() + b"\0" + bytes.fromhex(oid)
    oid = git(repository, "hash-object", "-w", "--literally", "-t", "tree", "--stdin", stdin=tree)
    return git(repository, "commit-tree", "-m", "it", oid)


def test_files_are_as_they_were_committed(repository: Path, tmp_path: Path) -> None:
    (repository / "run.sh").write_bytes(b"#!/bin/sh\r\n$Id$\n")
    (repository / "run.sh").chmod(0o755)
    (repository / "below").mkdir()
    (repository / "below" / "link").symlink_to("/etc/passwd")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "one")
    (repository / ".gitattributes").write_text("* text eol=crlf ident filter=x export-ignore\n")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "-q", "-m", "two")
    mark = tmp_path / "hit"
    git(repository, "config", "filter.x.smudge", f"touch {mark}")
    found = export_commit(repository, "HEAD", tmp_path / "out")
    assert found == git(repository, "rev-parse", "HEAD")
    assert (tmp_path / "out" / "run.sh").read_bytes() == b"#!/bin/sh\r\n$Id$\n"
    assert os.access(tmp_path / "out" / "run.sh", os.X_OK)
    assert os.readlink(tmp_path / "out" / "below" / "link") == "/etc/passwd"
    assert (tmp_path / "out" / ".gitattributes").exists() and not mark.exists()
    export_commit(repository / ".git", "HEAD^1", tmp_path / "earlier")
    assert not (tmp_path / "earlier" / ".gitattributes").exists()


def test_a_submodule_is_a_line(repository: Path, tmp_path: Path) -> None:
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},library")
    git(repository, "commit", "-q", "-m", "one")
    export_commit(repository, "HEAD", tmp_path / "out")
    assert (tmp_path / "out" / "library").read_text() == f"Subproject commit {'2' * 40}\n"


@pytest.mark.parametrize(
    "entries",
    [
        [("100644", "..", b"x")],
        [("100644", ".git", b"x")],
        [("100644", ".GIT", b"x")],
        [("100644", "a", b"x"), ("100644", "a", b"y")],
        [("120000", "a", b"/tmp"), ("40000", "a", b"")],
    ],
)
def test_a_tree_that_leads_elsewhere_is_refused(
    repository: Path, tmp_path: Path, entries: list[tuple[str, str, bytes]]
) -> None:
    oid = git(repository, "hash-object", "-w", "--stdin", stdin=b"through")
    below = b"100644 b\0" + bytes.fromhex(oid)
    made = [(mode, name, below if mode == "40000" else what) for mode, name, what in entries]
    with pytest.raises(InputError, match="tree that"):
        export_commit(repository, commit_of(repository, *made), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # The twin: the same contents under names that git checks out.
    fine = commit_of(repository, *(("100644", f"f{n}", b"x") for n in range(len(entries))))
    export_commit(repository, fine, tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == len(entries)


@pytest.mark.parametrize("commit", ["none", "", "--all", "HEAD^{tree}", "a b", "x\0y", "HEAD^9"])
def test_what_is_no_commit_is_refused(repository: Path, tmp_path: Path, commit: str) -> None:
    (repository / "a").write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "one")
    with pytest.raises(InputError, match="commit"):
        export_commit(repository, commit, tmp_path / "out")


def test_no_repository_and_no_new_directory_are_refused(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a git repository"):
        export_commit(tmp_path, "HEAD", tmp_path / "out")
    (repository / "a").write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "one")
    with pytest.raises(RolewallError):
        export_commit(repository, "HEAD", tmp_path)


@pytest.mark.parametrize(
    "entry",
    [
        ("120000", "link", b"a\0b"),
        ("120000", "link", b""),
        ("120000", "link", b"x" * 4096),
        ("100644", "n" * 256, b"one"),
    ],
    ids=["zero", "empty", "long", "name"],
)
def test_what_no_file_system_holds_is_bad_input(
    repository: Path, tmp_path: Path, entry: tuple[str, str, bytes]
) -> None:
    with pytest.raises(InputError):
        export_commit(repository, commit_of(repository, entry), tmp_path / "out")


def test_links_and_names_as_long_as_they_can_be_are_written(
    repository: Path, tmp_path: Path
) -> None:
    entries = ("120000", "link", b"x" * 4095), ("100644", "n" * 255, b"one")
    export_commit(repository, commit_of(repository, *entries), tmp_path / "out")
    assert os.readlink(tmp_path / "out" / "link") == "x" * 4095
    assert (tmp_path / "out" / ("n" * 255)).read_bytes() == b"one"
