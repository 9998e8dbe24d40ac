"""The contract of ``Backend``, for every backend: see ``rolewall.sandbox.protocol``."""

from __future__ import annotations

import dataclasses
import os
import secrets
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall.errors import BoxError, InputError
from rolewall.policies import Limits
from rolewall.sandbox import Backend, Box, BoxSpec, ZoneMount, open_box
from rolewall.sandbox.kit import kits_directory

Start = Callable[..., Box]
Zone = Callable[..., ZoneMount]

ATTACKS = (
    "echo x > /ZONE/file.txt",
    "rm /ZONE/file.txt",
    "touch /ZONE/new",
    "chmod 777 /ZONE",
    "mv /ZONE/file.txt /ZONE/f",
    "ln /ZONE/file.txt /ZONE/link",
    "mkdir /ZONE/below",
)


def shell(box: Box, script: str) -> tuple[int, str]:
    done = box.run(["/bin/sh", "-c", script], timeout=60)
    return done.returncode, done.stdout.text()


@pytest.mark.pain(14)
def test_a_zone_can_be_written_exactly_if_its_mount_says_so(start: Start, zone: Zone) -> None:
    read, write = zone("brief", writable=False), zone("workspace", writable=True)
    box = start(read, write)
    assert shell(box, "cat /brief/file.txt") == (0, "as it was\n")
    for attack in ATTACKS:
        assert shell(box, attack.replace("ZONE", "brief"))[0] != 0, attack
        twin = attack.replace("ZONE", "workspace")
        clean = "cd /workspace; rm -rf new f link below; echo > file.txt"
        assert shell(box, f"{clean}; {twin}")[0] == 0, twin
    assert [p.name for p in read.source.iterdir()] == ["file.txt"]
    assert (read.source / "file.txt").read_text() == "as it was\n"
    assert {p.lstat().st_uid for p in write.source.rglob("*")} == {os.geteuid()}


def test_a_zone_that_is_not_in_the_spec_is_not_in_the_box(start: Start, zone: Zone) -> None:
    box = start(zone("brief", writable=False), absent=("spec", "verdict"))
    assert shell(box, "ls -d /spec /verdict 2>/dev/null") == (2, "")
    assert shell(box, "ls -d /brief") == (0, "/brief\n")


