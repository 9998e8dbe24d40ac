"""The events that ``pytest_plugin`` sends, authenticated and in order."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError

__all__ = ["Run", "StreamError", "read_events", "replay"]


class StreamError(Exception):
    """The stream of events is not whole; the text says where."""


@dataclass
class Run:
    """What a test run said of itself.

    ``reports`` maps a node id to its reports as (when, outcome, expected
    failure), in order. ``notes`` holds the first failure message of each.
    ``dropped`` were collected and not run. ``own_fault`` names the hidden files whose
    import failed without any part of the work in it, with the module that was not
    there (empty: for another reason). ``end`` is pytest's exit status, None when the
    run never said it was over.
    """

    begun: Mapping[str, str] = field(default_factory=dict)
    no_pytest: str = ""
    collected: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    canaries: list[str] = field(default_factory=list)
    uncollected: dict[str, str] = field(default_factory=dict)
    own_fault: dict[str, str] = field(default_factory=dict)
    reports: dict[str, list[tuple[str, str, bool]]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    end: int | None = None
    end_note: str = ""


def read_events(output: bytes, key: bytes) -> list[dict[str, Any]]:
    """The authenticated events of ``output``; other lines are no events.

    Raises:
        StreamError: an event is missing, came twice or is no JSON. The key does not keep work
            that runs beside the plug-in from writing one.
    """
    events = [event for line in output.split(b"\n") if (event := _event(line, key))]
    for expected, event in enumerate(events):
        if event.get("n") != expected:
            raise StreamError(f"event {expected} of the test run is missing or repeated")
    return events


def _event(line: bytes, key: bytes) -> dict[str, Any] | None:
    mac, _, text = line.partition(b" ")
    if len(mac) != 65 or not mac.startswith(b"@"):
        return None
    true = hmac.new(key, text, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(mac[1:], true.encode()):
        return None
    try:
        event = load_json(text, "an event of the test run", max_bytes=len(text))
    except InputError as problem:
        raise StreamError(str(problem)) from None
    return event if isinstance(event, dict) else None


def replay(events: list[dict[str, Any]]) -> Run:
    """Put the events together. Nothing may follow the end.

    Raises:
        StreamError: an event after the end, or one that is unknown or lacks something.
    """
    run = Run()
    for event in events:
        if run.end is not None:
            raise StreamError("the test run went on after its end")
        try:
            _apply(run, event)
        except (LookupError, TypeError, ValueError, OverflowError) as problem:
            kind = event.get("event")
            raise StreamError(f"not as the event {kind!r} should be: {problem!r}") from None
    return run


def _apply(run: Run, event: dict[str, Any]) -> None:
    kind = event.get("event")
    if kind == "begin":
        run.begun = {"pytest": str(event["pytest"]), "python": str(event["python"])}
    elif kind == "no-pytest":
        run.no_pytest = str(event["note"])
    elif kind == "collected":
        run.collected += [str(one) for one in event["ids"]]
        run.dropped += [str(one) for one in event["dropped"]]
    elif kind == "canary":
        run.canaries.append(str(event["id"]))
    elif kind == "uncollected":
        _apply_uncollected(run, event)
    elif kind == "report":
        _apply_report(run, event)
    elif kind == "end":
        run.end, run.end_note = int(event["status"]), str(event["note"])
    else:
        raise StreamError(f"an unknown event {kind!r} in the test run")


def _apply_uncollected(run: Run, event: dict[str, Any]) -> None:
    node = str(event["id"])
    run.uncollected[node] = str(event["note"])
    if event["own"] is not None:
        run.own_fault[node] = str(event["own"])


def _apply_report(run: Run, event: dict[str, Any]) -> None:
    node = str(event["id"])
    report = (str(event["when"]), str(event["outcome"]), event["expected_failure"] is True)
    run.reports.setdefault(node, []).append(report)
    if event["note"]:
        run.notes.setdefault(node, str(event["note"]))
