"""Runs first in a test's box: drops root, puts itself under the tap, runs what it is told."""

import array
import ctypes
import json
import os
import socket
import subprocess
import sys


def install(program: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    no_new_privs, set_filter, new_listener, wait_killable = 38, 1, 1 << 3, 1 << 5
    assert libc.prctl(no_new_privs, 1, 0, 0, 0) == 0
    seccomp = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    wanted = Program(len(program) // 8, program)
    listener = libc.syscall(seccomp, set_filter, new_listener | wait_killable, ctypes.byref(wanted))
    assert listener >= 0, os.strerror(ctypes.get_errno())
    return listener


def main(control_fd: int, uid: int, program: bytes) -> None:
    control = socket.socket(fileno=control_fd)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    listener = install(program)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))
    control.sendmsg([b"listener"], [rights])
    os.close(listener)
    while order := control.recv(1 << 18):
        done = subprocess.run(
            json.loads(order),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=50,
            text=True,
            check=False,
            cwd="/tmp",
        )
        control.send(json.dumps([done.returncode, (done.stdout + done.stderr)[:100_000]]).encode())


main(int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3]))
