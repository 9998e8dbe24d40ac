"""Running a plan: a directory that resumes, and an orderly end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rolewall._validate import shorten
from rolewall.attest import ENVELOPE, LOG, SEAL, KeySigner, RunSeals, is_signed, never_sealed
from rolewall.episode import RecordedEpisode
from rolewall.errors import BackendUnavailable, InfrastructureError, InputError
from rolewall.interruption import Interruption
from rolewall.layout import hold_layout, locked
from rolewall.plan import Episode, Plan
from rolewall.pool import Means, Pool, Progress
from rolewall.programs import check_programs
from rolewall.record import EpisodeRecord
from rolewall.rundir import Run, RunInfo, open_run, read_info, read_run_json, write_run_info
from rolewall.runmodels import RunModels
from rolewall.sandbox import Backend, close_left, remove_tree, storage
from rolewall.storage import is_partial
from rolewall.watching import Supervisors

__all__ = ["run_plan"]

# Fields of run.json that make its episodes, the plainest reason first.
COMPARED = ("team", "backend", "image", "conditions", "trials", "seed", "tasks", "team_digest",
            "planned", "shown", "replay", "handoff")  # fmt: skip
CALLED = {"shown": "directories of --show", "team_digest": "files of the team",
          "handoff": "arm of --handoff"}  # fmt: skip
WAYS_OUT = {"shown": "give --show as that run had it, or another -o"}


def run_plan(
    plan: Plan,
    directory: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    accepted: Callable[[int], None] | None = None,
    warn: Callable[[str], None] | None = None,
    signer: KeySigner | None = None,
    recorded: Mapping[str, RecordedEpisode] | None = None,
) -> Run:
    """Run what of ``plan`` has no record yet in ``directory``, and return the whole run.

    Episodes that ended in an infrastructure error are run again; all others
    are kept as they are.

    Args:
        progress: called after each episode.
        accepted: called before the first one, with the number of those that are there already.
        warn: called with what is no reason not to run.
        signer: signs what is sealed; without one nothing is signed.
        recorded: by episodes' keys, what is played again, and answers in place of models'
            endpoints.

    Raises:
        RecordError: what is there was altered since it was sealed.
        InputError: the directory holds another run, is in use by another harness, or is a file;
            or a variable that should hold a model's key does not.
        Interrupted: SIGINT, SIGTERM or SIGHUP. Finished episodes are kept.
    """
    directory = directory.absolute()
    models = RunModels(plan.team.endpoints, recorded)
    interruption = Interruption()
    with interruption.heeded(), locked(directory):
        begun = _begun(plan, directory)
        with (
            _tidied(directory, interruption),
            RunSeals(directory, read_info(directory).summary(), signer) as seals,
        ):
            todo = _prepare(plan, directory, seals)
            if begun:
                check_programs(plan, todo)
            if warn and todo and not signer and is_signed(directory):
                warn("this run is signed, and what it seals anew is not: give --sign again")
            if accepted:
                accepted(len(plan.episodes) - len(todo))
            with interruption.abrupt():
                _clean(plan.backend, warn)
            with seals.closing():
                if todo:
                    with Supervisors() as supervisors, models:
                        means = Means(plan, directory, seals, supervisors, models, recorded or {})
                        Pool(means, interruption, progress).run(todo, jobs)
                # A run that is complete and sealed holds nothing else.
                remove_tree(directory / "scratch")
        interruption.check()
        return open_run(directory)


def _begun(plan: Plan, directory: Path) -> bool:
    """Make the directory this plan's run; whether it was that already."""
    begun = (directory / "run.json").exists()
    if not begun:
        # Before the directory is this run's: the next try may be another one.
        check_programs(plan, plan.episodes)
    _claim(plan, directory)
    return begun


@contextmanager
def _tidied(directory: Path, interruption: Interruption) -> Iterator[None]:
    """However it ends, the scratch goes: it holds copies of work and of hidden tests."""
    try:
        yield
    finally:
        if not interruption.broken_off:
            close_left()
            remove_tree(directory / "scratch")


