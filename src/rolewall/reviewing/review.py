"""The door: a change, judged once, by a team's verifier behind its wall."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path

from rolewall.episode import EpisodeModels, Setting
from rolewall.episode.zones import Zones
from rolewall.errors import InputError, Interrupted, RolewallError
from rolewall.grants import Grants
from rolewall.reviewing.decision import CODES, Review, weigh
from rolewall.reviewing.playing import check_evidence, judge, room
from rolewall.reviewing.staging import Terms, stage
from rolewall.roles import Endpoint, Gateway, Team, keys_of, load_team
from rolewall.sandbox import Backend, check_shown, find_backend, temporary_directory
from rolewall.watching import Supervisors

__all__ = ["review_change"]

MOST = 256 << 10
HIGHEST = 64 << 20
TEAM = "team_"


def review_change(
    before: Path,
    after: Path,
    team: Path | Team,
    *,
    spec: str,
    claim: str = "",
    backend: str | Backend | None = None,
    allow: Collection[str] = (),
    most: int = MOST,
    binary: bool = False,
    beside: bool = False,
    seconds: float | None = None,
    shown: Sequence[Path] = (),
    evidence: Path | None = None,
) -> Review:
    """Have a team's verifier judge a change, and say what came of it.

    The verifier reads the work with the change in ``/workspace``, whose last commit is the
    change, in a repository of the harness's own; the whole diff in ``/brief/change.diff``; and
    ``claim`` in the executor's report. It writes nothing but its verdict, which counts only with
    the nonce that was made for this one review and told to nobody else. It is read when every
    process of the reviewer is dead.

    A review never fails open: whatever goes wrong is a ``Review`` that is ``missing`` and says
    why. So are silence, a phase that did not end well, a change that cannot be shown whole, and
    the approval of a model that was not sent all of it.

    Args:
        before, after: the work without and with the change; see ``export_commit``. Neither is
            changed, and nothing of them runs but in a box. A ``.git`` in them is left out.
        team: a team file, or a team. Its verifier reviews; nobody else of it plays.
        spec: what a change has to satisfy. From a place that the change cannot reach.
        claim: what the change's author says of it.
        backend: ``auto``, ``docker``, ``bubblewrap``, or a backend object. None is the team's.
        allow: what of the team's wishes is granted, as the options of ``rolewall run`` name it:
            ``team-image``, ``team-network``, ``team-models``, ``team-tools``.
        most: bytes of a diff that is judged; of a larger one nothing is.
        binary: whether changes that no diff shows as text may be judged.
        beside: whether an approval counts although the reviewer ran the change in the box of its
            verdict, where the change could have written it.
        seconds: how long the reviewer may take, at most what its team says. None is that.
        shown: further directories that the reviewer may read, as for ``open_sandbox``.
        evidence: a new directory for ledger and transcripts. None keeps nothing.

    Raises:
        Interrupted: the user asked to stop.
    """
    terms = Terms(spec, claim, most, binary)
    try:
        if not 0 < most <= HIGHEST:
            raise InputError("not a size of a diff", place="most", got=most,
                             expected=f"1 to {HIGHEST} bytes")  # fmt: skip
        grants = _grants(allow)
        found = team if isinstance(team, Team) else load_team(team)
        wanted = backend if backend is not None else found.backend
        ready = find_backend(wanted) if isinstance(wanted, str) else wanted
        if evidence is not None:
            check_evidence(evidence)
        readable = check_shown(shown, {"before": before, "after": after})
        keys = keys_of(_endpoints(found), os.environ)
        with ExitStack() as stack:
            scratch = stack.enter_context(temporary_directory())
            supervisors = stack.enter_context(Supervisors())
            gateway = stack.enter_context(Gateway(keys)) if keys else None
            setting = room(
                found,
                ready,
                scratch / "room",
                evidence or scratch / "evidence",
                grants=grants,
                seconds=seconds,
                supervise=supervisors.one,
                models=EpisodeModels(gateway) if gateway else None,
                shown=readable,
            )
            review = _review(setting, before, after, terms, beside)
    except Interrupted:
        raise
    except RolewallError as error:
        return Review.failed(error)
    return replace(review, evidence=str(evidence) if evidence else None)


def _review(setting: Setting, before: Path, after: Path, terms: Terms, beside: bool) -> Review:
    zones = Zones(setting.scratch, setting.policy, setting.store)
    change = stage(zones, setting.store, before, after, terms)
    review = Review(
        "missing",
        change.lacking,
        CODES["missing"],
        files=change.files,
        change_bytes=change.size,
        before=change.start.content_digest,
        after=change.work.content_digest,
    )
    if change.lacking:
        return review
    judged = judge(setting, zones, change)
    acted = judged.played.acted
    said, why = weigh(judged.verdict, acted.outcome, unsent=judged.unsent, beside=beside)
    return replace(
        review,
        verdict=said,
        why=why,
        exit_code=CODES[said],
        outcome=acted.outcome,
        isolated=judged.verdict.isolated,
        checks=judged.verdict.checks,
        attempts=judged.played.record(acted.outcome, "").attempts.model_dump(),
        seconds=acted.seconds,
    )


def _endpoints(team: Team) -> dict[str, Endpoint]:
    """Of the reviewer's model alone: nobody else plays, and no other key is wanted."""
    access = team.agents["verifier"].access
    return {access.endpoint.name: access.endpoint} if access else {}


def _grants(allow: Collection[str]) -> Grants:
    known = {
        field.name.replace("_", "-"): field.name
        for field in fields(Grants)
        if field.name.startswith(TEAM)
    }
    for name in allow:
        if name not in known:
            raise InputError("nothing that can be granted", place="allow", got=name,
                             expected=f"some of {', '.join(known)}")  # fmt: skip
    return Grants(**{known[name]: True for name in allow})
