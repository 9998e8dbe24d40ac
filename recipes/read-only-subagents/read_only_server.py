"""One tool for a subagent: `run`, a shell command behind the wall that `read-only` puts up.

A server of the Model Context Protocol on standard input and output, one JSON message a line. A
subagent that has this tool and no other can look and test, and change nothing. If the server
does not start the subagent has no tool at all: it does not fall back on one without a wall.

    read_only_server.py [DIR]     DIR is what the subagent reads; the current directory without it
"""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

WRAPPER = Path(__file__).with_name("read-only")
VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
SHOWN = 30_000  # characters of a stream
PIECE = 65_536  # bytes that are read at once
NAMED = 20  # blocked attempts that are told
# Linux takes no longer argument: 32 pages of 4 KiB, and the zero byte that ends it.
LONGEST = 128 * 1024 - 1
COMMAND = {"type": "string", "description": "A line for sh, started in the work."}
TOOL = {
    "name": "run",
    "description": (
        "Run a shell command in a sandbox that holds the work at /workspace, read-only. /tmp and"
        " /home can be written and are new for each command. No network. What is cut is marked."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {"command": COMMAND},
        "required": ["command"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}


class Refused(Exception):
    """A message that is answered with an error: its JSON-RPC code, and why."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def serve(directory: str, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The answers to a client's messages; a notification has none."""
    for line in lines:
        try:
            message = json.loads(line.decode("utf-8"), parse_constant=_no_number)
        except RecursionError:
            yield _error(None, -32700, "nested too deeply to be read")
        except ValueError:
            yield _error(None, -32700, "not JSON in UTF-8")
        else:
            if not _is_message(message):
                yield _error(None, -32600, "not a request")
            elif "id" in message:
                yield _answer(directory, message)


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _is_message(message: object) -> bool:
    """With an id, if any, that can be given back as it came: a text or a whole number."""
    return (
        isinstance(message, dict)
        and isinstance(message.get("method"), str)
        and type(message.get("id", 0)) in (int, str)
    )


def _answer(directory: str, message: dict[str, Any]) -> dict[str, Any]:
    given = message.get("params")
    try:
        result = _result(directory, message["method"], given if isinstance(given, dict) else {})
    except Refused as error:
        return _error(message["id"], error.code, str(error))
    except (OSError, ValueError) as error:  # no room for a ledger, no wrapper
        return _error(message["id"], -32603, f"the command was not run, or not followed: {error}")
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _result(directory: str, method: str, given: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        asked = given.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "read_only", "version": "1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method != "tools/call":
        raise Refused(-32601, f"no method {method!r}")
    arguments = given.get("arguments")
    if given.get("name") != "run" or not isinstance(arguments, dict):
        raise Refused(-32602, "the one tool is run, and takes a command")
    if set(arguments) != {"command"} or not isinstance(arguments["command"], str):
        raise Refused(-32602, "run takes a command, which is a text, and nothing else")
    return run(directory, _argument(arguments["command"]))


def _argument(command: str) -> bytes:
    """The command as the kernel can be given it."""
    try:
        found = command.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(-32602, "the command holds half a character (a lone surrogate)") from None
    if b"\0" in found:
        raise Refused(-32602, "the command holds a zero byte (NUL)")
    if len(found) > LONGEST:
        raise Refused(
            -32602,
            f"the command has {len(found)} bytes; at most {LONGEST} (128 KiB) can be given:"
            " make several calls of it",
        )
    return found


def run(directory: str, command: bytes) -> dict[str, Any]:
    """What a command wrote, its exit code, and which of its writes were blocked."""
    ledger = _new_ledger()
    words = [str(WRAPPER), "-C", directory, "-l", str(ledger), "--", "sh", "-c", command]
    kept = [_Kept(), _Kept()]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
        # Both at once: a pipe that nobody reads holds up who writes to it.
        assert done.stdout is not None and done.stderr is not None
        other = threading.Thread(target=kept[1].read, args=(done.stderr,))
        other.start()
        kept[0].read(done.stdout)
        other.join()
    found = {
        "exit_code": done.returncode,
        "stdout": kept[0].text(),
        "stderr": kept[1].text(),
        "blocked": blocked(ledger),
    }
    return {
        "content": [{"type": "text", "text": json.dumps(found, ensure_ascii=False)}],
        "structuredContent": found,
        "isError": done.returncode != 0,
    }


def _new_ledger() -> Path:
    """Where the wrapper keeps those of its own: beside no work that a reader is shown."""
    kept = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "read-only")
    kept.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(".jsonl", time.strftime("%Y%m%d-%H%M%S-"), kept)
    os.close(handle)
    return Path(name)


def blocked(ledger: Path) -> list[str]:
    """The edits that the wall refused: system call, path, program."""
    lines = [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]
    edits = [
        f"{line['syscall']} {' '.join(line['paths'])} by {line['exe'] or line['comm']}"
        for line in lines
        if line["type"] == "attempt" and line["kind"] == "edit" and line["outcome"] == "blocked"
    ]
    more = [f"and {len(edits) - NAMED} more"] if len(edits) > NAMED else []
    return edits[:NAMED] + more


class _Kept:
    """The first and the last ``SHOWN // 2`` characters of a stream, however long it is."""

    def __init__(self) -> None:
        self._first = self._last = ""
        self._gone = 0

    def read(self, stream: IO[bytes]) -> None:
        for piece in codecs.iterdecode(iter(lambda: stream.read(PIECE), b""), "utf-8", "replace"):
            room = SHOWN // 2 - len(self._first)
            self._first += piece[:room]
            rest = self._last + piece[room:]
            self._last = rest[-(SHOWN // 2) :]
            self._gone += len(rest) - len(self._last)

    def text(self) -> str:
        cut = f"\n[{self._gone} characters are cut here]\n" if self._gone else ""
        return f"{self._first}{cut}{self._last}"


def _error(id_: object, code: int, why: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": why}}


def main() -> None:
    directory = sys.argv[1] if len(sys.argv) > 1 else "."
    for answer in serve(directory, sys.stdin.buffer):
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
