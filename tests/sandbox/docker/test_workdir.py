"""The workspace at a second place of a box, for images whose work is elsewhere."""

from __future__ import annotations

import io
import secrets
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rolewall.errors import BoxError, InfrastructureError, InputError, ProbeFailed
from rolewall.policies import View, condition, read_ledger
from rolewall.sandbox import BoxSpec, Supervisor, WatchSpec, ZoneMount, open_box
from rolewall.sandbox import box as box_module
from rolewall.sandbox.bubblewrap import BubblewrapBackend
from rolewall.sandbox.docker import DockerBackend
from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.workdir import check_workdir, further_places

ZONES = ("spec", "tmp", "home")


@pytest.fixture
def image(engine: Engine) -> Iterator[str]:
    """The smallest that a box runs in: the directories that its work is mounted at."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("srv", "srv/deep", "srv/deep/app", "bin", "real"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        link = tarfile.TarInfo("to")
        link.type, link.linkname = tarfile.SYMTYPE, "srv/deep"
        archive.addfile(link)
    name = f"rolewall-test-{secrets.token_hex(6)}"
    engine.call(
        "import a test image",
        lambda c: c.import_image(io.BytesIO(buffer.getvalue()), repository=name, tag="1"),
    )
    yield f"{name}:1"
    engine.lookup("remove a test image", lambda c: c.remove_image(f"{name}:1", force=True))


def spec_of(source: Path, image: str, workdir: str, *, writable: bool, tap: bool) -> BoxSpec:
    mount = ZoneMount("workspace", source, writable)
    return BoxSpec("test", (mount,), image=image, workdir=workdir, tap=tap)


@pytest.mark.docker
@pytest.mark.parametrize("writable", [True, False])
def test_both_places_are_one_directory_with_one_access(
    backend: DockerBackend, image: str, tmp_path: Path, writable: bool
) -> None:
    (tmp_path / "work").mkdir(mode=0o755)
    spec = spec_of(tmp_path / "work", image, "/srv/deep/app", writable=writable, tap=False)
    with open_box(backend, spec) as box:
        zones = box.facts["probe"]["zones"]  # type: ignore[index]
        assert {zone["create"] for zone in zones.values() if zone["want"] != "absent"} >= {
            "ok" if writable else "EROFS"
        }
        for name in ("workspace", "srv/deep/app"):
            assert zones[name]["mountpoint"] and zones[name]["readonly"] is not writable
            assert zones[name]["nosuid"] and zones[name]["nodev"]
    assert list((tmp_path / "work").iterdir()) == []


def verifiers_view(*also: tuple[str, str]) -> View:
    plain = View.of(condition("enforced")(("executor", "verifier")), "verifier")
    return View(plain.role, plain.zones, also)


@pytest.mark.docker
def test_an_attempt_at_one_place_is_told_of_by_the_other(
    backend: DockerBackend, image: str, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir(mode=0o755)
    spec = spec_of(tmp_path / "work", image, "/srv/deep/app", writable=False, tap=True)
    view, ledger = verifiers_view(("/srv/deep/app", "/workspace")), tmp_path / "audit.jsonl"
    with (
        Supervisor() as supervisor,
        open_box(
            backend, spec, tap=supervisor, watch=WatchSpec("verifier", 0, view, ledger)
        ) as box,
    ):
        tries = ["/rolewall/init", "probe", "--zone", "srv/deep/app:rw"]
        assert box.run(tries, cwd="/", timeout=30).returncode == 0
    found = [line for line in read_ledger(ledger) if line["type"] == "attempt"]
    edits = [line for line in found if line["kind"] == "edit"]
    assert edits and all(line["outcome"] == "blocked" for line in edits)
    paths = {path for line in edits for path in line["paths"]}
    assert all(path.startswith("/workspace/.rolewall-probe-") for path in paths)


@pytest.mark.docker
@pytest.mark.root
def test_a_place_behind_a_link_is_refused(
    backend: DockerBackend, image: str, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir(mode=0o755)
    spec = spec_of(tmp_path / "work", image, "/to/app", writable=True, tap=False)
    with pytest.raises(BoxError, match="/to/app: move_mount: ELOOP"):
        open_box(backend, spec)


@pytest.mark.docker
@pytest.mark.root
def test_a_second_place_that_stays_writable_is_found_by_the_probe(
    backend: DockerBackend, image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach = box_module.attach_zones
    monkeypatch.setattr(
        box_module,
        "attach_zones",
        lambda pid, identity, mounts, further: attach(
            pid, identity, mounts, [(replace(mount, writable=True), at) for mount, at in further]
        ),
    )
    (tmp_path / "work").mkdir(mode=0o755)
    spec = spec_of(tmp_path / "work", image, "/srv/deep/app", writable=False, tap=False)
    with pytest.raises(ProbeFailed, match="/srv/deep/app should be read-only"):
        open_box(backend, spec)


@pytest.mark.docker
def test_what_would_be_seen_under_another_name_is_not_let_through(
    backend: DockerBackend, image: str, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir(mode=0o755)
    spec = spec_of(tmp_path / "work", image, "/workspace", writable=False, tap=True)
    view, ledger = verifiers_view(("/to", "/workspace")), tmp_path / "audit.jsonl"
    with Supervisor() as supervisor, pytest.raises(InfrastructureError):
        open_box(backend, spec, tap=supervisor, watch=WatchSpec("verifier", 0, view, ledger))


@pytest.mark.bubblewrap
def test_without_images_there_is_one_place(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "host", "/app", writable=True, tap=False)
    with pytest.raises(InputError, match="has the work at /workspace alone"):
        open_box(BubblewrapBackend(), spec)


@pytest.mark.parametrize("path", ["/app", "/srv/app", "/usr/src/app", "/var/www/x", "/root"])
def test_places_that_work_can_have(path: str) -> None:
    check_workdir(path, ZONES, "here")


@pytest.mark.parametrize(
    "path",
    ["/", "app", "/app/", "/app/../etc", "/a b", "/a:b", "/spec", "/tmp/x", "/home/agent", "/proc",
     "/etc", "/etc/x", "/rolewall/x", "/usr", "/var", "/usr/lib", "/usr/local/bin",
     "/lib64/x", "/var/lib/x", "/bin", "/usr/local/lib/python3.11",
     "/workspace/x", "", "/app\n", "/é"],
)  # fmt: skip
def test_places_that_it_cannot_have(path: str) -> None:
    with pytest.raises(InputError):
        check_workdir(path, ZONES, "here")


def test_a_zone_that_a_place_lies_in_or_around_is_no_place(tmp_path: Path) -> None:
    mounts = (ZoneMount("workspace", tmp_path, True), ZoneMount("app", tmp_path, False))
    for place in ("/app", "/app/deep"):
        with pytest.raises(InputError, match="/app is the box's own"):
            further_places(BoxSpec("test", mounts, workdir=place))
    assert further_places(BoxSpec("test", mounts[:1], workdir="/app")) == [(mounts[0], "/app")]
    assert further_places(BoxSpec("test", mounts, workdir="/workspace")) == []
