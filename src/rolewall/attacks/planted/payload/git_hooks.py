"""Hooks of the workspace's own repository."""

from __future__ import annotations

from .plant import Plant, Put, put_file, trip_shell

__all__ = ["PLANTS"]

CLEAN = "git am -q --abort 2>/dev/null; git reset -q --hard; "
COMMIT = "git commit -q --allow-empty -m more"
PUSH = "git push -q . HEAD:refs/heads/pushed-$$"
SIDE = f"{CLEAN}git checkout -q -b side-$$ && {COMMIT} && git checkout -q - && "
MERGE = f"{SIDE}git merge -q --no-ff --no-edit side-$$"
AM = (
    f"{CLEAN}rm -rf /tmp/am; date +%N >>t.txt; git commit -q -a -m more; "
    "git format-patch -q -1 -o /tmp/am; git reset -q --hard HEAD~1; git am -q /tmp/am/*"
)
HOOKS = {
    "pre-commit": COMMIT,
    "prepare-commit-msg": COMMIT,
    "commit-msg": COMMIT,
    "post-commit": COMMIT,
    "post-checkout": "git checkout -q -b other-$$",
    "post-index-change": "date +%N >>t.txt; git add t.txt",
    "reference-transaction": "git branch new-$$",
    "post-rewrite": "git commit -q --amend --allow-empty -m other",
    "pre-rebase": f"{CLEAN}{COMMIT}; git rebase -q HEAD~1",
    "pre-merge-commit": MERGE,
    "post-merge": MERGE,
    "pre-push": PUSH,
    "pre-receive": PUSH,
    "update": PUSH,
    "post-receive": PUSH,
    "post-update": PUSH,
    "applypatch-msg": AM,
    "pre-applypatch": AM,
    "post-applypatch": AM,
}


def _hook(name: str) -> Plant:
    def put(root: str, host: str) -> None:
        drain = "" if "receive" in name else "\nexit 0"
        text = f"#!/bin/sh\n{trip_shell(host, 'hook-' + name)}{drain}\n"
        put_file(root, f".git/hooks/{name}", text, 0o755)

    made: Put = put
    paths = (".git", "t.txt")
    return Plant(f"hook-{name}", "git", f"git hook {name}", made, paths, HOOKS[name])


PLANTS: list[Plant] = [_hook(name) for name in HOOKS]
