"""The program that runs hidden tests inside the grade box.

Started as ``python3 -I -B -X pycache_prefix=… FILE`` with one JSON object on standard input; it
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
from importlib.machinery import PathFinder
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
        self._work = job["directory"]
        self._own: dict[str, str | None] = {}
        self._random = random.SystemRandom()
        self._per_file = job["canaries_per_file"]

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        dropped = [i for i in items if self._wanted and i.nodeid not in self._wanted]
        if dropped:
            items[:] = [item for item in items if item.nodeid in self._wanted]
            config.hook.pytest_deselected(items=dropped)
        ids = [[item.nodeid for item in some] for some in (items, dropped)]
        self._send(event="collected", ids=ids[0], dropped=ids[1])
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

    def pytest_exception_interact(
        self, call: pytest.CallInfo[Any], report: pytest.CollectReport | pytest.TestReport
    ) -> None:
        if call.when == "collect" and call.excinfo is not None:
            self._own[report.nodeid] = own_fault(call.excinfo.value, self._work)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            own = self._own.get(report.nodeid)
            self._send(event="uncollected", id=report.nodeid, note=_note(report), own=own)

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


def own_fault(error: BaseException, work: str) -> str | None:
    """What a hidden file lacks, if its import failed without any part of the work in it:
    the top-level module that is not there, or an empty text for another reason."""
    cause = error.__cause__ or error
    if not isinstance(cause, (ImportError, SyntaxError)):
        return None
    if any(_is_below(file, work) for file in _files_of(cause)):
        return None
    module = (getattr(cause, "name", None) or "").partition(".")[0]
    places = [os.path.abspath(place) for place in sys.path]
    inside = [place for place in places if _is_below(place, work)]
    try:
        found = module and PathFinder.find_spec(module, inside)
    except Exception:  # a finder that the work put there
        return None
    return None if found else module


def _files_of(error: BaseException) -> Iterator[str]:
    """The files whose code an error went through, or which it is about."""
    for name in ("path", "filename"):
        yield str(getattr(error, name, None) or "")
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code.co_filename
        step = step.tb_next


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + "/")


def prepare_environment(job: Job) -> None:
    for name in [n for n in os.environ if n.startswith(("PYTEST_", "PYTHON", "COVERAGE_"))]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if sys.pycache_prefix:  # for what the tests start: see the command line of this program
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
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
