"""A process with everything that another could reach for, and one that reaches for it.

``victim TOKEN TOP`` makes one of each kind, writes what they are to ``TOP/found.json`` and
waits for ``TOP/over``. ``attack TOP`` tries each and prints what came of it: ``reached``, or
an error. Both run in a box as well as outside, with nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import secrets
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": {
        "shmget": 29, "semget": 64, "msgget": 68, "ptrace": 101, "mq_open": 240, "mq_unlink": 241,
        "add_key": 248, "keyctl": 250, "process_vm_readv": 310, "process_vm_writev": 311,
        "pidfd_getfd": 438,
    },
    "aarch64": {
        "shmget": 194, "semget": 190, "msgget": 186, "ptrace": 117, "mq_open": 180,
        "mq_unlink": 181, "add_key": 217, "keyctl": 219, "process_vm_readv": 270,
        "process_vm_writev": 271, "pidfd_getfd": 438,
    },
}  # fmt: skip
NR = NUMBERS[os.uname().machine]
SECONDS = 120
PR_SET_PTRACER, PTRACER_ANY = 0x59616D61, -1
CREATE = 0o1600  # IPC_CREAT, for the owner alone
KEY_SEARCH, KEY_TIMEOUT, PROCESS_RING, USER_RING = 10, 15, -2, -4
PTRACE_SEIZE = 0x4206


def call(name: str, *words: int | bytes) -> int:
    given = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    done = int(LIBC.syscall(ctypes.c_long(NR[name]), *given))
    if done < 0:
        raise OSError(ctypes.get_errno(), name)
    return done


def victim(token: str, top: Path) -> None:
    LIBC.prctl(PR_SET_PTRACER, ctypes.c_ulong(PTRACER_ANY), 0, 0, 0)
    number = secrets.randbits(30) | 1
    word = ctypes.create_string_buffer(token.encode())
    found = {
        "token": token, "pid": os.getpid(), "number": number, "address": ctypes.addressof(word),
    }  # fmt: skip
    kept = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX), socket.socket()]
    path = f"/tmp/{token}.sock"
    for listener, address in zip(kept, (f"\0{token}", path, ("127.0.0.1", 0)), strict=True):
        listener.bind(address)
        listener.listen()
    found["port"] = kept[2].getsockname()[1]
    made = _objects(token, number)
    try:
        (top / "found.new").write_text(json.dumps({**found, "lacking": made["lacking"]}))
        (top / "found.new").rename(top / "found.json")
        _wait(top / "over")
    finally:
        os.unlink(path)
        _remove(token, made)


def _objects(token: str, number: int) -> dict[str, Any]:
    """Objects that outlive their maker; ``lacking`` are those that cannot be made here."""
    made: dict[str, Any] = {"lacking": []}
    Path(f"/dev/shm/{token}").write_text(token)
    made["shm"] = call("shmget", number, 4096, CREATE)
    made["sem"] = call("semget", number, 1, CREATE)
    made["msg"] = call("msgget", number, CREATE)
    call("mq_open", token.encode() + b"\0", os.O_CREAT | os.O_RDWR, 0o600, 0)
    try:
        key = call("add_key", b"user\0", token.encode() + b"\0", b"x", 1, USER_RING)
        call("keyctl", KEY_TIMEOUT, key, SECONDS)
    except OSError:
        made["lacking"] += ["user keyring", "key names"]
    return made


def _remove(token: str, made: dict[str, Any]) -> None:
    os.unlink(f"/dev/shm/{token}")
    LIBC.shmctl(made["shm"], 0, 0)
    LIBC.semctl(made["sem"], 0, 0)
    LIBC.msgctl(made["msg"], 0, 0)
    call("mq_unlink", token.encode() + b"\0")


def _wait(path: Path) -> None:
    until = time.monotonic() + SECONDS
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)


def who(found: dict[str, Any]) -> int:
    """The process of the victim, found by what it was started with: its number says nothing
    in a box, where another process may have it."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            started = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if started[2:4] == [b"victim", found["token"].encode()]:
            return int(pid)
    raise ProcessLookupError(errno.ESRCH, "no such process")


