"""What the planter leaves in its own home and tmp, which no other box should have."""

from __future__ import annotations

import os
import site
from collections.abc import Callable

from .plant import Plant, put_file, trip_python, trip_shell

__all__ = ["PLANTS"]

USER = "cd / && env -u PYTHONNOUSERSITE python3 -c pass"


def _sh(host: str, plant: str) -> str:
    return trip_shell(host, plant) + "\n"


def _alias(name: str) -> Callable[[str, str], str]:
    return lambda host, plant: f'[alias]\n\t{name} = "!{trip_shell(host, plant)}"\n'


def _pth(host: str, plant: str) -> str:
    return f"import os; exec({trip_python(host, plant)!r})\n"


# id: (what, path below home, text, careless command)
HOME: dict[str, tuple[str, str, Callable[[str, str], str], str]] = {
    "bashrc": ("~/.bashrc", ".bashrc", _sh, "bash -ic true </dev/null"),
    "profile": ("~/.profile", ".profile", _sh, "bash -lc true"),
    "gitconfig": ("~/.gitconfig", ".gitconfig", _alias("hg"), "git hg"),
    "xdg-git": ("~/.config/git/config", ".config/git/config", _alias("xg"), "git xg"),
    "user-pth": ("a .pth file in the user's packages", "{site}/evil.pth", _pth, USER),
    "usercustom": (
        "usercustomize in the user's packages",
        "{site}/usercustomize.py",
        trip_python,
        USER,
    ),
}


def _plant(name: str) -> Plant:
    what, path, text, naive = HOME[name]

    def put(root: str, host: str) -> None:
        home = os.path.expanduser("~")
        packages = os.path.relpath(site.getusersitepackages(), home)
        put_file(home, path.format(site=packages), text(host, f"home-{name}"))

    return Plant(f"home-{name}", "shell", what, put, (), naive, home=True)


def _tmp(root: str, host: str) -> None:
    put_file("/tmp", "conftest.py", trip_python(host, "tmp-conftest"))


def _bash_env(root: str, host: str) -> None:
    put_file(root, ".env.sh", _sh(host, "bash-env"))


def _activate(root: str, host: str) -> None:
    put_file(root, ".venv/bin/activate", _sh(host, "venv-activate"))


PLANTS: list[Plant] = [
    *(_plant(name) for name in HOME),
    Plant("tmp-conftest", "python", "/tmp/conftest.py", _tmp, (),
          "cd /tmp && python3 -m pytest -q -p no:cacheprovider /tmp/conftest.py", home=True),
    Plant("bash-env", "shell", "a file for BASH_ENV", _bash_env, (".env.sh",),
          "BASH_ENV=./.env.sh bash -c true"),
    Plant("venv-activate", "shell", ".venv/bin/activate", _activate, (".venv",),
          ". .venv/bin/activate"),
]  # fmt: skip
