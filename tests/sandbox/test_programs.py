"""Where a box finds a program, and what its search path is."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolewall.sandbox import BoxSpec, looked_in, program_found
from rolewall.sandbox.environment import box_environment
from rolewall.sandbox.showing import shown_links


def program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.fixture
def native(tmp_path: Path) -> Path:
    """As Claude Code's own installer leaves it: each version one program, named by it."""
    for version in ("2.1.9", "2.1.10", "1.99.0"):
        program(tmp_path / "claude" / "versions" / version)
    (tmp_path / "claude" / "versions" / "2.2.0").write_text("being fetched")
    program(tmp_path / "claude" / "versions" / "99.tmp")
    return tmp_path / "claude"


def test_an_images_own_path_comes_after_what_is_shown(tmp_path: Path) -> None:
    program(tmp_path / "install" / "bin" / "agent")
    install = tmp_path / "install"
    shown = BoxSpec("executor", (), image="i", env={"PATH": "/app/bin"}, shown=(install,))
    at = "/rolewall/shown/1" if install.parts[1] == "tmp" else str(install)
    path = f"/rolewall/bin:{at}/bin:{at}:/app/bin"
    assert box_environment(shown, "/image/bin")["PATH"] == path
    none = BoxSpec("verifier", (), image="i", env={"PATH": ""})
    assert box_environment(none, "/image/bin")["PATH"] == "/rolewall/bin"
    plain = box_environment(BoxSpec("executor", (), image="i"), "/image/bin")
    assert plain["PATH"] == "/rolewall/bin:/image/bin"


def test_the_newest_version_of_a_native_install_is_the_program(native: Path) -> None:
    spec = BoxSpec("executor", (), shown=(native,))
    (link,) = shown_links(spec).values()
    assert link.endswith("/versions/2.1.10")
    assert program_found(spec, "claude") is True
    assert "/rolewall/shown/bin" in looked_in(spec)
    assert program_found(BoxSpec("executor", (), shown=(native.parent,)), "claude") is False


def test_what_is_on_this_machine_is_told_without_a_box(tmp_path: Path) -> None:
    program(tmp_path / "node_modules" / "agent" / "cli.js")
    commands = tmp_path / "node_modules" / ".bin"
    commands.mkdir()
    (commands / "agent").symlink_to("../agent/cli.js")
    (commands / "away").symlink_to(tmp_path.parent / "elsewhere")
    host = BoxSpec("executor", (), shown=(tmp_path,))
    found = {name: program_found(host, name)
             for name in ("agent", "sh", "python3", "pytest", "/usr/bin/env", "away", "no-such",
                          "/usr/bin/no-such", "/workspace/made", "./made")}  # fmt: skip
    assert found == {
        **dict.fromkeys(("agent", "sh", "python3", "pytest", "/usr/bin/env"), True),
        **dict.fromkeys(("away", "no-such", "/usr/bin/no-such"), False),
        **dict.fromkeys(("/workspace/made", "./made"), None),
    }
    image = BoxSpec("executor", (), image="some", shown=(tmp_path,))
    told = {name: program_found(image, name) for name in ("agent", "sh", "/usr/bin/env")}
    assert told == {"agent": True, "sh": None, "/usr/bin/env": None}
