"""The box in which a task's own program makes the task's start.

The program is a stranger's, and what it writes is a stranger's: it has a read-only copy of
what its recipe names, three zones to write to, no network, and limits. What it leaves is
copied out with no link followed, once every process of it is gone.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from rolewall.errors import InputError, TaskError
from rolewall.policies import Limits, escape, shorten
from rolewall.sandbox import (
    Backend,
    BoxSpec,
    Completed,
    ZoneMount,
    copy_tree,
    make_directory,
    open_box,
    storage,
    temporary_directory,
)
from rolewall.tasks.model import Recipe, Task
from rolewall.tasks.stage import stage_files
from rolewall.tasks.teambench_recipe import lfs_pointers
from rolewall.terminal import listed

__all__ = ["INSIDE", "SECONDS", "ZONES", "make_start"]

SECONDS = 120.0
ZONES = ("workspace", "reports", "told")
"""What the program writes: the start; what the grader expects; spec and brief."""

INSIDE = "teambench_inside.py"
LIMITS = Limits(phase_seconds=SECONDS, memory_mb=1024, pids=64, disk_mb=512)
# The same text for the same seed: hashes of text are by chance otherwise, and the order of
# a set with them.
ENV = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
_RUN_ID = "rolewall"


def make_start(
    task: Task, recipe: Recipe, seed: int, backend: Backend, into: Path, image: str = "host"
) -> None:
    """Run the program of ``recipe`` for ``seed``, and copy what it made below ``into``.

    Args:
        into: an empty directory, which gets one directory for each of ``ZONES``.

    Raises:
        TaskError: the program failed, or left what is no file, directory or link.
        InfrastructureError: the box failed.
    """
    with temporary_directory() as scratch:
        for name in ("bench", *ZONES):
            make_directory(scratch / name)
            with storage(scratch / name):
                (scratch / name).chmod(0o755)
        stage_files(recipe.inputs, scratch / "bench")
        if task.workspace is not None:
            copy_tree(task.workspace, scratch / "workspace")
        spec = _spec(scratch, image)
        with open_box(backend, spec) as box:
            ran = box.run(_argv(recipe, seed), cwd="/tmp", env=ENV, timeout=SECONDS)
            box.kill_all()
        if why := _why(ran):
            raise failed(task, recipe, why)
        for name in ZONES:
            make_directory(into / name)
            try:
                copy_tree(scratch / name, into / name)
            except InputError as error:
                where = (error.place or name).removeprefix(f"{scratch}/")
                raise failed(task, recipe, f"{where}: {error.message}") from None


def _spec(scratch: Path, image: str) -> BoxSpec:
    return BoxSpec(
        label="generate",
        mounts=(
            ZoneMount("bench", scratch / "bench", writable=False),
            *(ZoneMount(name, scratch / name, writable=True) for name in ZONES),
        ),
        files=_files(),
        image=image,
        limits=LIMITS,
        tap=False,
    )


def _files() -> dict[str, bytes]:
    """What calls a generator; and PyYAML, the one library that TeamBench's own runner needs
    and generators may count on, without its compiled parts."""
    found = {"generate.py": files("rolewall.tasks").joinpath(INSIDE).read_bytes()}
    for module in files("yaml").iterdir():
        if module.name.endswith(".py"):
            found[f"lib/yaml/{module.name}"] = module.read_bytes()
    return found


def _argv(recipe: Recipe, seed: int) -> tuple[str, ...]:
    if recipe.kind == "setup":
        return ("bash", f"/bench/{recipe.program}", "/workspace", "/reports", _RUN_ID, str(seed))
    module = recipe.program.removesuffix(".py").replace("/", ".")
    return ("python3", "/rolewall/generate.py", module, str(seed))


def _why(ran: Completed) -> str:
    """How the program ended, where that was not as it should."""
    if ran.timed_out:
        return f"it did not end within {SECONDS:.0f} seconds"
    if ran.disk_full:
        return f"it wrote more than {LIMITS.disk_mb} MiB"
    if ran.out_of_memory:
        return f"it took more than {LIMITS.memory_mb} MiB of memory"
    if ran.absent:
        return f"the image has no {ran.argv[0]}"
    if ran.returncode == 0:
        return ""
    said = ran.stderr.data.rstrip().rpartition(b"\n")[2]
    return f"exit code {ran.returncode}: {shorten(escape(said)) or 'it said nothing'}"


def failed(task: Task, recipe: Recipe, why: str) -> TaskError:
    """The program of ``recipe`` did not do what it is there for."""
    root = task.directory if recipe.kind == "setup" else task.directory.parent.parent
    name = Path(recipe.program).name if recipe.kind == "setup" else recipe.program
    pointers = lfs_pointers(recipe)
    hint = f"Git LFS pointers stand where data should: {listed(pointers, 3)}" if pointers else None
    return TaskError(
        "what makes the task's start failed",
        place=str(root / name),
        got=why,
        expected="exit code 0, and files and directories",
        hint=hint,
    )
