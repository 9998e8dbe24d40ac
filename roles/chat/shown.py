"""What a model is shown of what a tool gave back: head and tail, and how much is left out."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from rolewall.roles.broker import Answer
from rolewall.sandbox import Completed, Output

__all__ = ["shorten_text", "show_answer", "show_output", "show_run"]


def show_output(output: Output, chars: int) -> str:
    """``output`` in about ``chars`` characters. Of more, the first and the last half."""
    half = len(output.data) // 2
    whole = output.text()
    if not output.truncated and len(whole) <= chars:
        return whole
    head = output.data[:half].decode("utf-8", "replace")[: chars // 2]
    tail = output.data[half:].decode("utf-8", "replace")[-(chars // 2) :]
    left_out = max(0, output.size - len(head.encode()) - len(tail.encode()))
    return f"{head}\n[{left_out} of {output.size} bytes left out]\n{tail}"


def shorten_text(text: str, chars: int) -> str:
    """As ``show_output``, of a text."""
    data = text.encode("utf-8", "replace")
    if len(text) <= chars:
        return text
    return show_output(Output(data, len(data), truncated=False), chars)


def show_run(done: Completed, chars: int, seconds: float) -> tuple[str, str]:
    """(how a command that had ``seconds`` ended, what it wrote).

    No word of it is of the clock: a request that is made again must be the same.
    """
    words = f"exit code {done.returncode}"
    if done.timed_out:
        words += f", stopped after {seconds:g} s, with all else that ran"
    if done.out_of_memory:
        words += ", killed at the memory limit"
    out = show_output(done.stdout, chars)
    error = show_output(done.stderr, chars)
    if not error:
        return words, out
    end = "" if not out or out.endswith("\n") else "\n"
    return words, f"{out}{end}[standard error]\n{error}"


def show_answer(name: str, answer: Answer, chars: int) -> tuple[str, str]:
    """(how a call of one of the team's tools went, what it gave)."""
    if answer.refused:
        return f"{name} is refused: {shorten_text(answer.why, chars)}", ""
    if not answer.ok:
        return f"{name} failed at {_utc(answer.time)}: {shorten_text(answer.why, chars)}", ""
    fresh = f", fresh until {_utc(answer.fresh_until)}" if answer.fresh_until else ""
    cut = "; it is cut" if answer.truncated else ""
    head = (
        f"{name} is {answer.origin}, got at {_utc(answer.time)} for {answer.asked_by}{fresh}{cut}"
    )
    told = answer.result
    text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
    return head, shorten_text(text, chars)


def _utc(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
