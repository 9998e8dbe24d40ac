"""Repositories below the workspace, and what only looks like one."""

from __future__ import annotations

import os
import subprocess

from .git_config import quoted
from .plant import Plant, put_file, trip_shell

__all__ = ["PLANTS", "git"]

CLEAN = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")


def git(root: str, *words: str) -> None:
    """Git as its user means it: nothing that is planted fires."""
    who = ("-c", "user.name=e", "-c", "user.email=e@localhost")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["git", *CLEAN, *who, *words], cwd=root, check=True, timeout=60, env=env)


def _repository(path: str, host: str, plant: str, *init: str) -> None:
    os.makedirs(path, exist_ok=True)
    git(path, "init", "-q", *init, ".")
    config = os.path.join(path, "config" if init else ".git/config")
    with open(config, "a", encoding="utf-8") as file:
        file.write(f"[core]\n\tfsmonitor = {quoted(trip_shell(host, plant) + '; exit 1 #')}\n")


def _nested(root: str, host: str) -> None:
    _repository(os.path.join(root, "nest"), host, "nest-fsmonitor")
    put_file(root, "nest/file", "1\n")
    git(os.path.join(root, "nest"), "add", "file")
    git(os.path.join(root, "nest"), "commit", "-q", "-m", "nested")


def _hooks_path(root: str, host: str) -> None:
    text = f"#!/bin/sh\n{trip_shell(host, 'nest-hooks')}\n"
    put_file(root, "hooks/pre-commit", text, 0o755)
    with open(os.path.join(root, "nest/.git/config"), "a", encoding="utf-8") as file:
        file.write("[core]\n\thooksPath = ../hooks\n[user]\n\tname = e\n\temail = e@localhost\n")


def _bare(root: str, host: str) -> None:
    path = os.path.join(root, "bare")
    _repository(path, host, "bare-fsmonitor", "--bare")
    with open(os.path.join(path, "config"), "a", encoding="utf-8") as file:
        file.write("[core]\n\tbare = false\n\tworktree = ..\n")


def _file(root: str, host: str) -> None:
    _repository(os.path.join(root, "away"), host, "gitfile", "--bare")
    with open(os.path.join(root, "away/config"), "a", encoding="utf-8") as file:
        file.write("[core]\n\tbare = false\n")
    put_file(root, "filed/.git", "gitdir: ../away\n")


def _link(root: str, host: str) -> None:
    path = os.path.join(root, "sub")
    _repository(path, host, "gitlink")
    git(path, "commit", "-q", "--allow-empty", "-m", "sub")
    git(root, "add", "sub")
    git(root, "commit", "-q", "-m", "gitlink")


PLANTS: list[Plant] = [
    Plant("nest-fsmonitor", "git", "nested repository", _nested, ("nest",), "git -C nest status"),
    Plant("nest-hooks", "git", "nested repository, core.hooksPath", _hooks_path,
          ("nest", "hooks"), "git -C nest commit -q --allow-empty -m x"),
    Plant("bare-fsmonitor", "git", "bare repository with a work tree", _bare, ("bare",),
          "cd bare && git status"),
    Plant("gitfile", "git", ".git as a file that points elsewhere", _file, ("away", "filed"),
          "git -C filed status"),
    Plant("gitlink", "git", "gitlink to a nested repository", _link, (".git", "sub"),
          "git status"),
]  # fmt: skip
