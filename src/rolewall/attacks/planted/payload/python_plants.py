"""Files that Python, pytest and their kin run because of where they lie."""

from __future__ import annotations

import importlib.util
import marshal
import os
import pickle

from .plant import Plant, put_file, trip_python, trip_shell

__all__ = ["PLANTS"]

PYTEST = "env -u PYTEST_ADDOPTS python3 -m pytest -q -p no:cacheprovider"
USER = "env -u PYTHONNOUSERSITE PYTHONPATH=. python3 -c pass"
INI = "[{0}]\naddopts = -p {1}\n"
TOML = '[tool.pytest.ini_options]\naddopts = "-p {1}"\n'
ENTRY = "[pytest11]\nevil = entry_evil\n"
META = "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"
# id: (what, module that trips, other files, careless command)
MODULES: dict[str, tuple[str, str, dict[str, str], str]] = {
    "conftest": ("conftest.py", "conftest.py", {}, PYTEST),
    "pytest-ini": (
        "pytest.ini",
        "ini_evil.py",
        {"pytest.ini": INI.format("pytest", "ini_evil")},
        PYTEST,
    ),
    "pyproject": (
        "pyproject.toml",
        "toml_evil.py",
        {"pyproject.toml": TOML.format("", "toml_evil")},
        PYTEST,
    ),
    "setup-cfg": (
        "setup.cfg",
        "cfg_evil.py",
        {"setup.cfg": INI.format("tool:pytest", "cfg_evil")},
        PYTEST,
    ),
    "tox-ini": ("tox.ini", "tox_evil.py", {"tox.ini": INI.format("pytest", "tox_evil")}, PYTEST),
    "plugin": (
        "a pytest11 plug-in",
        "entry_evil.py",
        {"evil-1.0.dist-info/entry_points.txt": ENTRY, "evil-1.0.dist-info/METADATA": META},
        PYTEST,
    ),
    "test-module": ("a test module", "test_evil.py", {}, PYTEST + " test_evil.py"),
    "sitecustomize": ("sitecustomize.py", "sitecustomize.py", {}, "PYTHONPATH=. python3 -c pass"),
    "usercustomize": ("usercustomize.py", "usercustomize.py", {}, USER),
    "setup-py": ("setup.py", "setup.py", {}, "python3 setup.py --version"),
    "shadow-json": ("json.py beside the work", "json.py", {}, "python3 -c 'import json'"),
    "shadow-random": ("random.py beside the work", "random.py", {}, "python3 -c 'import random'"),
    "shadow-unittest": (
        "unittest beside the work",
        "unittest/__init__.py",
        {},
        "python3 -m unittest",
    ),
    "shadow-pytest": ("pytest.py beside the work", "pytest.py", {}, PYTEST),
    "shadow-hmac": ("hmac.py beside the work", "hmac.py", {}, "python3 -c 'import hmac'"),
    "shadow-main": ("a package with __main__", "checks/__main__.py", {}, "python3 -m checks"),
}


def _module(name: str) -> Plant:
    what, tripping, others, naive = MODULES[name]

    def put(root: str, host: str) -> None:
        put_file(root, tripping, trip_python(host, f"py-{name}"))
        for path, text in others.items():
            put_file(root, path, text)

    paths = tuple(sorted({path.partition("/")[0] for path in (tripping, *others)}))
    return Plant(f"py-{name}", "python", what, put, paths, naive)


def _pth(root: str, host: str) -> None:
    code = trip_python(host, "py-pth")
    put_file(root, "evil.pth", f"import os; exec({code!r})\n")


def _pdbrc(root: str, host: str) -> None:
    put_file(root, ".pdbrc", f"import os; exec({trip_python(host, 'py-pdbrc')!r})\n")
    put_file(root, "debugged.py", "pass\n")


class _Bomb:
    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (self.code,)


def _pickle(root: str, host: str) -> None:
    with open(os.path.join(root, "cache.pkl"), "wb") as file:
        pickle.dump(_Bomb(trip_python(host, "py-pickle")), file)


def _byte_code(root: str, host: str) -> None:
    put_file(root, "innocent.py", "pass\n")
    code = compile(trip_python(host, "py-byte-code"), "innocent.py", "exec")
    cached = importlib.util.cache_from_source(os.path.join(root, "innocent.py"))
    cached = os.path.join(root, "__pycache__", os.path.basename(cached))
    os.makedirs(os.path.dirname(cached), exist_ok=True)
    with open(cached, "wb") as file:
        file.write(importlib.util.MAGIC_NUMBER + b"\1\0\0\0" + bytes(8) + marshal.dumps(code))


def _shim(program: str) -> Plant:
    def put(root: str, host: str) -> None:
        text = f"#!/usr/bin/env -S /bin/sh\n{trip_shell(host, 'shim-' + program)}\n"
        put_file(root, f"bin/{program}", text, 0o755)

    naive = f'PATH="$PWD/bin:$PATH"; hash -r; {program} </dev/null'
    return Plant(f"shim-{program}", "shell", f"bin/{program} for the PATH", put, ("bin",), naive)


PLANTS: list[Plant] = [
    *(_module(name) for name in MODULES),
    Plant("py-pth", "python", "a .pth file", _pth, ("evil.pth",),
          "python3 -c \"import site; site.addsitedir('.')\""),
    Plant("py-pdbrc", "python", ".pdbrc", _pdbrc, (".pdbrc", "debugged.py"),
          "python3 -m pdb debugged.py </dev/null"),
    Plant("py-pickle", "python", "a pickle", _pickle, ("cache.pkl",),
          "python3 -c \"import pickle; pickle.load(open('cache.pkl', 'rb'))\""),
    Plant("py-byte-code", "python", "byte code that differs from its source", _byte_code,
          ("innocent.py", "__pycache__"), "python3 -c 'import innocent'"),
    *(_shim(program) for program in ("python3", "sh", "git", "pytest", "env")),
]  # fmt: skip
