"""What observing costs real work: the same commands without a tap, with it, and with reads.

    python bench/observe.py [--repeat N] [--backend NAME] [--json]

An executor's box of each sort stays open, and the commands run in them in turn, N times, so
that whatever else the machine does meets all three alike. Two measures: seconds by the clock, and
of processor time, of the command and of the supervisor together.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rolewall.errors import RolewallError
from rolewall.library import box_spec
from rolewall.policies import Access, Limits, compile_mounts
from rolewall.sandbox import (
    BACKENDS,
    Backend,
    Box,
    Supervisor,
    WatchSpec,
    WatchSummary,
    find_backend,
    open_box,
)
from rolewall.zones import AskedZone, zone_policy

__all__ = ["main"]

SORTS = ("no tap", "changes", "reads")
PACKAGES = ("asyncio", "email", "json", "logging", "multiprocessing", "unittest", "xml")
FILES = 2000
COMMAND_SECONDS = 300.0
MEASURABLE = 0.02  # seconds; processor time is counted in hundredths
TIME = re.compile(r"(\d+)m([\d.]+)s")
COMMANDS = {
    "pytest": "python3 -m pytest -q tests",
    "compileall": "python3 -m compileall -q -f lib",
    "git clone": "rm -rf clone && git clone -q --no-hardlinks repo clone",
    "git status": "cd repo && for n in 1 2 3; do git status >/dev/null; done",
    "grep -r": "grep -r nothing-of-the-kind lib repo; test $? = 1",
    "imports": "for n in 1 2 3; do python3 -c 'import asyncio, email.message, unittest'; done",
}
MEASURES = ("clock", "processor")
TICKS = os.sysconf("SC_CLK_TCK")
Times = dict[str, dict[str, dict[str, list[float]]]]  # sort, command, measure


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    found = {}
    for name in [asked.backend] if asked.backend else BACKENDS:
        try:
            backend = find_backend(name)
        except RolewallError as error:
            print(f"skipped: {name}: {error}", file=sys.stderr)
            continue
        found[name] = _measure(backend, asked.repeat)
    print(json.dumps(_as_json(found), indent=1) if asked.json else _as_text(found))
    return 0 if found else 3


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--backend", choices=tuple(BACKENDS), help="default: each")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
    asked = parser.parse_args(arguments)
    if asked.repeat < 1:
        parser.error("--repeat: at least 1")
    return asked


def _workspace(root: Path) -> Path:
    """Something to test, to compile, to clone and to search; whoever runs it may write it."""
    tests = root / "tests"
    tests.mkdir(parents=True)
    for module in range(40):
        cases = "".join(f"def test_{n}():\n    assert {n} + 1 == {n + 1}\n" for n in range(25))
        (tests / f"test_{module}.py").write_text(cases)
    stdlib = Path(sysconfig.get_path("stdlib"))
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "test", "tests")
        shutil.copytree(stdlib / name, root / "lib" / name, ignore=ignored)
    for number in range(FILES):
        path = root / "repo" / f"d{number % 50}" / f"f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n" * 20)
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "start")):
        subprocess.run(["git", *words], cwd=root / "repo", check=True, timeout=120)
    return root


def _measure(backend: Backend, repeat: int) -> tuple[Times, Mapping[str, WatchSummary]]:
    times: Times = {
        sort: {name: {measure: [] for measure in MEASURES} for name in COMMANDS} for sort in SORTS
    }
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rolewall-bench-")))
        supervisor = stack.enter_context(Supervisor())
        boxes = {
            sort: stack.enter_context(_box(backend, sort, root.resolve(), supervisor))
            for sort in SORTS
        }
        for round_ in range(repeat + 1):
            for sort, name, measured in _round(boxes, supervisor):
                for measure, seconds in measured.items() if round_ else ():
                    times[sort][name][measure].append(seconds)  # round 0 fills the caches
        seen = {}
        for sort, box in boxes.items():
            box.kill_all()
            if summary := box.finish():
                seen[sort] = summary
    return times, seen


def _box(backend: Backend, sort: str, root: Path, supervisor: Supervisor) -> Box:
    workspace = _workspace(root / sort.replace(" ", "-"))
    zone = AskedZone("workspace", workspace, Access.WRITE)
    limits = Limits(memory_mb=1024, disk_mb=4096)
    compiled = compile_mounts(zone_policy("executor", [zone], (), limits), "executor")
    ledger = root / f"{sort}.jsonl"
    watch = WatchSpec("executor", 0, compiled.view(), ledger, reads=sort == "reads")
    spec = replace(box_spec(compiled, {"workspace": workspace}), tap=sort != "no tap")
    return open_box(backend, spec, tap=supervisor, watch=watch)


def _round(
    boxes: Mapping[str, Box], supervisor: Supervisor
) -> Iterator[tuple[str, str, dict[str, float]]]:
    for name, command in COMMANDS.items():
        script = f"( {command} ); code=$?; times >&2; exit $code"
        for sort, box in boxes.items():
            before = _used(supervisor)
            done = box.run(["/bin/sh", "-c", script], timeout=COMMAND_SECONDS)
            words = done.stderr.text()
            if done.returncode != 0:
                raise SystemExit(f"{name} failed with {sort}: {words[-500:]}")
            children = sum(int(m) * 60 + float(s) for m, s in TIME.findall(words)[-4:])
            used = children + _used(supervisor) - before
            yield sort, name, {"clock": done.ended - done.started, "processor": used}


def _used(supervisor: Supervisor) -> float:
    """Seconds of processor time that the supervisor has had."""
    stat = Path(f"/proc/{supervisor._process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / TICKS


def _as_text(found: Mapping[str, tuple[Times, Mapping[str, WatchSummary]]]) -> str:
    lines = [f"{name}: {value}" for name, value in _machine().items()]
    lines.append("milliseconds: median (least to most), and the ratio of medians to no tap")
    for backend, (times, seen) in found.items():
        for measure in MEASURES:
            lines += ["", f"{backend}, {measure}", f"{'':12}" + "".join(f"{s:>28}" for s in SORTS)]
            for name in COMMANDS:
                base = statistics.median(times["no tap"][name][measure])
                cells = (_cell(times[sort][name][measure], base) for sort in SORTS)
                lines.append(f"{name:12}" + "".join(f"{cell:>28}" for cell in cells))
        reads = seen["reads"]
        lines.append(
            f"seen with reads: {reads.count('own')} own writes, {reads.reads} reads in zones,"
            f" {reads.reads_outside} elsewhere, {reads.execs} programs"
        )
    return "\n".join(lines)


def _cell(seconds: Sequence[float], base: float) -> str:
    low, middle, high = (f(seconds) for f in (min, statistics.median, max))
    spread = f"({1000 * low:.0f} to {1000 * high:.0f})"
    ratio = f"{middle / base:.2f}x" if base >= MEASURABLE else "-"
    return f"{1000 * middle:.0f} {spread} {ratio}"


def _machine() -> dict[str, str]:
    load = os.getloadavg()[0]
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the end",
        "system": f"{platform.platform()}, Python {platform.python_version()}",
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
    }


def _as_json(found: Mapping[str, tuple[Times, Mapping[str, WatchSummary]]]) -> dict[str, Any]:
    rows = {
        backend: {
            "seconds": times,
            "seen": {
                sort: {"own": s.count("own"), "reads": s.reads, "reads_outside": s.reads_outside,
                       "execs": s.execs}
                for sort, s in seen.items()
            },
        }
        for backend, (times, seen) in found.items()
    }  # fmt: skip
    return {"machine": _machine(), "backends": rows}


if __name__ == "__main__":
    sys.exit(main())