def _claim(plan: Plan, directory: Path) -> None:
    """Make the directory this plan's run, or refuse it untouched."""
    hold_layout(directory)
    if (directory / "run.json").exists():
        if not _shown_anew(plan, directory):
            _same(plan, directory)
    elif not all(path.name == ".lock" or is_partial(path) for path in directory.iterdir()):
        raise InputError("neither empty nor a run", place=str(directory), hint="give another -o")
    else:
        write_run_info(directory, plan.info)
    for path in filter(is_partial, list(directory.iterdir())):
        path.unlink()


def _shown_anew(plan: Plan, directory: Path) -> bool:
    """Take over a run in which no episode has come to a record, with the directories that are
    shown now; whether it was such a run, and nothing else differs."""
    known, digest = read_run_json(directory)
    shown = plan.info.shown
    if set(known.keys) != set(plan.info.keys) or known.shown == shown:
        return False
    if open_run(directory, sealed=False).records or not never_sealed(directory, digest):
        return False
    with storage(directory):
        for name in (ENVELOPE, SEAL, LOG):  # of the run.json that is replaced
            (directory / name).unlink(missing_ok=True)
    write_run_info(directory, known.model_copy(update={"shown": shown}))
    return True


def _prepare(plan: Plan, directory: Path, seals: RunSeals) -> list[Episode]:
    """The episodes still to run. What a killed run left half done is removed."""
    remove_tree(directory / "scratch")
    for name in ("episodes", "scratch"):
        (directory / name).mkdir(mode=0o755, exist_ok=True)
    (directory / "scratch").chmod(0o700)
    run = open_run(directory, sealed=False)
    seals.hold(run.digests)
    done = {record.key for record in run.records if not _again(record)}
    tries = {r.key: (*r.tries, r.error) for r in run.records if r.error and _again(r)}
    todo = [
        replace(episode, tries=tries.get(episode.key, ()))
        for episode in plan.episodes
        if episode.key not in done
    ]
    for episode in todo:
        seals.discard(episode.key)
        remove_tree(directory / "episodes" / episode.key)
    return todo


def _clean(backend: Backend, warn: Callable[[str], None] | None) -> None:
    """Remove what dead harnesses left. What of it is stuck stands in nobody's way."""
    try:
        backend.clean()
    except BackendUnavailable:
        raise
    except InfrastructureError as error:
        if warn:
            warn(f"not all that dead harnesses left is removed: {error}")


def _same(plan: Plan, directory: Path) -> None:
    known, asked = read_info(directory), plan.info
    if set(known.keys) == set(asked.keys) and known.shown == asked.shown:
        return
    for name in COMPARED:
        has, wants = _values(known, name), _values(asked, name)
        if has != wants:
            there = ", ".join(sorted(has - wants)) or "none of these"
            here = ", ".join(sorted(wants - has)) or "none of these"
            raise InputError(
                f"the directory holds a run with other {CALLED.get(name, name)}",
                place=str(directory),
                got=shorten(there),
                expected=shorten(here),
                hint=WAYS_OUT.get(name, "give another -o"),
            )
    if known.calibration and asked.calibration and known.calibration.salt != asked.calibration.salt:
        raise InputError("another calibration was begun there meanwhile", place=str(directory),
                         hint="give another -o")  # fmt: skip
    raise InputError(
        "the directory holds another shard of the same run, or one that was begun by other code"
        " of rolewall or with other images of tasks",
        place=str(directory),
        got=f"shard {known.shard[0]}/{known.shard[1]}, begun by rolewall {known.rolewall}",
        hint="give another -o",
    )


def _values(info: RunInfo, name: str) -> set[str]:
    value = getattr(info, name)
    if name == "tasks":
        return {
            f"{task.id} ({digest[:12]})"
            for task in info.tasks
            for digest in (task.digest, *task.instances)
        }
    return set(value) if isinstance(value, tuple) else {str(value)}


def _again(record: EpisodeRecord) -> bool:
    return record.error is not None and record.error.kind not in (
        "grader",
        "manifest-alarm",
        "contract",
    )
