"""Builds ``rolewall-init`` with the package; all metadata is in pyproject.toml."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

SOURCE = Path(__file__).resolve().parent / "sandbox" / "init"
BINARY = "rolewall-init"


def compile_init() -> None:
    """Beside its sources: make cannot be given a path with a space in it."""
    if shutil.which("make") is None:
        raise CompileError(f"make is needed to build {BINARY}: apt-get install make gcc")
    (SOURCE / BINARY).unlink(missing_ok=True)  # it may be of another machine
    if subprocess.run(["make", "-C", str(SOURCE), BINARY], check=False).returncode != 0:
        raise CompileError(
            f"{BINARY} did not compile; it needs gcc (or $CC) and a static libc: "
            "apt-get install make gcc libc6-dev"
        )


class BuildWithInit(build_py):
    """Ships the binary; an editable install finds it where it was compiled."""

    def run(self) -> None:
        super().run()
        compile_init()
        if not self.editable_mode:
            target = self.built_init()
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / BINARY, target)

    def built_init(self) -> Path:
        return Path(self.build_lib, "rolewall", "sandbox", "init", BINARY)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        outputs: list[str] = super().get_outputs(include_bytecode)
        missing = not self.editable_mode and str(self.built_init()) not in outputs
        return [*outputs, str(self.built_init())] if missing else outputs


class PlatformWheel(bdist_wheel):
    """The binary needs this architecture, but no particular Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build_py": BuildWithInit, "bdist_wheel": PlatformWheel},
    distclass=PlatformDistribution,
)
