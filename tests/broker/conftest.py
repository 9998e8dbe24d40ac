"""Teams with tools, in real boxes, and pages for them to fetch."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, Episode, Studio, episodes_of


class Pages:
    """A server of this machine. ``/third`` answers each third request and fails the others;
    ``seen`` are the paths asked for."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.elsewhere = ""
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                pages.seen.append(self.path)
                pages._answer(self)

            def log_message(self, *words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"localhost:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def url(self, path: str) -> str:
        return f"http://{self.place}{path}"

    def _answer(self, to: BaseHTTPRequestHandler) -> None:
        kind, body, status = "text/plain", f"page {to.path}\n".encode(), 200
        if to.path == "/third" and self.seen.count("/third") % 3:
            status, body = 503, b"not now\n"
        if to.path == "/large":
            body = b"x" * ((1 << 20) + 5)
        if to.path == "/picture":
            kind, body = "image/png", bytes(range(256))
        to.send_response(status if to.path not in ("/moved", "/away") else 302)
        if to.path == "/moved":
            to.send_header("location", "/home")
        if to.path == "/away":
            to.send_header("location", self.elsewhere)
        to.send_header("content-type", kind)
        to.send_header("content-length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(30)


@contextmanager
def served() -> Iterator[Pages]:
    pages = Pages()
    try:
        yield pages
    finally:
        pages.close()


@pytest.fixture
def pages() -> Iterator[Pages]:
    with served() as found:
        yield found


@dataclass(frozen=True)
class Tooled:
    """One episode of a team with tools; ``rows`` is what the run says of them, by role."""

    episode: Episode
    rows: dict[str, dict[str, Any]]

    def calls(self, name: str) -> list[dict[str, Any]]:
        """Of a phase, by its name."""
        path = self.episode.directory / "transcripts" / f"{name}.tools.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def tools(self, role: str) -> dict[str, int]:
        found: dict[str, int] = self.episode.phase(role)["tools"]
        return found

    def printed(self, role: str) -> list[dict[str, Any]]:
        """What each command of a role wrote, as JSON where it is."""
        path = self.episode.directory / self.episode.phase(role)["transcript"]
        return [json.loads(line) for line in path.read_text().splitlines()]

    def answers(self, role: str) -> list[dict[str, Any]]:
        """What its calls of ``rolewall-tool`` told the role, each the only one of its command."""
        return [json.loads(line["stdout"]["text"]) for line in self.printed(role)]

    def handoff(self, name: str) -> dict[str, Any]:
        path = self.episode.directory / "handoffs" / f"{name}.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found


def ask(name: str, **arguments: object) -> str:
    """The command by which a role in its box calls a tool."""
    return f"rolewall-tool {name} '{json.dumps(arguments)}'"


class Tools:
    """Runs teams of scripts that have tools."""

    def __init__(self, path: Path, cli: Cli, backend: str) -> None:
        (path / "studio").mkdir(parents=True)
        self.studio = Studio(path / "studio")
        self.task = self.studio.task()
        self.path = path
        self.backend = backend
        self._cli = cli

    def team(
        self,
        tools: dict[str, Any],
        scripts: dict[str, list[str]],
        files: dict[str, str] | None = None,
        plan: dict[str, Any] | None = None,
        **more: Any,
    ) -> Path:
        """``scripts`` are each role's commands; ``plan`` is what a planner leaves."""
        left = {"planner": plan} if plan else {}
        roles = {
            role: {"steps": [{"run": n} for n in lines], "handoff": left.get(role, {"text": role})}
            for role, lines in scripts.items()
        }
        team = self.studio.team(**roles)  # type: ignore[arg-type]
        body = json.loads(team.read_text()) | {"tools": tools} | more
        team.write_text(json.dumps(body))
        for name, text in (files or {}).items():
            (team.parent / name).write_text(text)
        return team

    def run(self, team: Path, *more: object) -> Tooled:
        out = self.path / f"run-{len(list(self.path.iterdir()))}"
        done = self._cli("run", team, "--tasks", self.task, "--backend", self.backend, "-o", out,
                         "--allow-team-tools", "--json", *more)  # fmt: skip
        assert done.code == 0, done.err
        (episode,) = episodes_of(out)
        return Tooled(episode, {row["role"]: row for row in done.json["tools"]})


@pytest.fixture
def tools(tmp_path: Path, cli: Cli) -> Tools:
    return Tools(tmp_path / "tools", cli, "bubblewrap")
