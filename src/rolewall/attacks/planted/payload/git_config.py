"""Settings and attributes by which git runs a program of the workspace's choice."""

from __future__ import annotations

import os

from .plant import Plant, put_file, trip_shell

__all__ = ["PLANTS", "quoted"]

CHANGE = "date +%N >>{0}; "
PTY = "python3 -I -c \"import pty; pty.spawn(['git', 'log'])\""
MERGE = (
    "git reset -q --hard; git checkout -q -b m-$$ && echo a >m.merge && git commit -qam a && "
    "git checkout -q - && echo b >m.merge && git commit -qam b && git merge -q m-$$"
)
# id: (what, section, key, words after the tripwire, attribute line, careless command)
SETTINGS: dict[str, tuple[str, str, str, str, str, str]] = {
    "fsmonitor": ("core.fsmonitor", "core", "fsmonitor", "exit 1", "", "git status"),
    "ssh": (
        "core.sshCommand",
        "core",
        "sshCommand",
        "exit 1",
        "",
        "git ls-remote ssh://127.0.0.1/x",
    ),
    "pager": ("core.pager", "core", "pager", "cat", "", PTY),
    "editor": ("core.editor", "core", "editor", "true", "", "git commit --amend --allow-empty"),
    "sequence": (
        "sequence.editor",
        "sequence",
        "editor",
        "true",
        "",
        "git reset -q --hard; git rebase -q -i --root",
    ),
    "diff-external": (
        "diff.external",
        "diff",
        "external",
        "true",
        "",
        CHANGE.format("t.txt") + "git diff",
    ),
    "textconv": (
        "diff.X.textconv",
        'diff "conv"',
        "textconv",
        "echo",
        "*.conv diff=conv",
        "git log -p",
    ),
    "diff-command": (
        "diff.X.command",
        'diff "cmd"',
        "command",
        "true",
        "*.cmd diff=cmd",
        CHANGE.format("d.cmd") + "git diff",
    ),
    "clean": (
        "filter.X.clean",
        'filter "clean"',
        "clean",
        "cat",
        "*.clean filter=clean",
        CHANGE.format("c.clean") + "git status",
    ),
    "smudge": (
        "filter.X.smudge",
        'filter "smudge"',
        "smudge",
        "cat",
        "*.smudge filter=smudge",
        "rm -f s.smudge; git checkout -q -- s.smudge",
    ),
    "process": (
        "filter.X.process",
        'filter "proc"',
        "process",
        "exit 1",
        "*.proc filter=proc",
        CHANGE.format("p.proc") + "git add p.proc",
    ),
    "merge-driver": ("merge.X.driver", 'merge "drv"', "driver", "true", "*.merge merge=drv", MERGE),
    "alias": ("alias.st", "alias", "st", "true", "", "git st"),
    "credential": (
        "credential.helper",
        "credential",
        "helper",
        "true",
        "",
        "printf 'protocol=https\\nhost=x\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill",
    ),
    "uploadpack": (
        "remote.X.uploadpack",
        'remote "up"',
        "uploadpack",
        "exit 1",
        "",
        "git fetch -q up",
    ),
    "receivepack": (
        "remote.X.receivepack",
        'remote "up"',
        "receivepack",
        "exit 1",
        "",
        "git push -q up HEAD:x",
    ),
    "trailer": (
        "trailer.X.command",
        'trailer "tr"',
        "command",
        "true",
        "",
        "git interpret-trailers --trailer tr=1 </dev/null",
    ),
    "archive": (
        "tar.X.command",
        'tar "evil"',
        "command",
        "cat",
        "",
        "git archive --format=evil HEAD",
    ),
    "difftool": (
        "difftool.X.cmd",
        'difftool "dt"',
        "cmd",
        "true",
        "",
        CHANGE.format("t.txt") + "git difftool -y -t dt",
    ),
    "alternates": (
        "core.alternateRefsCommand, alternates",
        "core",
        "alternateRefsCommand",
        "true",
        "",
        "git push -q . HEAD:refs/heads/alt-$$",
    ),
}
FILES = ("t.txt", "c.conv", "d.cmd", "c.clean", "s.smudge", "m.merge")
PATHS = (".git", ".gitattributes", "alt", "inc.cfg", "gpg-evil", "p.proc", *FILES)


def quoted(text: str) -> str:
    """A value as it may stand in a git configuration file."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _add(root: str, section: str, key: str, value: str) -> None:
    with open(os.path.join(root, ".git", "config"), "a", encoding="utf-8") as file:
        file.write(f"[{section}]\n\t{key} = {quoted(value)}\n")


def _setting(name: str) -> Plant:
    what, section, key, then, attribute, naive = SETTINGS[name]

    def put(root: str, host: str) -> None:
        # Git adds arguments to the words; behind the # they are a comment.
        words = f"{trip_shell(host, 'git-' + name)}; {then} #"
        bang = "!" if key in ("st", "helper") else ""
        _add(root, section, key, bang + words)
        if attribute:
            # The second outranks the first, and the harness's repository has it.
            for place in (".gitattributes", ".git/info/attributes"):
                with open(os.path.join(root, place), "a", encoding="utf-8") as file:
                    file.write(attribute + "\n")

    return Plant(f"git-{name}", "git", what, put, PATHS, naive)


def _remote(root: str, host: str) -> None:
    _add(root, 'remote "up"', "url", ".")
    _add(root, 'remote "ext"', "url", f"ext::sh -c {_one_word(trip_shell(host, 'git-ext-url'))}")
    _add(root, 'protocol "ext"', "allow", "always")
    put_file(root, ".git/objects/info/alternates", "../../alt/objects\n")
    put_file(root, "alt/objects/info/packs", "")
    # Not committed: whoever adds it starts the filter, and git then gives up.
    put_file(root, "p.proc", "1\n")


def _one_word(text: str) -> str:
    """How git-remote-ext wants an argument with spaces; % is its escape."""
    return text.replace("%", "%%").replace(" ", "% ")


def _include(root: str, host: str) -> None:
    put_file(root, "inc.cfg", f"[alias]\n\tinc = {quoted('!' + trip_shell(host, 'git-include'))}\n")
    _add(root, "include", "path", "../inc.cfg")


def _gpg(root: str, host: str) -> None:
    put_file(root, "gpg-evil", f"#!/bin/sh\n{trip_shell(host, 'git-gpg')}\n", 0o755)
    _add(root, "gpg", "program", "./gpg-evil")


def _worktree(root: str, host: str) -> None:
    words = quoted(f"{trip_shell(host, 'git-worktree')} #")
    text = f'[trailer "wt"]\n\tcommand = {words}\n'
    put_file(root, ".git/config.worktree", text)
    _add(root, "extensions", "worktreeConfig", "true")


PLANTS: list[Plant] = [
    Plant("git-ext-url", "git", "remote.X.url ext::", _remote, PATHS, "git fetch -q ext"),
    *(_setting(name) for name in SETTINGS),
    Plant("git-include", "git", "include.path into the workspace", _include, PATHS, "git inc"),
    Plant("git-gpg", "git", "gpg.program", _gpg, PATHS, "git commit -q -S --allow-empty -m s"),
    Plant(
        "git-worktree",
        "git",
        "config.worktree",
        _worktree,
        PATHS,
        "git interpret-trailers --trailer wt=1 </dev/null",
    ),
]
