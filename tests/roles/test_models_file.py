"""What ``models:`` of a team file refuses, and that no secret is in the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolewall.errors import TeamError
from rolewall.roles import load_team

HIDDEN = "hunter2"
IN_CLEAR = "would be sent in clear; use https, or a loopback address"


def team(directory: Path, endpoint: str, key: str) -> Path:
    file = directory / "team.yaml"
    file.write_text(
        f"team: t\nmodels: {{main: {{endpoint: '{endpoint}', key: {key}, allow: [m]}}}}\n"
        "roles:\n"
        "  executor: {agent: {command: [true-agent], endpoint: main}}\n"
        "  verifier: {agent: {command: [true-agent], endpoint: main}}\n"
    )
    return file


@pytest.mark.parametrize(
    ("endpoint", "key", "words"),
    [
        ("https://a.example/v1", f"sk-{HIDDEN}", "main.key: not the name of a variable"),
        ("https://a.example/v1", f"[{HIDDEN}]", "main.key: not the name of a variable"),
        (f"https://me:{HIDDEN}@a.example/v1", "K", "main.endpoint: a URL with a password"),
        (f"https://me:{HIDDEN}@a.example:port/v1", "K", "main.endpoint: not a URL"),
        (f"ftp://me:{HIDDEN}@a.example/v1", "K", "main.endpoint: not a URL"),
        (f"https://a.example/v1?key={HIDDEN}", "K", "main.endpoint: a URL with a query"),
    ],
)
def test_a_secret_is_refused_and_not_repeated(
    tmp_path: Path, endpoint: str, key: str, words: str
) -> None:
    with pytest.raises(TeamError) as caught:
        load_team(team(tmp_path, endpoint, key))
    assert words in str(caught.value)
    assert HIDDEN not in str(caught.value)


@pytest.mark.parametrize("endpoint", ["http://a.example/v1", "HTTP://a.example", "http://10.0.0.1"])
def test_a_key_is_not_sent_in_clear(tmp_path: Path, endpoint: str) -> None:
    with pytest.raises(TeamError, match=IN_CLEAR):
        load_team(team(tmp_path, endpoint, "SOME_KEY"))
    assert load_team(team(tmp_path, endpoint, "null")).endpoints


@pytest.mark.parametrize(
    "endpoint",
    ["https://a.example/v1", "http://127.0.0.1:9/v1", "http://[::1]:9/v1", "http://localhost:9"],
)
def test_a_key_is_sent_encrypted_or_within_the_machine(tmp_path: Path, endpoint: str) -> None:
    assert load_team(team(tmp_path, endpoint, "SOME_KEY")).endpoints
