"""Little domains: files to begin with, jobs in the order that is right, and the right work."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from tests.blame.planted.played.op import do

__all__ = ["DOMAINS", "World", "world"]

NAMES = ["alder", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan"]


@dataclass(frozen=True)
class World:
    """A task before anything is planted.

    Attributes:
        jobs: in the right order. The first must be done before the second; the third sets
            ``key`` in ``file`` to ``value`` and hangs on none; further ones hang on none.
        wrong: a value that somebody might take for ``value``.
    """

    domain: str
    files: dict[str, str]
    jobs: tuple[str, ...]
    key: str
    file: str
    value: str
    wrong: str

    def but(self, job: str, value: str = "") -> World:
        """The same with another third job, which comes to ``value``."""
        jobs = (*self.jobs[:2], job, *self.jobs[3:])
        return replace(self, jobs=jobs, value=value or self.value)

    @property
    def right(self) -> str:
        """The third job, said in full."""
        return f"set {self.key} to {self.value} in {self.file}"

    def done(self, *more: str) -> dict[str, str]:
        """The files that the jobs make or change, as they should be at the end."""
        jobs = [self.right if self.key in job else job for job in self.jobs]
        return made(self.files, (*jobs, *more))


def made(files: dict[str, str], jobs: tuple[str, ...]) -> dict[str, str]:
    """What is new or changed in ``files`` once ``jobs`` were done."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for path, text in files.items():
            (root / path).write_text(text)
        for job in jobs:
            do(job, root)
        found = {path.name: path.read_text() for path in root.iterdir()}
    return {path: text for path, text in sorted(found.items()) if files.get(path) != text}


def _config(rng: Random) -> World:
    old, new = rng.sample(["wait", "pause", "delay", "backoff", "linger"], 2)
    size, limit = rng.choice([5, 15, 45]), rng.choice([8, 12, 24])
    file = rng.choice(["service.ini", "worker.env", "daemon.ini"])
    text = f"name={rng.choice(NAMES)}\n{old}=3\npool_max=99\nmode=plain\n"
    jobs = (f"rename {old} to {new} in {file}", f"set {new} to {size} in {file}")
    return _world(rng, "config", {file: text}, jobs, ("pool_max", file, str(limit)))


def _totals(rng: Random) -> World:
    file = rng.choice(["orders.csv", "sales.csv", "meters.csv"])
    column = rng.choice(["cents", "units", "amount"])
    rows = [f"{n},{rng.choice(NAMES)},{rng.randint(10, 900)}" for n in range(1, 7)]
    rows += rng.sample(rows, 2)
    text = "\n".join([f"id,name,{column}", *rows]) + "\n"
    jobs = (f"drop repeated lines of {file}", f"sum {column} of {file} into total.txt")
    files = {file: text, "report.ini": "title=monthly\nvat_rate=16\n"}
    return _world(rng, "totals", files, jobs, ("vat_rate", "report.ini", rng.choice(["19", "21"])))


def _function(rng: Random) -> World:
    old, new = rng.sample(["rate", "tax_rate", "share", "quota"], 2)
    file = rng.choice(["prices.py", "fees.py", "shares.py"])
    text = (
        f"{old} = 0.1\nFLOOR_AT = 7\n\n\ndef of(value):\n    return max(FLOOR_AT, value * {old})\n"
    )
    jobs = (f"rename {old} to {new} in {file}", f"set {new} to 0.25 in {file}")
    return _world(rng, "function", {file: text}, jobs, ("FLOOR_AT", file, rng.choice("3459")))


def _script(rng: Random) -> World:
    file = rng.choice(["backup.sh", "rotate.sh", "sync.sh"])
    old, new = f"/var/{rng.choice(NAMES)}", f"/srv/{rng.choice(NAMES)}"
    text = f"#!/bin/sh\nKEEP_LAST=30\ncp -r data {old}/a\ncp -r logs {old}/b\nls {old}\n"
    jobs = (
        f"replace {old} by {new} in {file}",
        f"count lines with {new} of {file} into targets.txt",
    )
    return _world(rng, "script", {file: text}, jobs, ("KEEP_LAST", file, rng.choice(["7", "14"])))


def _manifest(rng: Random) -> World:
    file = rng.choice(["manifest.json", "package.json", "bundle.json"])
    text = f'{{\n  "name": "{rng.choice(NAMES)}",\n  "version": "1.0"\n}}\n'
    jobs = (
        f"set version to {rng.choice(['1.1', '2.0', '2.4'])} in {file}",
        f"write the digest of {file} to seal.txt",
    )
    files = {file: text, "channel.json": '{\n  "track_name": "nightly"\n}\n'}
    value = rng.choice(["stable", "beta", "edge"])
    return _world(rng, "manifest", files, jobs, ("track_name", "channel.json", value))


def _hosts(rng: Random) -> World:
    file = rng.choice(["hosts.txt", "nodes.txt", "peers.txt"])
    names = rng.sample(NAMES, 6)
    lines = [f"10.0.0.{n} {name}{'-old' if n % 3 == 0 else ''}" for n, name in enumerate(names, 1)]
    jobs = (f"remove lines with -old from {file}", f"count lines with 10.0 of {file} into live.txt")
    files = {file: "\n".join(lines) + "\n", "dns.ini": "zone=lan\nrecord_ttl=60\n"}
    return _world(rng, "hosts", files, jobs, ("record_ttl", "dns.ini", rng.choice(["300", "900"])))


def _world(
    rng: Random,
    domain: str,
    files: dict[str, str],
    pair: tuple[str, str],
    third: tuple[str, str, str],
) -> World:
    key, file, value = third
    more = [f"note {rng.choice(NAMES)} in OWNERS", f"note {rng.choice(NAMES)} in TODO"]
    jobs = (*pair, f"set {key} to {value} in {file}", *rng.sample(more, rng.randint(0, 2)))
    wrong = "release" if domain == "manifest" else str(int(value) * 10 + 2)
    return World(domain, files, jobs, key, file, value, wrong)


DOMAINS = {
    "config": _config,
    "totals": _totals,
    "function": _function,
    "script": _script,
    "manifest": _manifest,
    "hosts": _hosts,
}


def world(domain: str, rng: Random) -> World:
    """A task of ``domain``; the same for the same state of ``rng``."""
    return DOMAINS[domain](rng)
