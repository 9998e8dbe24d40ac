"""``task.toml``: what of it has a meaning here, and what cannot be had behind the wall.

The format is another project's: keys that mean nothing here may stand in it, and a key that
nobody knows is told of. What changes how a task is run or judged is refused by name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rolewall._beneath import Root
from rolewall._files import decode
from rolewall._validate import Strict, validate
from rolewall.errors import TaskError

__all__ = ["FILE", "HarborFile", "read_file"]

FILE = "task.toml"
_DEFAULT_SECONDS = 600.0
_MOST_NESTED = 64
_Seconds = Annotated[float, Field(gt=0, le=86_400)]
_Size = int | float | str
_Hosts = Annotated[list[Any], Field(max_length=1000)]
_Env = Annotated[dict[str, str], Field(max_length=200)]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")


class _Section(Strict):
    model_config = ConfigDict(extra="allow")


class _Agent(_Section):
    timeout_sec: _Seconds = _DEFAULT_SECONDS
    user: str | int | None = None
    network_mode: str | None = None
    allowed_hosts: _Hosts | None = None


class _Verifier(_Section):
    timeout_sec: _Seconds = _DEFAULT_SECONDS
    env: _Env = Field(default_factory=dict)
    user: str | int | None = None
    network_mode: str | None = None
    allowed_hosts: _Hosts | None = None
    environment_mode: str | None = None
    environment: dict[str, Any] | None = None
    collect: list[Any] | None = None


class _Environment(_Section):
    docker_image: Annotated[str, Field(min_length=1, max_length=512, pattern=r"^\S+$")] | None = (
        None
    )
    workdir: str | None = None
    env: _Env = Field(default_factory=dict)
    os: str = "linux"
    build_timeout_sec: float | None = None
    cpus: float | None = None
    memory_mb: float | None = None
    memory: _Size | None = None
    storage_mb: float | None = None
    storage: _Size | None = None
    gpus: int | None = None
    gpu_types: list[Any] | None = None
    tpu: dict[str, Any] | None = None
    allow_internet: bool | None = None
    network_mode: str | None = None
    allowed_hosts: _Hosts | None = None
    mcp_servers: list[Any] = Field(default_factory=list)
    skills_dir: str | None = None
    healthcheck: dict[str, Any] | None = None


class HarborFile(_Section):
    """The settings of one task; ``notes`` says what of them has no effect."""

    version: str | None = None
    schema_version: str | None = None
    task: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)
    agent: _Agent = _Agent()
    verifier: _Verifier = _Verifier()
    environment: _Environment = _Environment()
    solution: dict[str, Any] = Field(default_factory=dict)
    source: Any = None
    artifacts: list[Any] = Field(default_factory=list)
    steps: list[Any] = Field(default_factory=list)
    multi_step_reward_strategy: str | None = None

    def notes(self) -> Iterator[str]:
        """What the task asks for and does not get, a line each."""
        environment = self.environment
        modes = (environment.network_mode, self.agent.network_mode, self.verifier.network_mode)
        offline = environment.allow_internet is False or environment.network_mode == "no-network"
        if not offline or any(mode not in (None, "no-network") for mode in modes):
            yield "no network, in the grade box neither; the task would have one in Harbor"
        for name, section in (("agent", self.agent), ("verifier", self.verifier)):
            if section.user is not None:
                yield f"{name}.user {section.user!r} is not given: each box has a user of its own"
        if environment.memory_mb or environment.memory or environment.cpus:
            yield "memory and cpus are the team's limits, not the task's"
        if environment.skills_dir:
            yield "environment.skills_dir is not given to any agent"
        if self.artifacts:
            yield "artifacts are not collected; the whole workspace is kept"
        if unknown := sorted(self._unknown()):
            yield f"{FILE}: not known, and without effect: {', '.join(unknown[:10])}"

    def _unknown(self) -> Iterator[str]:
        yield from self.model_extra or {}
        for name in ("agent", "verifier", "environment"):
            section: _Section = getattr(self, name)
            yield from (f"{name}.{key}" for key in section.model_extra or {})


def read_file(root: Root) -> HarborFile:
    """The task's ``task.toml``.

    Raises:
        TaskError: it is no TOML, a known key has a wrong value, or it asks for what cannot be
            had behind the wall.
    """
    place = root.place(FILE)
    text = decode(root.read(FILE, 1 << 20), place, error=TaskError)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise TaskError(f"not TOML: {problem}", place=place) from None
    except RecursionError:
        raise TaskError("nested too deep", place=place) from None
    file = validate(HarborFile, data, place, TaskError)
    for key, why in _refusals(file):
        raise TaskError(why, place=place, got=key, hint="run this task with Harbor itself")
    return file


def _refusals(file: HarborFile) -> Iterator[tuple[str, str]]:
    environment, verifier = file.environment, file.verifier
    if file.steps:
        yield "steps", "a task of several steps is not supported"
    if environment.os != "linux":
        yield f"environment.os = {environment.os}", "only Linux tasks are supported"
    for key, value in (("gpus", environment.gpus), ("tpu", environment.tpu)):
        if value:
            yield f"environment.{key}", "no box has accelerators"
    if environment.mcp_servers:
        yield "environment.mcp_servers", "servers beside an agent are not supported"
    if environment.healthcheck:
        yield "environment.healthcheck", "services of an environment are not started"
    if verifier.environment_mode not in (None, "shared") or verifier.environment is not None:
        yield "verifier.environment", "tests in an image of their own are not supported"
    if verifier.collect:
        yield "verifier.collect", "hooks before the tests are not supported"
    yield from _refused_variables("environment.env", environment.env)
    yield from _refused_variables("verifier.env", verifier.env)


def _refused_variables(place: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in env.items():
        if not _NAME.match(name) or "\0" in value:
            yield f"{place}: {name}", "not an environment variable"
        elif "${" in value:
            yield f"{place}.{name}", "variables of the host are not passed into boxes"
