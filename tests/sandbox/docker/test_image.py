"""Where a box's root file system comes from: made here, or there already, never fetched."""

from __future__ import annotations

import io
import json
import secrets
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import BoxError, InputError
from rolewall.sandbox.docker import DockerBackend
from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.docker.image import find_image
from rolewall.sandbox.protocol import BoxSpec, ZoneMount

pytestmark = pytest.mark.docker

Importer = Callable[..., str]


def tiny_tar(name: str, kind: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.type = kind
        entry.mode = 0o755
        archive.addfile(entry)
    return buffer.getvalue()


def remove(name: str, client: Any) -> None:
    client.remove_image(name, force=True)


@pytest.fixture
def import_image(engine: Engine) -> Iterator[Importer]:
    """Import a nearly empty image with the given Dockerfile instructions."""
    made: list[str] = []

    def make(*changes: str, entry: str = "etc", kind: bytes = tarfile.DIRTYPE) -> str:
        data = tiny_tar(entry, kind)
        name = f"rolewall-test-{secrets.token_hex(6)}:1"
        repository, tag = name.split(":")
        engine.call(
            "import a test image",
            lambda c: c.import_image(
                io.BytesIO(data), repository=repository, tag=tag, changes=list(changes)
            ),
        )
        made.append(name)
        return name

    yield make
    for name in made:
        engine.lookup("remove a test image", partial(remove, name))


def test_host_is_the_same_image_each_time(engine: Engine) -> None:
    assert find_image(engine, "host") == find_image(engine, "host")


def test_host_is_loaded_again_when_its_tag_was_moved(
    engine: Engine, import_image: Importer
) -> None:
    host = find_image(engine, "host")
    tag = engine.call("look", lambda c: c.inspect_image(host.id))["RepoTags"][0]
    repository, version = tag.split(":")
    other = import_image()
    engine.call("move the tag", lambda c: c.tag(other, repository, version))
    assert find_image(engine, "host").id == host.id


def test_a_missing_image_is_the_callers_error_and_is_not_pulled(backend: DockerBackend) -> None:
    with pytest.raises(InputError, match="no such image") as caught:
        backend.launch(BoxSpec(label="test", mounts=(), image="rolewall-test-none:1"))
    assert caught.value.exit_code == 2
    assert "docker pull rolewall-test-none:1" in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["", "../json", "a b", "-x", "x//y", "x:y:z", "x\n", "x?all=1"])
def test_what_is_no_image_name_never_reaches_the_engine(engine: Engine, name: str) -> None:
    with pytest.raises(InputError, match="not an image name"):
        find_image(engine, name)


def test_a_named_image_is_found_with_its_search_path(
    engine: Engine, import_image: Importer
) -> None:
    image = find_image(engine, import_image("ENV PATH=/opt/tool/bin:/usr/bin"))
    assert image.path == "/opt/tool/bin:/usr/bin"
    assert image.volumes == ()


def test_a_box_of_a_named_image_has_the_same_wall(
    import_image: Importer, start: Callable[[BoxSpec], Any], zones: Callable[[str], Path]
) -> None:
    mounts = (ZoneMount("brief", zones("b"), False), ZoneMount("workspace", zones("w"), True))
    running = start(BoxSpec(label="test", mounts=mounts, image=import_image("VOLUME /data")))
    code, text = running.run(
        "/rolewall/init", "probe", "--zone", "brief:ro", "--zone", "workspace:rw",
        "--zone", "data:ro",
    )  # fmt: skip
    assert code == 0
    seen = json.loads(text)
    assert seen["zones"]["brief"]["create"] == "EROFS"
    assert seen["zones"]["workspace"]["create"] == "ok"
    assert seen["zones"]["data"]["create"] == "EROFS"
    assert seen["root"] == "EROFS"
    assert int(seen["caps"]["eff"], 16) == 0


@pytest.mark.pain(24)
def test_a_volume_of_an_image_below_a_zone_is_refused(
    backend: DockerBackend, import_image: Importer
) -> None:
    name = import_image("VOLUME /tmp/below")
    with pytest.raises(InputError, match="/tmp/below would lie in the zone tmp"):
        backend.launch(BoxSpec(label="test", mounts=(), image=name))


def test_an_images_own_start_settings_do_nothing(
    backend: DockerBackend, engine: Engine, import_image: Importer
) -> None:
    name = import_image(
        "ENTRYPOINT /no/such",
        "CMD also-not",
        "USER 1234",
        "WORKDIR /etc",
        "VOLUME /data",
        "ENV HOME=/image",
        "HEALTHCHECK --interval=1s CMD /rolewall/init probe",
    )
    box = backend.launch(BoxSpec(label="test", mounts=(), image=name))
    try:
        found = engine.call("look", lambda c: c.inspect_container(str(box.facts["container"])))
    finally:
        box.close()
    assert found["Path"] == "/rolewall/init"
    assert found["Config"]["User"] == "0:0"
    assert found["Config"]["Healthcheck"]["Test"] == ["NONE"]
    assert "ro" in found["HostConfig"]["Tmpfs"]["/data"].split(",")
    assert [m for m in found["Mounts"] if m["Type"] == "volume"] == []


def test_a_launch_that_the_engine_refuses_leaves_nothing(
    backend: DockerBackend, engine: Engine, import_image: Importer
) -> None:
    name = import_image(entry="rolewall", kind=tarfile.REGTYPE)
    with pytest.raises(BoxError, match="refused to start a box") as caught:
        backend.launch(BoxSpec(label="refused", mounts=(), image=name))
    assert caught.value.exit_code == 3
    marks = {"label": ["rolewall.label=refused"]}
    assert engine.call("list", lambda c: c.containers(all=True, filters=marks)) == []
