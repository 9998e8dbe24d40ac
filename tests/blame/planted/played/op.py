"""Do one small job that is said in a sentence: ``op.py 'set timeout to 30 in service.ini'``.

The generator does the same jobs in the right order to know the right work.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

FILE = r"(\w[\w./-]*\w)"
WORD = r"([\w./:@-]*\w)"


def _assign(path: Path, key: str, value: str) -> None:
    text = path.read_text() if path.exists() else ""
    if path.suffix == ".json":
        data = json.loads(text or "{}")
        data[key] = value
        path.write_text(json.dumps(data, indent=2) + "\n")
        return
    space = " " if path.suffix == ".py" else ""
    line = f"{key}{space}={space}{value}"
    found, count = re.subn(rf"(?m)^{re.escape(key)}\s*=.*$", line.replace("\\", r"\\"), text)
    path.write_text(found if count else f"{text}{line}\n")


def _rename(root: Path, old: str, new: str, file: str) -> None:
    path = root / file
    if path.suffix == ".json":
        data = json.loads(path.read_text())
        pairs = {new if key == old else key: value for key, value in data.items()}
        if new in data:
            pairs[new] = data[old]
        path.write_text(json.dumps(pairs, indent=2) + "\n")
        return
    text, count = re.subn(rf"\b{re.escape(old)}\b", new, path.read_text())
    if not count:
        raise ValueError(f"no {old} in {file}")
    path.write_text(text)


def _replace(root: Path, old: str, new: str, file: str) -> None:
    path = root / file
    if old not in path.read_text():
        raise ValueError(f"no {old} in {file}")
    path.write_text(path.read_text().replace(old, new))


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _drop_repeated(root: Path, file: str) -> None:
    (root / file).write_text("".join(f"{line}\n" for line in dict.fromkeys(_lines(root / file))))


def _sum(root: Path, column: str, file: str, into: str) -> None:
    rows = csv.DictReader(_lines(root / file))
    (root / into).write_text(f"{sum(int(row[column]) for row in rows)}\n")


def _digest(root: Path, file: str, into: str) -> None:
    (root / into).write_text(hashlib.sha256((root / file).read_bytes()).hexdigest() + "\n")


def _remove(root: Path, word: str, file: str) -> None:
    kept = [line for line in _lines(root / file) if word not in line]
    (root / file).write_text("".join(f"{line}\n" for line in kept))


def _count(root: Path, word: str, file: str, into: str) -> None:
    found = sum(word in line for line in _lines(root / file))
    (root / into).write_text(f"{found}\n")


def _append(root: Path, word: str, file: str) -> None:
    with (root / file).open("a") as out:
        out.write(f"{word}\n")


def _turn(root: Path, program: str, file: str, into: str) -> None:
    done = subprocess.run(["sh", "-c", f"{program} < {file} > {into}"], cwd=root, check=False)
    if done.returncode != 0:
        raise ValueError(f"{program} ended with {done.returncode}")


JOBS: list[tuple[str, Callable[..., None]]] = [
    (rf"\bset {WORD} to {WORD} in {FILE}", lambda root, k, v, f: _assign(root / f, k, v)),
    (rf"\brename {WORD} to {WORD} in {FILE}", _rename),
    (rf"\breplace {WORD} by {WORD} in {FILE}", _replace),
    (rf"\bdrop repeated lines of {FILE}", _drop_repeated),
    (rf"\bsum {WORD} of {FILE} into {FILE}", _sum),
    (rf"\bwrite the digest of {FILE} to {FILE}", _digest),
    (rf"\bremove lines with {WORD} from {FILE}", _remove),
    (rf"\bcount lines with {WORD} of {FILE} into {FILE}", _count),
    (rf"\bnote {WORD} in {FILE}", _append),
    (rf"\buse {WORD} to turn {FILE} into {FILE}", _turn),
]
"""What a sentence may ask for, in these words."""

ASKING = [
    rf"\blook up {WORD} for {WORD} in {FILE}",
    rf"\bput the authority of {WORD} as {WORD} in {FILE}",
]
"""Jobs of which something has to be known first; ``work.py`` finds it and makes a job of it."""


def found_in(text: str) -> list[str]:
    """The jobs that ``text`` speaks of, each once, in the order of the text."""
    patterns = [pattern for pattern, _ in JOBS] + ASKING
    hits = [(hit.start(), hit[0]) for p in patterns for hit in re.finditer(p, text, re.IGNORECASE)]
    return list(dict.fromkeys(job[0].lower() + job[1:] for _, job in sorted(hits)))


def do(job: str, root: Path) -> None:
    """Do ``job`` below ``root``.

    Raises:
        ValueError, OSError, KeyError: it cannot be done.
    """
    for pattern, act in JOBS:
        if hit := re.search(pattern, job, re.IGNORECASE):
            act(root, *hit.groups())
            return
    raise ValueError(f"no job: {job}")


if __name__ == "__main__":
    try:
        do(sys.argv[1], Path.cwd())
    except (ValueError, OSError, KeyError) as error:
        print(f"op: {error}", file=sys.stderr)
        sys.exit(1)
