"""A disk that is full, gone or read-only: said in words, and nothing counts that is not on it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.sandbox import Backend
from tests.processes import children_of, command_of

if TYPE_CHECKING:
    from conftest import Studio

pytestmark = [pytest.mark.root, pytest.mark.pain(19), pytest.mark.pain(4)]

# Runs in a mount namespace of its own: small file systems, and others do not see them.
# For each size but the last: a run on a file system of that size, and once more with the last.
DRIVER = """
import json, subprocess, sys
from pathlib import Path

place, sizes, options, words = json.loads(sys.argv[1])

def rolewall(*more):
    done = subprocess.run([sys.executable, "-m", "rolewall", *words, *more],
                          capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    return [done.returncode, done.stdout, done.stderr]

def mount(*how):
    subprocess.run(["mount", *how, place], check=True, timeout=20)

found = []
for size in sizes[:-1]:
    mount("-t", "tmpfs", "-o", options.format(size=size), "none")
    out = str(Path(sys.argv[2]) / f"out-{size}")
    full = rolewall("-o", out)
    records = [p.read_text() for p in sorted(Path(out).glob("episodes/*/episode.json"))]
    mount("-o", "remount," + options.format(size=sizes[-1]))
    again = rolewall("-o", out, "--json")
    left = sorted(str(p.relative_to(out)) for p in Path(out).rglob("*")
                  if p.name.startswith((".partial-", "obj", "tmp")) and p.is_file()
                  or p.name == "scratch")
    kits = sorted(p.name for p in Path(place).iterdir()) if place != sys.argv[2] else []
    found.append({"size": size, "full": full, "records": records, "again": again,
                  "left": left, "kits": kits})
    subprocess.run(["umount", place], check=True, timeout=20)
print(json.dumps(found))
"""


def sweep(
    place: Path, out: Path, sizes: list[str], words: list[object], options: str = "size={size}"
) -> list[dict[str, Any]]:
    given = json.dumps([str(place), sizes, options, [str(word) for word in words]])
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", DRIVER, given, str(out)],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture
def words(studio: Studio, backend: Backend) -> list[object]:
    write = {"steps": [{"run": "head -c 100000 /dev/urandom > big; echo x + 1 > app.py"}]}
    team = studio.team(executor=write, verifier={"verdict": "approve"}, memory_mb=256)
    return ["run", team, "--tasks", studio.task(), "--trials", 2, "--jobs", 2,
            "--backend", backend.name]  # fmt: skip


def check(found: dict[str, Any]) -> bool:
    """Whether the disk was full; that all is as it must be."""
    code, _, said = found["full"]
    assert code in (0, 3), found
    assert "Traceback" not in said and "bug in rolewall" not in said
    if code == 3:
        assert "no space left on device" in said.lower(), said
    records = [json.loads(text) for text in found["records"]]
    whole = [r for r in records if r["status"] == "complete"]
    assert {(r["verdict"], r["grade"]) for r in whole} <= {("approve", "pass")}
    code, out, said = found["again"]
    assert code == 0, said
    table = json.loads(out)["table"]["conditions"][0]
    assert table["counts"] == {"approve_pass": 2} and table["errors"] == 0
    assert found["left"] == []
    return found["full"][0] == 3


def test_the_disk_of_the_run_is_full(words: list[object], tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    sizes = ["4k", "160k", "1500k", "64m"]
    full = [check(each) for each in sweep(place, place, sizes, words)]
    assert full == [True, True, True]


def test_no_more_files_can_be_made(words: list[object], tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    found = sweep(place, place, ["150", "100000"], words, "size=64m,nr_inodes={size}")
    assert [check(each) for each in found] == [True]


@pytest.mark.bubblewrap
def test_the_disk_of_the_boxes_files_is_full(studio: Studio, tmp_path: Path) -> None:
    """On docker the engine would have to see the same small file system."""
    place = Path("/run/rolewall/kits")
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    team = studio.team(
        executor={"steps": [{"run": "echo x + 1 > app.py"}]}, verifier={"verdict": "approve"}
    )
    words = ["run", team, "--tasks", studio.task(), "--trials", 2, "--backend", "bubblewrap"]
    found = sweep(place, tmp_path, ["100k", "64m"], words)
    assert [check(each) for each in found] == [True]
    assert [each["kits"] for each in found] == [[]]


def test_a_role_that_meets_a_full_disk_has_not_failed(
    studio: Studio, backend: Backend, tmp_path: Path
) -> None:
    """What it was promised was not there. With room, the same role does its work."""
    # All but what the harness needs to say so. What is asked for at once and refused takes
    # nothing meanwhile: a write would, for as long as it takes to fail and be undone.
    free = "$(stat -f -c %a .) * $(stat -f -c %S .)"
    fill = f"dd if=/dev/zero of=big bs=4096 count=$(( ({free} - 700000) / 4096 ))"
    fill += "; fallocate -l 900000 more && echo x + 1 > app.py || rm more"
    team = studio.team(
        executor={"steps": [{"run": fill}]}, verifier={"verdict": "approve"}, memory_mb=256
    )
    words = ["run", team, "--tasks", studio.task(), "--trials", 2, "--backend", backend.name]
    place = tmp_path / "disk"
    place.mkdir()
    (found,) = sweep(place, place, ["6m", "6m"], words)
    assert found["full"][0] == 3
    errors = [json.loads(text)["error"] for text in found["records"]]
    assert [error["kind"] for error in errors] == ["StorageError"] * 2
    assert all("no space left on device" in error["message"].lower() for error in errors), errors


def test_a_disk_that_takes_nothing(words: list[object], tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    script = 'mount -t tmpfs -o ro none "$0" && exec "$@"'
    argv = [sys.executable, "-m", "rolewall", *words, "-o", place / "out"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(place), *map(str, argv)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert "read-only file system" in done.stderr.lower() and str(place) in done.stderr


def test_a_ledger_that_no_longer_fits(backend: Backend, tmp_path: Path) -> None:
    """What is not recorded does not run on."""
    place, zone = tmp_path / "ledger", tmp_path / "zone"
    place.mkdir()
    zone.mkdir()
    script = 'mount -t tmpfs -o size=4k none "$0"; exec "$@"'
    many = "for i in $(seq 100); do touch /data/$i 2>&-; done; echo done"
    argv = [sys.executable, "-m", "rolewall", "exec", "--role", "verifier", "--backend",
            backend.name, "--zone", f"data={zone}:read", "--attempts", place / "a.jsonl",
            "--", "sh", "-c", many]  # fmt: skip
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(place), *map(str, argv)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 125 and "Traceback" not in done.stderr
    assert "no space left on device" in done.stderr.lower()


@pytest.mark.parametrize("limit", [24, 48])
def test_out_of_descriptors(
    words: list[object], backend: Backend, tmp_path: Path, limit: int
) -> None:
    """Whatever does not fit is an error of the machine; with more, all of it is done."""
    out = tmp_path / "out"
    argv = [sys.executable, "-m", "rolewall", *words, "-o", out, "--json"]
    counts = []
    for most in (limit, 4096):
        script = f'ulimit -n {most}; exec "$@"'
        done = subprocess.run(
            ["sh", "-c", script, "sh", *map(str, argv)],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr and "bug in rolewall" not in done.stderr
        assert done.returncode in (0, 3), done.stderr
        for path in out.glob("episodes/*/episode.json"):
            record = json.loads(path.read_text())
            assert record["status"] == "error" or record["grade"] == "pass", record
        counts.append(done.returncode)
    assert counts[-1] == 0


@pytest.mark.parametrize("starve", [True, False])
def test_a_supervisor_out_of_descriptors_refuses_no_role(
    backend: Backend, tmp_path: Path, starve: bool
) -> None:
    """What it cannot look at ends the box: a refusal would be laid to the role."""
    zone = tmp_path / "zone"
    zone.mkdir()
    script = "touch /data/ready; until test -e /data/go; do sleep 0.05; done; echo x > /data/out"
    argv = [sys.executable, "-m", "rolewall", "exec", "--role", "executor", "--backend",
            backend.name, "--zone", f"data={zone}:write", "--", "sh", "-c", script]  # fmt: skip
    process = subprocess.Popen(list(map(str, argv)), stderr=subprocess.PIPE, text=True)
    try:
        wait_for(zone / "ready")
        if starve:
            resource.prlimit(supervisor_of(process.pid), resource.RLIMIT_NOFILE, (3, 3))
        (zone / "go").touch()
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, (zone / "out").exists()) == ((125, False) if starve else (0, True))
    assert ("Too many open files" in said) is starve


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.05)


def supervisor_of(harness: int) -> int:
    (found,) = (pid for pid in children_of(harness) if b"tap.supervisor" in command_of(pid))
    return found
