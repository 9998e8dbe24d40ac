"""The program that runs hidden tests inside the grade box.

Started as ``python3 -I -B FILE`` with one JSON object on standard input; it
imports nothing of rolewall and runs with any Python from 3.9 on. Each event is
one line on standard output, numbered and authenticated with a key that came on
standard input and is gone before anything of the work is imported. Tests get
standard error as their standard output.

Work that is imported can do in this process whatever this program can. What is
here makes lying hard and visible; it does not make it impossible, which is why
grades made so are ``in-process``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

__all__: list[str] = []

Send = Callable[..., None]
Job = dict[str, Any]

PACKAGES = "/rolewall/python"  # where an image of its own gets pytest
NOTE_LIMIT = 300
CANARY_SOURCES = (
    "def {name}():\n    assert 1 == 2\n",
    "def {name}():\n    assert [str(3)] == ['4']\n",
    "def {name}():\n    raise AssertionError('expected')\n",
    "def {name}():\n    assert sorted({{2: 'a', 1: 'b'}}) == [2, 1], 'order'\n",
)
WORDS = ("order", "total", "limits", "parse", "empty", "bounds", "update", "names")


def read_job() -> Job:
    """The job; afterwards standard input is at its end, so nobody reads it again."""
    job: Job = json.loads(sys.stdin.buffer.read())
    return job


def open_channel(key: bytes) -> Send:
    """A function that sends one event. The key lives on only inside the MAC object."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    base = hmac.new(key, digestmod=hashlib.sha256)
    owner = os.getpid()
    write, getpid = os.write, os.getpid
    number = 0

    def send(**event: object) -> None:
        nonlocal number
        if getpid() != owner:  # a forked child has no say
            return
        text = json.dumps({"n": number, **event}, separators=(",", ":"))
        mac = base.copy()
        mac.update(text.encode())
        line = b"\n@" + mac.hexdigest().encode() + b" " + text.encode() + b"\n"
        while line:
            line = line[write(descriptor, line) :]
        number += 1

    return send


class Witness:
    """Sends what pytest did, and puts canaries among the tests."""

    def __init__(self, send: Send, job: Job) -> None:
        self._send = send
        self._wanted = set(job["only"])
        self._random = random.SystemRandom()
        self._per_file = job["canaries_per_file"]

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        if self._wanted:
            dropped = [item for item in items if item.nodeid not in self._wanted]
            items[:] = [item for item in items if item.nodeid in self._wanted]
            if dropped:
                config.hook.pytest_deselected(items=dropped)
        self._send(event="collected", ids=[item.nodeid for item in items])
        for canary in list(self._canaries(items)):
            items.insert(self._random.randint(0, len(items)), canary)

    def _canaries(self, items: list[pytest.Item]) -> Iterator[pytest.Item]:
        import pytest

        modules = {id(m): m for m in (item.getparent(pytest.Module) for item in items) if m}
        for module in modules.values():
            for source in self._random.sample(CANARY_SOURCES, self._per_file):
                name = f"test_{self._random.choice(WORDS)}_{self._random.getrandbits(24):06x}"
                space = dict(vars(module.obj))
                exec(compile(source.format(name=name), str(module.path), "exec"), space)
                item = pytest.Function.from_parent(module, name=name, callobj=space[name])
                self._send(event="canary", id=item.nodeid)
                yield item

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._send(event="uncollected", id=report.nodeid, note=_note(report))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._send(
            event="report",
            id=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            expected_failure=hasattr(report, "wasxfail"),
            note=_note(report) if report.failed else "",
        )


def _note(report: pytest.CollectReport | pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr or "")
    line = next((one for one in reversed(text.splitlines()) if one.strip()), "")
    first = text.splitlines()[0] if crash and text else line
    return first.encode("utf-8", "replace").decode()[:NOTE_LIMIT]


def prepare_environment(job: Job) -> None:
    for name in [n for n in os.environ if n.startswith(("PYTEST_", "PYTHON", "COVERAGE_"))]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    # The work comes last, so that it shadows neither the standard library nor
    # pytest; a ``pytest.py`` in it is never imported.
    sys.path.extend(job["path"])
    os.chdir(job["directory"])


def pytest_arguments(job: Job) -> list[str]:
    grader = job["grader"]
    own = ["-c", job["ini"], "--rootdir", grader, "--confcutdir", grader]
    plain = ["-p", "no:cacheprovider", "--import-mode=importlib", "--color=no", "-q"]
    plain += ["--tb=short", "--continue-on-collection-errors", "--strict-markers"]
    if not job["allow_conftest"]:
        plain.append("--noconftest")
    return own + plain + [f"{grader}/{name}" for name in job["tests"]]


def main() -> None:
    leave = os._exit
    job = read_job()
    send = open_channel(bytes.fromhex(job.pop("key")))
    if os.path.isdir(PACKAGES):
        sys.path.append(PACKAGES)
    try:
        import pytest
    except ImportError as error:
        send(event="no-pytest", note=str(error))
        leave(0)
    send(event="begin", pytest=pytest.__version__, python=sys.version.split()[0])
    prepare_environment(job)
    try:
        status = int(pytest.main(pytest_arguments(job), plugins=[Witness(send, job)]))
        note = ""
    except BaseException as error:
        status, note = -1, f"{type(error).__name__}: {error}"[:NOTE_LIMIT]
    send(event="end", status=status, note=note)
    leave(0)  # no exit handler of the work runs


if __name__ == "__main__":
    main()
