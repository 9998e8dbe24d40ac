"""What the role finds, and that it does not reach init."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import InitBox

pytestmark = pytest.mark.bubblewrap

TOUCH_INIT = """
import ctypes, os, resource, signal, sys
target = int(sys.argv[1]) or os.fork()
if target == 0:
    signal.pause()
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
def attach():
    if libc.ptrace(16, target, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "")
acts = {
    "signal": lambda: os.kill(target, 0),
    "stop": lambda: signal.pidfd_send_signal(os.pidfd_open(target), signal.SIGCONT),
    "prlimit": lambda: resource.prlimit(target, resource.RLIMIT_NOFILE, (64, 64)),
    "memory": lambda: os.close(os.open(f"/proc/{target}/mem", os.O_RDWR)),
    "descriptors": lambda: os.listdir(f"/proc/{target}/fd"),
    "environment": lambda: open(f"/proc/{target}/environ").read(),
    "affinity": lambda: os.sched_setaffinity(target, {0}),
    "attach": attach,
}
for name, act in acts.items():
    try:
        act()
    except OSError:
        continue
    print(name)
"""


def test_the_probe_tells_what_holds(box: InitBox) -> None:
    facts = box.probe("tmp:rw", "usr:ro", "absent:absent", "gone:ro")
    assert facts["uid"] == facts["gid"] == [box.uid] * 4
    assert {facts["caps"][name] for name in ("eff", "prm", "inh", "amb")} == {"0"}
    assert (facts["no_new_privs"], facts["seccomp"], facts["seccomp_filters"]) == (1, 0, 0)
    assert facts["fds"] == [0, 1, 2]
    assert facts["interfaces"] == ["lo"]
    assert sorted(facts["env"]) == sorted(box.env)
    assert (facts["pids"][0], len(facts["pids"])) == (1, 2)
    assert facts["root"] == "EROFS"
    assert facts["ptrace_init"] == "EACCES"
    assert facts["zones"]["absent"] == {"want": "absent", "exists": False}
    assert facts["zones"]["tmp"]["create"] == "ok"
    assert facts["zones"]["tmp"]["mountpoint"] and not facts["zones"]["tmp"]["readonly"]
    assert facts["zones"]["usr"]["mountpoint"] and facts["zones"]["usr"]["readonly"]
    assert (facts["zones"]["usr"]["create"], facts["zones"]["usr"]["touch"]) == ("EROFS", "EROFS")
    assert facts["zones"]["gone"]["create"] == "ENOENT" and not facts["zones"]["gone"]["exists"]


@pytest.mark.root
def test_init_is_out_of_the_roles_reach(root_box: InitBox) -> None:
    reached = [
        set(root_box.run(*root_box.script(TOUCH_INIT, target))[1].decode().split())
        for target in ("1", "0")
    ]
    everything = {"signal", "stop", "prlimit", "memory", "descriptors", "environment"}
    assert reached == [set(), everything | {"affinity", "attach"}]


@pytest.mark.root
def test_init_runs_as_its_own_user_with_little(root_box: InitBox) -> None:
    status = Path(f"/proc/{root_box.pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert set(fields["Uid"].split()) == set(fields["Gid"].split()) == {str(root_box.init_uid)}
    assert fields["Groups"].split() == []
    kill, setgid, setuid = 1 << 5, 1 << 6, 1 << 7
    assert int(fields["CapPrm"], 16) == int(fields["CapEff"], 16) == kill | setgid | setuid
    assert fields["NoNewPrivs"].strip() == "1"
    assert sorted(os.listdir(f"/proc/{root_box.pid}/fd")) == ["0", "1", "2", "3", "4"]
