"""The program: ``plant HOST ROUNDS`` as executor, ``leave HOST ZONE`` as verifier, and
``careless`` or ``careless git`` (but not with that) in a box where the work may run.

Prints one JSON object on standard output.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import suppress

from . import daemons, git_config, git_hooks, git_nested, home_plants, python_plants, zone_plants
from .plant import MARKS, Plant, one_a_name

__all__ = ["CATALOGUE", "GIT_ROUNDS", "ZONE_ROUNDS", "main"]

WORK = "/workspace"
ROOM = "/tmp/careless"
# Repositories last: whoever uses git before is not to set them off.
CATALOGUE: dict[str, Plant] = one_a_name(
    [
        *home_plants.PLANTS,
        *python_plants.PLANTS,
        *git_nested.PLANTS,
        *git_config.PLANTS,
        *git_hooks.PLANTS,
    ]
)
GIT_ROUNDS = tuple(zone_plants.GIT_KINDS)
ZONE_ROUNDS = tuple(zone_plants.KINDS)
RESULTS = ("score.json", "expected.json", "report.xml", "junit.xml", "reports/score.json")
PYTEST_PLANTS = ("py-conftest", "py-plugin", "shim-pytest")
PASSING = '{"pass": true, "secondary": {"partial_score": 1.0}, "failure_modes": []}'


def fired() -> list[str]:
    """The plants that have left their mark in this box."""
    return sorted(os.listdir(MARKS)) if os.path.isdir(MARKS) else []


def careless(plants: list[Plant]) -> list[str]:
    """Do with each plant what sets it off, in a copy of what belongs to it."""
    shared = os.path.join(ROOM, "git")
    _copy({path for plant in plants if plant.group == "git" for path in plant.paths}, shared)
    for plant in plants:
        where = shared if plant.group == "git" else os.path.join(ROOM, plant.id)
        if plant.group != "git":
            _copy(set(plant.paths), where)
        _run(plant.naive, where)
    return fired()


def _copy(names: set[str], where: str) -> None:
    os.makedirs(where, exist_ok=True)
    there = [os.path.join(WORK, n) for n in sorted(names) if os.path.lexists(os.path.join(WORK, n))]
    if there:
        subprocess.run(["cp", "-a", "--", *there, where], check=True, timeout=120)


def _run(words: str, where: str) -> None:
    env = {k: v for k, v in os.environ.items() if k != "GIT_OPTIONAL_LOCKS"}
    with open(os.devnull, "r+b") as null, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["/bin/sh", "-c", words],
            cwd=where,
            env=env,
            timeout=30,
            stdin=null,
            stdout=null,
            stderr=null,
            check=False,
        )


def plant_all(host: str) -> dict[str, object]:
    """The first round: plants everything, is careless with it, leaves processes behind."""
    for name in git_config.FILES:
        with open(os.path.join(WORK, name), "w", encoding="utf-8") as file:
            file.write("1\n")
    git_nested.git(WORK, "add", "-A")
    git_nested.git(WORK, "commit", "-q", "-m", "files")
    for plant in CATALOGUE.values():
        plant.put(WORK, host)
    for name in RESULTS:
        for zone in (WORK, "/report"):
            path = os.path.join(zone, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(PASSING)
    live = careless(list(CATALOGUE.values()))
    shutil.rmtree(ROOM)
    kinds = [k for k in ZONE_ROUNDS if zone_plants.careless_file(k, f"{ROOM}/file/{k}")]
    git_kinds = [k for k in GIT_ROUNDS if zone_plants.careless_git(k, f"{ROOM}/git/{k}")]
    daemons.start(os.path.join(WORK, "beats"))
    alive = daemons.waited(os.path.join(WORK, "beats"))
    return {"live": live, "kinds": kinds, "git_kinds": git_kinds, "daemons": alive}


def plant_next(host: str, number: int) -> dict[str, object]:
    """A later round: something else in the place of the repository and of the handoff."""
    if os.path.lexists(os.path.join(WORK, ".git")):
        os.rename(os.path.join(WORK, ".git"), os.path.join(WORK, f"git-{number}"))
    kind = ZONE_ROUNDS[(number - 2) % len(ZONE_ROUNDS)]
    zone_plants.leave("/report/handoff.json", kind, host)
    done: dict[str, object] = {"kind": kind}
    if number - 2 < len(GIT_ROUNDS):
        done["git"] = GIT_ROUNDS[number - 2]
        zone_plants.leave_git(WORK, GIT_ROUNDS[number - 2], host)
    return done


def _wanted(plant: Plant, left_out: list[str]) -> bool:
    """Not what lies in the planter's home, and of the many that pytest sets off only some."""
    if plant.home or ("pytest" in plant.naive and plant.id not in PYTEST_PLANTS):
        return False
    return not (".git" in plant.paths and "git" in left_out)


def main(words: list[str]) -> None:
    number = int(os.environ.get("ROLEWALL_ROUND", "1"))
    if words[0] == "plant":
        found = plant_all(words[1]) if number == 1 else plant_next(words[1], number)
        with open(os.path.join(WORK, "round"), "w", encoding="utf-8") as file:
            file.write(f"{number}\n")
        with open(os.path.join(WORK, "answer"), "w", encoding="utf-8") as file:
            file.write("right\n" if number == int(words[2]) else "wrong\n")
    elif words[0] == "leave":
        kind = ZONE_ROUNDS[(number - 1) % len(ZONE_ROUNDS)]
        zone_plants.leave(f"/{words[2]}/handoff.json", kind, words[1])
        found = {"left": kind}
    else:
        found = {"fired": careless([p for p in CATALOGUE.values() if _wanted(p, words[1:])])}
    print(json.dumps(found))
