"""Harbor's tasks of a public collection, unchanged, in images that are made here.

    python bench/harbor.py DIR [--tasks NAME…] [--every N] [--json]

DIR has the tasks' directories. No registry is asked: a base image is made of programs of
this machine, its Python and pytest, and each task's Dockerfile is built on it, without
network and without the lines that install packages. So tests that need more than pytest
end as ``error``, which names what is lacking. A team that does nothing plays, and its
verifier rejects: a ``pass`` would be a task that is solved from the start. Tasks are named,
or every N-th is taken (default 100). Images are removed again.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import sysconfig
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import docker

from rolewall.errors import RolewallError
from rolewall.grants import Grants
from rolewall.plan import make_plan
from rolewall.roles import Team, load_team
from rolewall.run import run_plan
from rolewall.sandbox import Backend, find_backend
from rolewall.tasks import image_starts, load_task

sys.path.append(str(Path(__file__).parents[1] / "tests" / "tasks"))
from local_images import PROGRAMS, root_archive

__all__ = ["main"]

BASE = "rolewall-bench-harbor:base"
TOOLS = ("cp", "sort", "sed", "head", "tail", "find", "chmod", "mv", "touch", "wc", "tr", "cut")
PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")
PYTEST = (
    "#!/usr/bin/python3\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n"
)
INSTALLS = re.compile(r"RUN\b.*\b(?:apt-get|apt|pip3?|npm|curl|wget)\b", re.S)
TEAM = """
team: does-nothing
rounds: 1
limits: {phase_seconds: 60, memory_mb: 1024, pids: 256}
roles:
  executor: {agent: {script: nothing.yaml}}
  verifier: {agent: {script: reject.yaml}}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    found = sorted(path.parent for path in asked.directory.glob("*/task.toml"))
    chosen = [p for p in found if p.name in asked.tasks] if asked.tasks else found[:: asked.every]
    client, backend, rows = docker.APIClient(), find_backend("docker"), []
    client.import_image(io.BytesIO(_base()), repository=BASE.partition(":")[0], tag="base")
    with ExitStack() as made:
        made.callback(client.remove_image, BASE, force=True)
        scratch = Path(made.enter_context(tempfile.TemporaryDirectory(prefix="rolewall-bench-")))
        team = _team(scratch.resolve() / "team")
        for task in chosen:
            rows.append({"task": task.name, **_one(client, backend, team, task, scratch.resolve())})
            print(f"{task.name}: {rows[-1]['grade']}", file=sys.stderr, flush=True)
    print(json.dumps(rows, indent=1) if asked.json else _as_text(rows, len(found)))
    return 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("directory", type=lambda text: Path(text).resolve(), metavar="DIR")
    parser.add_argument("--tasks", nargs="*", metavar="NAME")
    parser.add_argument("--every", type=int, default=100, metavar="N", help="default: 100")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def _one(
    client: docker.APIClient, backend: Backend, team: Team, task: Path, scratch: Path
) -> dict[str, Any]:
    name = f"hb__{task.name.lower()}"
    if client.images(name):
        return {"grade": "not built", "why": f"an image {name} is there, and is not ours to remove"}
    try:
        if why := _build(client, task, name):
            return {"grade": "not built", "why": why}
        with image_starts([load_task(task)], backend, granted=True) as started:
            plan = make_plan(team, started, ["enforced"], backend, grants=Grants(task_image=True))
            (record,) = run_plan(plan, scratch / task.name).records
    except RolewallError as error:
        return {"grade": "refused", "why": f"{error.message}: {error.got}"}
    finally:
        if client.images(name):
            client.remove_image(name, force=True)
    graded = record.verdicts[-1].grade_after if record.verdicts else None
    if record.error or graded is None:
        return {"grade": "error", "why": record.error.message if record.error else "no verdict"}
    return {"grade": graded.grade, "why": graded.why, "isolated": record.verdicts[-1].isolated}


def _build(client: docker.APIClient, task: Path, name: str) -> str:
    """Why the image could not be built, or an empty string."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        archive.add(task / "environment", ".", filter=lambda e: None if e.isdev() else e)
        entry = tarfile.TarInfo("Dockerfile.here")
        text = "\n".join(_lines((task / "environment" / "Dockerfile").read_text("utf-8"))).encode()
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    said = client.build(
        fileobj=io.BytesIO(context.getvalue()), custom_context=True, dockerfile="Dockerfile.here",
        tag=name, rm=True, forcerm=True, network_mode="none", decode=True, timeout=120,
    )  # fmt: skip
    return next((line["error"].strip() for line in said if "error" in line), "")


def _lines(dockerfile: str) -> Iterator[str]:
    """Its instructions on the base that there is, without those that install."""
    for line in re.sub(r"\\\n", " ", dockerfile).splitlines():
        if line.upper().startswith("FROM "):
            yield f"FROM {BASE}"
        elif not INSTALLS.match(line):
            yield line


def _base() -> bytes:
    """Some programs, this machine's Python, and pytest."""
    python = Path("/usr/bin/python3").resolve().name  # the machine's, not an environment's
    library = Path("/usr/lib", python)
    files = {
        f"usr/lib/{python}/{path.relative_to(library)}": path.read_bytes()
        for path in library.rglob("*.py")
        if not {"test", "site-packages", "dist-packages"} & {*path.parts}
    }
    site = Path(sysconfig.get_path("purelib"))
    for package in (*PACKAGES, *(f"{name}-*.dist-info" for name in PACKAGES)):
        for path in (p for root in site.glob(package) for p in root.rglob("*") if p.is_file()):
            if "__pycache__" not in path.parts:
                files[f"usr/lib/python3/dist-packages/{path.relative_to(site)}"] = path.read_bytes()
    files["usr/lib/python3/dist-packages/py.py"] = (site / "py.py").read_bytes()
    modules = [str(path) for path in (library / "lib-dynload").glob("*.so")]
    programs = (*PROGRAMS, *TOOLS, f"/usr/bin/{python}", *modules)
    links = {"usr/bin/python3": python, "usr/bin/python": python}
    return root_archive({**files, "usr/bin/pytest": PYTEST}, programs, links)


def _team(root: Path) -> Team:
    root.mkdir()
    (root / "team.yaml").write_text(TEAM)
    (root / "nothing.yaml").write_text("{}\n")
    (root / "reject.yaml").write_text("verdict: reject\n")
    return load_team(root / "team.yaml")


def _as_text(rows: Sequence[dict[str, Any]], there: int) -> str:
    counts = Counter(row["grade"] for row in rows)
    shown = [f"{len(rows)} of {there} tasks: " + ", ".join(f"{n} {g}" for g, n in counts.items())]
    shown += [f"  {r['task']}: {r['grade']}: {r['why'][:110]}" for r in rows]
    return "\n".join(shown)


if __name__ == "__main__":
    sys.exit(main())
