"""Which directories a caller may show to boxes."""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

import pytest

import rolewall
from rolewall.errors import InputError
from rolewall.sandbox import check_shown


@pytest.fixture
def install(tmp_path: Path) -> Path:
    (tmp_path / "install" / "bin").mkdir(parents=True)
    return tmp_path / "install"


def refused(*paths: Path, **apart: Path) -> str:
    with pytest.raises(InputError) as caught:
        check_shown(paths, apart)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_a_directory_of_programs_is_taken(install: Path, tmp_path: Path) -> None:
    assert check_shown([install / "." / "bin" / ".."], {"run": tmp_path / "run"}) == (install,)
    assert check_shown([], {}) == ()


@pytest.mark.parametrize(
    "path",
    ["/", "/usr", "/usr/lib", "/etc", "/proc", "/dev", "/run", "/rolewall", "/bin",
     str(Path(rolewall.__file__).parent), str(Path(rolewall.__file__).parents[2])],
)  # fmt: skip
def test_neither_the_system_nor_rolewall_is_shown(path: str) -> None:
    refused(Path(path))


@pytest.mark.parametrize("name", [".ssh", ".codex/bin", ".", ".config/x", ".local/share"])
def test_places_of_keys_are_not(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / name).mkdir(parents=True, exist_ok=True)
    assert "a place of keys" in refused(tmp_path / name)
    (tmp_path / ".local" / "share" / "programs").mkdir(parents=True)
    assert check_shown([tmp_path / ".local" / "share" / "programs"], {})


@pytest.mark.parametrize(
    "name",
    [".cargo/credentials", ".cargo/credentials.toml", ".docker/config.json", ".git-credentials",
     ".gnupg/x", ".kube/config", ".m2/settings.xml", ".netrc", ".npmrc", ".pgpass", ".pypirc",
     ".vault-token"],
)  # fmt: skip
def test_what_holds_one_is_not_whoever_shows_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root has another home than the one who asks it, and may see everybody's."""
    alice, programs = tmp_path / "homes" / "alice", tmp_path / "homes" / "alice" / "programs"
    programs.mkdir(parents=True)
    user = pwd.struct_passwd(("alice", "x", 4242, 4242, "", str(alice), "/bin/sh"))
    monkeypatch.setattr("pwd.getpwall", lambda: [user])
    assert check_shown([alice], {}) == (alice,), "a service may live beside its programs"
    (alice / name).parent.mkdir(exist_ok=True)
    (alice / name).write_text("secret")
    for path in (alice, alice.parent, *([(alice / name).parent] if "/" in name else ())):
        assert "a place of keys" in refused(path)
    assert check_shown([programs], {}) == (programs,)


def test_nor_is_anybody_elses(install: Path) -> None:
    (install / ".ssh" / "deep").mkdir(parents=True)
    (install / ".sshd").mkdir()
    for name in (".ssh", ".ssh/deep"):
        assert "a place of keys" in refused(install / name)
    assert check_shown([install / ".sshd"], {})


def test_where_boxes_files_are_made_is_not_shown(
    install: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket of another role's model lies there, open to whoever has the harness's user."""
    (install / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(install / "tmp"))
    assert "holds the directory of temporary files" in refused(install)
    assert check_shown([install / "bin"], {})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert check_shown([install], {})
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(install / "run"))
    assert "holds the directory of boxes' own files" in refused(install)


def test_what_is_kept_apart_is_neither_in_nor_around_it(install: Path, tmp_path: Path) -> None:
    assert "holds the run" in refused(install, **{"the run": install / "bin" / "run"})
    assert "lies in the team" in refused(install, **{"the team": tmp_path})
    (tmp_path / "way").symlink_to(install)
    assert "holds the run" in refused(install, **{"the run": tmp_path / "way" / "run"})


def test_what_leads_elsewhere_is_refused(install: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(install)
    assert "a link" in refused(tmp_path / "link")
    assert "a link" in refused(tmp_path / "link" / "bin")
    assert "cannot be used" in refused(tmp_path / "none")
    (tmp_path / "a:b").mkdir()
    assert "no search path" in refused(tmp_path / "a:b")
    assert "contain one another" in refused(install, install / "bin")


def test_what_leads_out_of_a_box_is_refused(install: Path) -> None:
    (install / "link").symlink_to("/etc")  # leads to the box's own
    assert check_shown([install], {})
    os.mkfifo(install / "fifo")
    assert "FIFO" in refused(install)
    (install / "fifo").unlink()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(install / "door"))
        assert "socket" in refused(install)
