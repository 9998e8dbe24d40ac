"""Real boxes on the engine: what holds inside, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import BoxError
from rolewall.policies import Limits
from rolewall.sandbox.docker import DockerBackend
from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.docker.limits import check_limits
from rolewall.sandbox.protocol import BoxSpec, ZoneMount

pytestmark = pytest.mark.docker

Start = Callable[[BoxSpec], Any]

SMALL = Limits(memory_mb=128, pids=32, cpus=0.5, disk_mb=16)
BOX = BoxSpec(label="test", mounts=(), limits=SMALL)


def test_the_engine_was_asked_for_the_whole_wall(start: Start, engine: Engine) -> None:
    box = start(BOX).box
    found = engine.call("look", lambda c: c.inspect_container(box.facts["container"]))
    host = found["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["Privileged"] is False
    assert host["CapDrop"] == ["ALL"]
    assert sorted(host["CapAdd"]) == ["KILL", "SETGID", "SETUID"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert any(option.startswith("seccomp={") for option in host["SecurityOpt"])
    assert host["Memory"] == host["MemorySwap"] == 128 * 1024 * 1024
    assert host["PidsLimit"] == 33
    assert host["NanoCpus"] == 500_000_000
    assert host["IpcMode"] == "private"
    assert host["PidMode"] == ""
    assert host["AutoRemove"] is True
    assert host["Init"] is False
    assert host["LogConfig"]["Type"] == "none"
    assert not [m for m in found["Mounts"] if "docker.sock" in m["Source"]]


def test_the_probe_sees_a_role_with_nothing(start: Start) -> None:
    running = start(BOX)
    code, text = running.run("/rolewall/init", "probe", "--zone", "tmp:rw", "--zone", "no:absent")
    assert code == 0
    seen = json.loads(text)
    identity = running.box.identity
    assert set(seen["uid"]) == {identity.role_uid}
    assert set(seen["gid"]) == {identity.role_gid}
    assert [c for c in ("eff", "prm", "inh", "amb") if int(seen["caps"][c], 16)] == []
    assert seen["no_new_privs"] == 1
    assert seen["seccomp_filters"] == running.box.filters
    assert seen["interfaces"] == ["lo"]
    assert seen["root"] == "EROFS"
    assert seen["ptrace_init"] != "ok"
    assert seen["kill_init"] == "EPERM"
    assert seen["zones"]["tmp"]["create"] == "ok"
    assert seen["zones"]["no"]["exists"] is False


def test_nothing_but_private_places_can_be_written(start: Start) -> None:
    what = r"-path /proc -prune -o \( -type d -o -type f \) -writable -print"
    search = f"find / -maxdepth 3 {what} 2>/dev/null"
    _, text = start(BOX).shell(search)
    assert sorted(text.split()) == ["/dev/mqueue", "/dev/shm", "/home", "/tmp"]


def test_the_host_is_not_told_to_the_box(start: Start) -> None:
    running = start(BOX)
    _, text = running.shell("hostname; cat /etc/hosts /etc/resolv.conf /etc/passwd; env")
    assert os.uname().nodename not in text.split()
    assert text.splitlines()[0] == "box"
    assert "nameserver" not in text.replace("nameserver 127.0.0.1", "")
    assert "role:x:" in text
    assert set(running.shell("ls /proc | grep '^[0-9]'")[1].split()) - {"1"}
    assert "docker" not in running.shell("ls /run /var/run 2>/dev/null")[1]


def test_python_and_pytest_run_but_rolewall_is_not_there(start: Start) -> None:
    running = start(BOX)
    assert running.run("pytest", "--version")[0] == 0
    assert running.run("python3", "-c", "import rolewall.errors")[0] == 1


def test_a_zone_can_be_written_exactly_if_it_should_be(
    start: Start, zones: Callable[[str], Path]
) -> None:
    read, write = zones("read"), zones("write")
    spec = BoxSpec(
        label="test",
        mounts=(ZoneMount("brief", read, False), ZoneMount("workspace", write, True)),
        limits=SMALL,
    )
    running = start(spec)
    assert running.shell("cat /brief/file.txt") == (0, "as it was\n")
    for attack in (
        "echo x > /brief/file.txt",
        "rm /brief/file.txt",
        "touch /brief/new",
        "chmod 777 /brief",
        "mv /brief/file.txt /brief/f",
    ):
        twin = attack.replace("/brief", "/workspace")
        assert running.shell(attack)[0] != 0, attack
        assert running.shell(f"echo as it was > /workspace/file.txt; {twin}")[0] == 0, twin
    assert [p.name for p in read.iterdir()] == ["file.txt"]
    assert (read / "file.txt").read_text() == "as it was\n"
    assert {p.stat().st_uid for p in write.rglob("*")} == {os.geteuid()}


def test_limits_are_in_force_and_recorded(start: Start) -> None:
    running = start(BOX)
    facts = running.box.facts["limits"]
    assert facts["memory_mb"] == "cgroup, 128 MiB"
    assert facts["pids"] == "cgroup, 33 processes with init"
    assert facts["cpus"] == "cgroup, 0.5 cores"
    assert running.shell("dd if=/dev/zero of=/tmp/x bs=1M count=17 2>/dev/null")[0] != 0
    assert running.shell("rm /tmp/x; dd if=/dev/zero of=/tmp/x bs=1M count=15 2>/dev/null")[0] == 0


def test_a_role_that_fills_all_memory_does_not_end_its_box(start: Start) -> None:
    tight = BoxSpec(label="test", mounts=(), limits=Limits(memory_mb=64, pids=32, disk_mb=1024))
    running = start(tight)
    for place in ("/tmp", "/home", "/dev/shm"):
        running.shell(f"cat /dev/zero > {place}/full 2>/dev/null")
    code, _ = running.shell("cat /dev/zero | tail -c 200m | wc -c")
    assert running.shell("echo still here") == (0, "still here\n")
    assert running.channel.kill_all(20) >= 0
    assert code in {0, 137}


def test_a_limit_that_is_not_in_force_is_an_error(start: Start) -> None:
    running = start(BOX)
    groups = Path(f"/proc/{running.pid}/cgroup").read_text()
    tighter = BoxSpec(label="test", mounts=(), limits=Limits(memory_mb=64))
    with pytest.raises(BoxError, match="limit memory_mb is not in force"):
        check_limits(groups, tighter)


def test_a_process_of_elsewhere_is_not_admitted(start: Start) -> None:
    box = start(BOX).box
    with pytest.raises(BoxError, match="not in the container"):
        box.admit(os.getpid())


def test_two_boxes_live_side_by_side_and_apart(start: Start) -> None:
    first, second = start(BOX), start(BOX)
    assert first.box.facts["container"] != second.box.facts["container"]
    if os.geteuid() == 0:
        assert first.box.identity.role_uid != second.box.identity.role_uid
    assert first.shell("echo mine > /tmp/note")[0] == 0
    assert second.shell("cat /tmp/note")[0] != 0
    assert first.shell("cat /tmp/note") == (0, "mine\n")


def test_a_box_without_a_tap_gets_the_engines_default(backend: DockerBackend) -> None:
    box = backend.launch(BoxSpec(label="test", mounts=(), limits=SMALL, tap=False))
    box.close()
    assert box.facts["seccomp"] == {"profile": "engine default", "sha256": None}


def test_close_leaves_nothing_and_may_be_called_twice(
    backend: DockerBackend, engine: Engine
) -> None:
    box = backend.launch(BOX)
    box.close()
    box.close()
    container = str(box.facts["container"])
    assert engine.lookup("look", lambda c: c.inspect_container(container)) is None


def test_a_box_ends_with_its_init(start: Start, engine: Engine) -> None:
    running = start(BOX)
    container = str(running.box.facts["container"])
    running.channel.quit()
    engine.lookup("wait", lambda c: c.wait(container, timeout=30, condition="removed"))
    assert engine.lookup("look", lambda c: c.inspect_container(container)) is None


HARNESS = """
import sys
from rolewall.sandbox.channel import Channel
from rolewall.sandbox.docker import DockerBackend
from rolewall.sandbox.protocol import BoxSpec
box = DockerBackend().launch(BoxSpec(label="killed", mounts=()))
channel = Channel(box.control)
channel.hello(20)
nothing = open("/dev/null", "r+")
channel.start(["sleep", "600"], cwd="/", env={"PATH": "/usr/bin"}, rlimits={},
              stdin=nothing.fileno(), stdout=nothing.fileno(), stderr=nothing.fileno())
print(box.facts["container"], flush=True)
sys.stdin.read()
"""


def test_a_killed_harness_takes_its_box_along(engine: Engine) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        container = harness.stdout.readline().strip()
        assert engine.lookup("look", lambda c: c.inspect_container(container)) is not None
        harness.send_signal(signal.SIGKILL)
        engine.lookup("wait", lambda c: c.wait(container, timeout=30, condition="removed"))
    assert engine.lookup("look", lambda c: c.inspect_container(container)) is None


def test_doctor_starts_a_box(backend: DockerBackend) -> None:
    findings = {finding.subject: finding for finding in backend.diagnose()}
    assert findings["docker engine"].ok
    assert findings["docker box"].ok, findings["docker box"].detail


def test_an_engine_that_was_found_is_used(engine: Engine) -> None:
    backend = DockerBackend(engine)
    box = backend.launch(BOX)
    box.close()
    assert box.facts["engine"] == engine.version
    assert backend._usable_engine() is engine
