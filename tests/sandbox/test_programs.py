"""Where a box finds a program, and what its search path is."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolewall.sandbox import BoxSpec, Program, looked_in, programs_found
from rolewall.sandbox.environment import box_environment
from rolewall.sandbox.showing import shown_links


def program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def there(spec: BoxSpec, name: str) -> bool | None:
    found = programs_found(spec, name)
    return None if found is None else bool(found)


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
    assert there(spec, "claude") is True
    assert "/rolewall/shown/bin" in looked_in(spec)
    assert there(BoxSpec("executor", (), shown=(native.parent,)), "claude") is False


def test_what_is_on_this_machine_is_told_without_a_box(tmp_path: Path) -> None:
    program(tmp_path / "node_modules" / "agent" / "cli.js")
    commands = tmp_path / "node_modules" / ".bin"
    commands.mkdir()
    (commands / "agent").symlink_to("../agent/cli.js")
    (commands / "away").symlink_to(tmp_path.parent / "elsewhere")
    host = BoxSpec("executor", (), shown=(tmp_path,))
    found = {name: there(host, name)
             for name in ("agent", "sh", "python3", "pytest", "/usr/bin/env", "away", "no-such",
                          "/usr/bin/no-such", "/home/made", "/workspace/made", "./a")}  # fmt: skip
    assert found == {
        **dict.fromkeys(("agent", "sh", "python3", "pytest", "/usr/bin/env"), True),
        **dict.fromkeys(("away", "no-such", "/usr/bin/no-such", "/home/made"), False),
        **dict.fromkeys(("/workspace/made", "./a"), None),
    }
    image = BoxSpec("executor", (), image="some", shown=(tmp_path,))
    told = {name: there(image, name) for name in ("agent", "sh", "/usr/bin/env")}
    assert told == {"agent": True, "sh": None, "/usr/bin/env": None}


def test_a_link_out_of_what_is_shown_leads_to_what_the_box_has_there(tmp_path: Path) -> None:
    install, elsewhere = tmp_path / "install", tmp_path / "elsewhere"
    program(elsewhere)
    (install / "bin").mkdir(parents=True)
    for name, target in (("env", Path("/usr/bin/env")), ("away", elsewhere)):
        (install / "bin" / name).symlink_to(target)
    spec = BoxSpec("executor", (), private=(), shown=(install,))
    found = {name: there(spec, f"{install}/bin/{name}") for name in ("env", "away")}
    assert found == {"env": True, "away": None}
    private = BoxSpec("executor", (), private=(tmp_path.parts[1],), shown=(Path("/srv/no"),))
    assert there(private, f"{install}/bin/env") is False


def test_every_program_of_a_name_is_told_in_the_order_that_the_box_tries_them(
    tmp_path: Path,
) -> None:
    program(tmp_path / "bin" / "sh")
    first, *others = programs_found(BoxSpec("executor", (), shown=(tmp_path,)), "sh") or ()
    assert first.path.endswith("/bin/sh") and first.head == b"#!/bin/sh\n"
    assert others and others[0].path == "/usr/bin/sh" and others[0].needs == ()


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        (b"#!/bin/sh\necho", ("/bin/sh",)),
        (b"#! /opt/x/python3 -I", ("/opt/x/python3",)),
        (b"#!/bin/sh\r\n", ("/bin/sh\r",)),
        (b"#!/usr/bin/env node\n", ("/usr/bin/env", "node")),
        (b"#!/usr/bin/env node --flag\n", ("/usr/bin/env", "node --flag")),
        (b"#!/usr/bin/env -S A=1 node --flag\n", ("/usr/bin/env", "node")),
        (b"#!/usr/bin/env -i node\n", ("/usr/bin/env",)),
        (b"#!/usr/bin/env -S 'node\n", ("/usr/bin/env",)),
        (b"#!/usr/bin/env\n", ("/usr/bin/env",)),
        (b"#!/bin/a\0b\n", ("/bin/a",)),
        (b"#!relative", ()),
        (b"#!\n", ()),
        (b"\x7fELF", ()),
    ],
)
def test_what_a_script_needs_is_what_the_kernel_reads(line: bytes, needs: tuple[str, ...]) -> None:
    assert Program("/bin/x", line).needs == needs
