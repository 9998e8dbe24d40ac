"""What of an image's files makes its programs load what lies in a zone."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from rolewall.errors import BackendUnavailable
from rolewall.sandbox import loaded_by_image
from rolewall.sandbox.loading import loaded_by_archive

ZONES = ("workspace", "plan", "report")
PTH = "usr/lib/python3/dist-packages/work.pth"


def archive(name: str, data: bytes = b"", link: str = "", kind: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as written:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        if link or kind:
            entry.type, entry.linkname = kind or tarfile.SYMTYPE, link
        written.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def look(data: bytes) -> str:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r|") as read:
        return loaded_by_archive(read, ZONES)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (PTH, b"/workspace/src\n"),
        (PTH, b"import x\n../../../../plan\n"),
        (PTH, b"/report\n"),
        ("etc/ld.so.preload", b"/report/libwork.so\n"),
        ("etc/ld.so.conf.d/work.conf", b"/plan/lib"),
        ("etc/profile", b"PATH=/plan/bin:$PATH\n"),
        ("root/.npmrc", b"prefix=/report\n"),
        ("usr/bin/tool", b"#!/workspace/bin/sh\n"),
        ("usr/lib/flags", b"cc -L/workspace/lib"),
        ("usr/lib/direct_url.json", b'{"url": "file:///workspace"}'),
        ("usr/lib/tool", b"\x7fELF\0/workspace\0"),
        ("usr/lib/tool", b"see /workspace."),
        ("usr/lib/long", b"x" * (1 << 20) + b"\n/workspace/x"),
        ("usr/lib/split", b"x" * ((1 << 20) - 5) + b"\n/workspace/x"),
    ],
)
def test_a_file_that_names_a_zone_is_named(path: str, data: bytes) -> None:
    found = look(archive(path, data))
    assert found.startswith("an image that names /") and f" in /{path}, " in found


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (PTH, b"/opt/workspace/src\n./workspace\n/workspaces\n/workspace-2\n/workspace.bak\n"),
        (PTH, b"import planner; report = 1 / plan_of\n"),
        ("usr/lib/readme", b"~/workspace $HOME/workspace ${x}/workspace a.b/workspace /plan"),
        ("usr/lib/empty", b""),
        ("workspaces/x", b"x"),
        ("usr/workspace/x", b"x"),
    ],
)
def test_a_file_that_names_something_else_is_not(path: str, data: bytes) -> None:
    assert look(archive(path, data)) == ""


@pytest.mark.parametrize(
    "target",
    ["/workspace", "/workspace/lib.so", "//plan", "../../workspace", "x/../../../report/x",
     "/opt/x/../../workspace", "/proc/self/cwd/lib", "a/b/../plan"],
)  # fmt: skip
def test_a_link_to_a_zone_is_named(target: str) -> None:
    found = look(archive("usr/lib/work.so", link=target))
    assert found.startswith("an image that has a link to ") and " at /usr/lib/work.so, " in found


@pytest.mark.parametrize("target", ["workspace", "../workspace", "/proc/mounts", "../plan/x"])
def test_a_link_to_elsewhere_is_not(target: str) -> None:
    assert look(archive("usr/lib/work.so", link=target)) == ""


@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE])
def test_whatever_stands_at_the_place_of_the_work_counts(kind: bytes) -> None:
    assert "of its own at /workspace" in look(archive("workspace", kind=kind, link="x"))
    assert "of its own at /workspace" in look(archive("./workspace/in", kind=kind, link="x"))


def test_a_name_cannot_break_what_is_told() -> None:
    found = look(archive(f"usr/\x1b[2J\udcff{'x' * 300}", b"/workspace"))
    assert found.isprintable() and len(found) < 300 and found.encode()


@pytest.mark.parametrize("cut", [512, 700, 1024, 1536])
def test_what_is_not_whole_is_not_taken_for_the_whole(cut: int) -> None:
    data = archive("usr/lib/a", b"x" * 600)[:cut]
    with pytest.raises(tarfile.TarError):
        look(data)


class _Engineless:
    """A backend whose images cannot be had."""

    name = "none"


def test_what_cannot_be_looked_through_counts_and_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLEWALL_CACHE", str(tmp_path))
    backend = _Engineless()
    for image_id in ("sha256:1", ""):
        assert loaded_by_image(backend, "some:1", image_id, ZONES)  # type: ignore[arg-type]
    assert list(tmp_path.rglob("*.json")) == []


@pytest.mark.docker
def test_a_finding_is_kept_and_junk_in_its_place_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolewall.sandbox.docker import DockerBackend
    from rolewall.sandbox.docker.image import find_image

    monkeypatch.setenv("ROLEWALL_CACHE", str(tmp_path))
    backend = DockerBackend()
    try:
        # The engine has this one in any case, and it holds nothing but places for mounts.
        image_id = find_image(backend._usable_engine(), "host").id
        looked = lambda: loaded_by_image(backend, "empty:1", image_id, ZONES)  # noqa: E731
        assert looked() == ""
        (kept,) = tmp_path.rglob("*.json")
        said = kept.read_text()
        for junk in ("", "{", '{"loads": ""}', said.replace("sha256:", "sha256:0"), said + "x"):
            kept.write_text(junk)
            assert looked() == "" and kept.read_text() == said
        kept.write_text(said.replace('"loads": ""', '"loads": "kept"'))
        assert looked() == "kept"
    finally:
        backend.close()


def test_the_host_is_looked_at_in_what_its_boxes_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rolewall.sandbox import loading
    from rolewall.sandbox.host import Bind

    usr, runtime = tmp_path / "usr", tmp_path / "runtime"
    for name in ("lib/python3/dist-packages", "local/lib/python3.11/dist-packages"):
        (usr / name).mkdir(parents=True)
    runtime.mkdir()
    over = Bind(runtime, str(usr / "local/lib/python3.11/dist-packages"))
    monkeypatch.setattr(loading, "host_binds", lambda: [Bind(usr, str(usr)), over])
    look = loading.loaded_by_host.__wrapped__
    # What the runtime is laid over, no box sees.
    (usr / "local/lib/python3.11/dist-packages/work.pth").write_text("/workspace\n")
    (usr / "lib/python3/dist-packages/other.pth").write_text("/workspaces\n")
    assert look(frozenset(ZONES)) == ""
    (usr / "lib/python3/dist-packages/work.pth").write_text("/workspace\n")
    assert "names /workspace in " in look(frozenset(ZONES))


def test_no_engine_is_no_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from rolewall.sandbox.docker import DockerBackend

    monkeypatch.setenv("ROLEWALL_CACHE", str(tmp_path))
    monkeypatch.setattr(
        "rolewall.sandbox.docker.backend.find_engine",
        lambda: (_ for _ in ()).throw(BackendUnavailable("no engine")),
    )
    found = loaded_by_image(DockerBackend(), "some:1", "sha256:1", ZONES)
    assert found.startswith("an image that could not be looked through: no engine")
