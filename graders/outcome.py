"""How the end of a grader's process is read, the same for every grader."""

from __future__ import annotations

import signal

from rolewall.graders.protocol import Finding
from rolewall.sandbox import Completed

__all__ = ["broken", "ended_badly", "tail"]

TAIL = 2000
SHELL_SIGNAL = 128  # a return code above it is a signal's number more
SIGNALS = frozenset(signal.Signals)


def tail(ran: Completed) -> dict[str, str]:
    """The end of what a process wrote, for a person to read; never judged."""
    return {"stdout": ran.stdout.text()[-TAIL:], "stderr": ran.stderr.text()[-TAIL:]}


def broken(ran: Completed, why: str) -> Finding:
    return Finding("error", why, details={"returncode": ran.returncode, "output": tail(ran)})


def ended_badly(ran: Completed) -> str:
    """Why this process can have judged nothing, or an empty text."""
    for ended, why in (
        (ran.timed_out, "the grader ran out of time"),
        (ran.violation, "the grader was stopped for a violation"),
        (ran.disk_full, "the grader filled its disk"),
        (ran.out_of_memory, "the grader ran out of memory"),
    ):
        if ended:
            return why
    if ran.returncode in (126, 127):
        return f"exit status {ran.returncode}: a program could not be started"
    number = ran.returncode - SHELL_SIGNAL
    if number in SIGNALS:
        return f"the grader was killed by {signal.Signals(number).name}"
    return ""