def test_what_is_below_a_zones_source_but_outside_it_cannot_be_reached(
    start: Start, zone: Zone, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("hidden")
    mount = zone("workspace", writable=True)
    (mount.source / "way").symlink_to(tmp_path / "secret")
    (mount.source / "home").symlink_to("file.txt")
    box = start(mount)
    assert shell(box, "cat /workspace/way || cat /workspace/../secret")[0] != 0
    assert shell(box, "cat /workspace/home") == (0, "as it was\n")


def test_the_root_is_read_only_and_private_zones_are_not(start: Start) -> None:
    box = start()
    for place in ("/", "/usr", "/etc", "/rolewall", "/rolewall/bin", "/usr/bin"):
        assert shell(box, f"touch {place}/new")[0] != 0, place
    for place in ("/tmp", "/home", "/dev/shm"):
        assert shell(box, f"touch {place}/new")[0] == 0, place


def test_there_is_no_network_but_loopback(start: Start) -> None:
    box = start()
    reach = "import socket; s = socket.socket(); s.settimeout(5); s.connect(('{}', {}))"
    assert box.run(["python3", "-c", reach.format("192.0.2.1", 80)]).returncode != 0
    own = (
        "import socket; l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); "
        "socket.create_connection(l.getsockname()).send(b'x'); print(l.accept()[0].recv(1))"
    )
    assert box.run(["python3", "-c", own]).stdout.text() == "b'x'\n"
    _, table = shell(box, "cat /proc/self/net/dev")
    assert [line.split(":")[0].strip() for line in table.splitlines()[2:]] == ["lo"]


def test_every_namespace_is_the_boxs_own(start: Start) -> None:
    kinds = ("mnt", "pid", "ipc", "net", "uts")
    mine = [os.readlink(f"/proc/self/ns/{kind}") for kind in kinds]
    read = "import os, sys; print(*(os.readlink('/proc/self/ns/' + k) for k in sys.argv[1:]))"
    boxes = [start(), start()]
    found = [box.run(["python3", "-c", read, *kinds]).stdout.text().split() for box in boxes]
    for *each, kind in zip(mine, *found, kinds, strict=True):
        assert len(set(each)) == 3, kind


def test_no_process_but_its_own_is_seen(start: Start) -> None:
    listing = "import os; print(*sorted(int(n) for n in os.listdir('/proc') if n.isdigit()))"
    pids = start().run(["python3", "-c", listing]).stdout.text().split()
    assert pids[0] == "1"
    assert len(pids) == 2  # init and itself


def test_the_environment_is_the_boxs_alone(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLEWALL_TEST_SECRET", "of the harness")
    box = start(env={"GIVEN": "yes"})
    _, text = shell(box, "env")
    names = {line.partition("=")[0] for line in text.splitlines()}
    assert "GIVEN" in names
    assert names - set(box.environment()) <= {"PWD", "SHLVL", "_", "OLDPWD"}


def test_a_role_is_nobody_in_particular(start: Start) -> None:
    box = start()
    assert shell(box, "id -u")[1].strip() == str(box.identity.role_uid)
    assert shell(box, "kill -9 1; echo still here")[1] == "still here\n"
    assert shell(box, "sleep 50 & kill -9 $!; wait $!; echo $?")[1] == "137\n"
    assert shell(box, "grep -h ^Cap[EPIA] /proc/self/status | grep -v 0000000000000000")[0] == 1
    if os.geteuid() == 0:
        assert box.identity.role_uid not in (0, box.identity.init_uid)


def test_the_limits_are_named_with_their_mechanism(start: Start) -> None:
    facts = start().facts["limits"]
    assert isinstance(facts, dict)
    named = {field.name for field in dataclasses.fields(Limits)} - {"phase_seconds"}
    assert set(facts) == named
    assert all(isinstance(text, str) and ", " in text for text in facts.values())


def test_a_private_zone_has_an_end(start: Start) -> None:
    box = start()
    fill = "dd if=/dev/zero of=/tmp/x bs=1M count={} 2>/dev/null"
    assert shell(box, fill.format(20))[0] != 0
    assert shell(box, "rm /tmp/x; " + fill.format(6))[0] == 0


def test_no_more_processes_than_allowed(start: Start) -> None:
    box = start()
    many = "import os, time\nfor n in range({}):\n    if os.fork() == 0: time.sleep(30)\nprint(n)"
    assert box.run(["python3", "-c", many.format(60)]).returncode != 0
    box.kill_all()
    assert box.run(["python3", "-c", many.format(5)]).stdout.text() == "4\n"
    assert box.kill_all() == 5


def test_two_boxes_live_side_by_side_and_apart(start: Start) -> None:
    first, second = start(), start()
    if os.geteuid() == 0:
        users = [(box.identity.role_uid, box.identity.init_uid) for box in (first, second)]
        assert len({uid for pair in users for uid in pair}) == 4
    assert shell(first, "echo mine > /tmp/note")[0] == 0
    assert shell(second, "cat /tmp/note")[0] != 0
    assert shell(first, "cat /tmp/note") == (0, "mine\n")
    first.close()
    assert shell(second, "echo still here") == (0, "still here\n")


def test_close_may_be_called_twice_and_leaves_nothing(start: Start) -> None:
    box = start()
    shell(box, "sleep 600 >/dev/null 2>&1 &")
    uid = box.identity.role_uid
    box.close()
    box.close()
    with pytest.raises(BoxError):
        box.run(["true"])
    if os.geteuid() == 0:
        assert not [p for p in Path("/proc").glob("[0-9]*") if _owner(p) == uid]


@pytest.mark.root
def test_users_belong_to_a_box_until_it_is_closed(start: Start) -> None:
    first = start()
    taken = first.identity.role_uid
    assert start().identity.role_uid != taken
    first.close()
    assert start().identity.role_uid == taken  # the pool is searched from its start


def _owner(path: Path) -> int:
    try:
        return path.stat().st_uid
    except FileNotFoundError:
        return -1


def test_an_image_that_does_not_exist_is_refused(backend: Backend) -> None:
    with pytest.raises(InputError):
        open_box(backend, BoxSpec(label="test", mounts=(), tap=False, image="rolewall/none:1"))
    open_box(backend, BoxSpec(label="test", mounts=(), tap=False, image="host")).close()


def test_a_zone_without_a_directory_is_refused(backend: Backend, tmp_path: Path) -> None:
    spec = BoxSpec(
        label="test", mounts=(ZoneMount("workspace", tmp_path / "none", True),), tap=False
    )
    with pytest.raises((InputError, BoxError)):
        open_box(backend, spec)
    assert not (tmp_path / "none").exists()


HARNESS = """
import sys
from rolewall.sandbox import BoxSpec, Streams, find_backend, open_box
box = open_box(find_backend(sys.argv[1]), BoxSpec(label="killed", mounts=(), tap=False))
script = "sleep 600 & echo up; exec sleep " + sys.argv[2]
box.run(["/bin/sh", "-c", script], streams=Streams(stdout=sys.stdout.buffer))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_box_ends_with_its_harness(backend: Backend, number: signal.Signals) -> None:
    seconds = str(10**6 + secrets.randbelow(10**6))
    argv = [sys.executable, "-c", HARNESS, backend.name, seconds]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "up\n"
        inside = command_with(seconds)
        try:
            harness.send_signal(number)
            assert harness.wait(30) == -number
            assert select.select([inside], [], [], 30)[0]
        finally:
            os.close(inside)
    backend.clean()
    assert [path for path in kits_directory().iterdir() if f"-{harness.pid}-" in path.name] == []


def command_with(word: str) -> int:
    """A pidfd of the process whose last argument is ``word``, seen from outside its box."""
    for _ in range(200):
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if path.read_bytes() == f"sleep\0{word}\0".encode():
                    return os.pidfd_open(int(path.parent.name))
            except OSError:
                continue  # it ended meanwhile
        select.select([], [], [], 0.05)
    raise AssertionError(f"no process runs sleep {word}")