def direct(found: dict[str, Any]) -> None:
    pid = found["pid"]
    if os.path.exists(f"/proc/{pid}") and pid != who(found):
        raise ProcessLookupError(errno.ESRCH, "another process has its number")
    os.kill(pid, 0)


def traced(found: dict[str, Any]) -> None:
    pid = who(found)
    call("ptrace", PTRACE_SEIZE, pid, 0, 0)


def memory(found: dict[str, Any], name: str) -> None:
    buffer = ctypes.create_string_buffer(found["token"].encode())
    size = len(found["token"])
    ours = struct.pack("<QQ", ctypes.addressof(buffer), size)
    call(name, who(found), ours, 1, struct.pack("<QQ", found["address"], size), 1, 0)


def opened(found: dict[str, Any], name: str, flags: int = os.O_RDONLY) -> None:
    os.close(os.open(f"/proc/{who(found)}/{name}", flags))


def connected(family: int, address: object) -> None:
    with socket.socket(family) as ours:
        ours.settimeout(5)
        ours.connect(address)


def key(found: dict[str, Any]) -> None:
    call("keyctl", KEY_SEARCH, USER_RING, b"user\0", found["token"].encode() + b"\0", 0)


def key_names(found: dict[str, Any]) -> None:
    if found["token"] not in Path("/proc/keys").read_text():
        raise OSError(errno.ENOENT, "no such key")


def descriptor(found: dict[str, Any]) -> None:
    os.close(call("pidfd_getfd", os.pidfd_open(who(found)), 0, 0))


TRIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "signal by number": direct,
    "signal": lambda found: os.kill(who(found), 0),
    "pidfd": lambda found: os.close(os.pidfd_open(who(found))),
    "a descriptor of its own": descriptor,
    "priority": lambda found: os.setpriority(os.PRIO_PROCESS, who(found), 10),
    "affinity": lambda found: os.sched_setaffinity(who(found), os.sched_getaffinity(0)),
    "ptrace": traced,
    "memory, read": lambda found: memory(found, "process_vm_readv"),
    "memory, write": lambda found: memory(found, "process_vm_writev"),
    "proc mem": lambda found: opened(found, "mem", os.O_RDWR),
    "proc environ": lambda found: opened(found, "environ"),
    "proc root": lambda found: opened(found, f"root/tmp/{found['token']}.sock", os.O_PATH),
    "proc fd": lambda found: os.listdir(f"/proc/{who(found)}/fd"),
    "shared memory": lambda found: call("shmget", found["number"], 4096, 0),
    "semaphores": lambda found: call("semget", found["number"], 1, 0),
    "messages": lambda found: call("msgget", found["number"], 0),
    "POSIX shared memory": lambda found: open(f"/dev/shm/{found['token']}").close(),
    "POSIX messages": lambda found: call(
        "mq_open", found["token"].encode() + b"\0", os.O_RDWR, 0, 0
    ),
    "abstract socket": lambda found: connected(socket.AF_UNIX, f"\0{found['token']}"),
    "socket": lambda found: connected(socket.AF_UNIX, f"/tmp/{found['token']}.sock"),
    "loopback": lambda found: connected(socket.AF_INET, ("127.0.0.1", found["port"])),
    "user keyring": key,
    "key names": key_names,
}


def attack(top: Path) -> None:
    _wait(top / "found.json")
    found = json.loads((top / "found.json").read_text())
    told = {}
    for name, attempt in TRIES.items():
        if name in found["lacking"]:
            continue
        try:
            attempt(found)
        except OSError as error:
            told[name] = errno.errorcode[error.errno or 0]
        else:
            told[name] = "reached"
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "victim":
        victim(sys.argv[2], Path(sys.argv[3]))
    else:
        attack(Path(sys.argv[2]))
