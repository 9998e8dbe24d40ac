"""An archive from elsewhere writes below its directory and nowhere else."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall.errors import InputError
from rolewall.sandbox import unpack as unpacking
from rolewall.sandbox.unpack import stream, unpack

Member = tuple[str, bytes, bytes | str]  # name, kind, content or where a link leads
FILE, DIRECTORY, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


def packed(*members: Member, mode: int = 0o755) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind, content in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.mtime = kind, mode, 1_700_000_000
            data = content if isinstance(content, bytes) else b""
            entry.size, entry.linkname = len(data), "" if data else str(content)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture
def into(tmp_path: Path) -> Callable[[bytes], list[str]]:
    (tmp_path / "into").mkdir()
    (tmp_path / "outside").mkdir()

    def write(data: bytes, size: int = 7) -> list[str]:
        pieces = (data[at : at + size] for at in range(0, len(data), size))
        with tarfile.open(fileobj=stream(pieces), mode="r|") as archive:
            return unpack(archive, tmp_path / "into", "/app")

    return write


def test_what_is_in_an_archive_is_there(into: Callable[[bytes], list[str]], tmp_path: Path) -> None:
    left = into(packed(
        ("app/", DIRECTORY, b""), ("app/in", DIRECTORY, b""), ("app/in/a", FILE, b"content"),
        ("app/link", LINK, "/usr/bin/env"), ("app/up", LINK, "../../outside"),
        ("app/same", HARD, "app/in/a"), ("app/pipe", tarfile.FIFOTYPE, b""),
        ("app/null", tarfile.CHRTYPE, b""),
    ))  # fmt: skip
    here = tmp_path / "into"
    assert (here / "in" / "a").read_bytes() == b"content"
    assert (here / "in" / "a").stat().st_mtime == 1_700_000_000
    assert (here / "same").stat().st_ino == (here / "in" / "a").stat().st_ino
    assert os.readlink(here / "link") == "/usr/bin/env"
    assert os.readlink(here / "up") == "../../outside"
    assert left == [f"{name}: not a file, directory or link" for name in ("pipe", "null")]


def test_only_the_right_to_execute_is_kept(
    into: Callable[[bytes], list[str]], tmp_path: Path
) -> None:
    into(packed(("app", DIRECTORY, b""), ("app/a", FILE, b"a"), mode=0o4711))
    into_plain = packed(("app/b", FILE, b"b"), mode=0o600)
    into(into_plain)
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (tmp_path / "into").iterdir()}
    assert modes == {"a": 0o755, "b": 0o644}


HOSTILE: dict[str, tuple[Member, ...]] = {
    "a name with ..": (("app/../../outside/x", FILE, b"x"),),
    "an absolute name": (("/outside/x", FILE, b"x"),),
    "a file below a link": (("app/to", LINK, "../../outside"), ("app/to/x", FILE, b"x")),
    "a file below a file": (("app/a", FILE, b"a"), ("app/a/x", FILE, b"x")),
    "a file twice": (("app/a", FILE, b"a"), ("app/a", FILE, b"b")),
    "a link over a file": (("app/a", FILE, b"a"), ("app/a", LINK, "/etc/passwd")),
    "another name of a file outside": (("app/a", HARD, "app/../../outside/x"),),
    "another name of what is not there": (("app/a", HARD, "app/b"),),
    "no directory above": (("app/a/b/c", FILE, b"c"),),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_leads_out_is_refused(
    into: Callable[[bytes], list[str]], tmp_path: Path, case: str
) -> None:
    (tmp_path / "outside" / "kept").write_text("kept")
    with pytest.raises(InputError, match="/app of the image cannot be used"):
        into(packed(*HOSTILE[case]))
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["kept"]


def test_an_archive_has_an_end(
    into: Callable[[bytes], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "MOST_BYTES", 10)
    with pytest.raises(InputError, match="too large"):
        into(packed(("app/a", FILE, b"1234567"), ("app/b", FILE, b"1234567")))
    monkeypatch.setattr(unpacking, "MOST_ENTRIES", 2)
    with pytest.raises(InputError, match="too many files"):
        into(packed(*((f"app/d{number}", DIRECTORY, b"") for number in range(4))))
