"""Without a wall and without a race the ledger accounts for every change, whatever tool made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Play, Studio

GIT = "git -c user.name=v -c user.email=v@localhost"
IN_PYTHON = """
import ctypes, mmap, os, shutil
for n in range(30):
    with open(f".new-{n}", "w") as new:
        new.write(f"{n}\\n")
    os.replace(f".new-{n}", "replaced.py")
with open("mapped.py", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
    memory[0:1] = b"M"
inherited = os.open("inherited.py", os.O_WRONLY)
os.rename("inherited.py", "renamed.py")
if os.fork() == 0:
    os.write(inherited, b"by the child")
    os._exit(0)
os.wait()
shutil.move("tree/deep", "moved")
shutil.copytree("moved", "copied")
shutil.rmtree("tree")
os.link("linked.py", "name-2")
with open("name-2", "a") as second:
    second.write("more\\n")
os.unlink("name-2")
os.link("held.py", "held-2")
held = os.open("held-2", os.O_RDONLY)
os.unlink("held-2")
os.fchmod(held, 0o640)
unnamed = os.open(".", os.O_TMPFILE | os.O_RDWR)
os.write(unnamed, b"was unnamed")
os.link(f"/proc/self/fd/{unnamed}", "named.py", src_dir_fd=unnamed)
number = {"x86_64": 316, "aarch64": 276}[os.uname().machine]
assert ctypes.CDLL(None).syscall(number, -100, b"one.py", -100, b"other", 2) == 0
"""
STEPS = [
    f"echo more >> app.py && {GIT} add -A && {GIT} commit -qm one",
    f"{GIT} mv app.py main.py && {GIT} commit -qm two && {GIT} gc -q && {GIT} checkout -q HEAD~1",
    f"{GIT} stash -q -u || true; {GIT} checkout -q -b other",
    "sed -i s/x/y/ sed.py; chmod 600 sed.py; touch -d @9 sed.py",
    "tar cf packed.tar packed && rm -r packed && tar xf packed.tar && chmod -R g-w packed",
    "cp -a packed again; mv again/a.py again/b.py; mkfifo pipe; ln -s pipe l",
    "printf 'Z' | dd of=dd.py conv=notrunc status=none; truncate -s 1 cut.py; rm -f gone.py",
    f"cat > /tmp/work.py <<'END'\n{IN_PYTHON}END\npython3 /tmp/work.py",
]
NAMES = (
    "app.py sed.py packed/a.py packed/keep.py tree/deep/er/a.py tree/b.py replaced.py mapped.py"
    " inherited.py linked.py held.py one.py other/a.py dd.py cut.py gone.py"
)


def test_the_ledger_accounts_for_all_that_tools_do(play: Play, studio: Studio) -> None:
    steps = [{"run": step, "stop_on_failure": True} for step in STEPS]
    team = studio.team(verifier={"steps": steps, "verdict": "reject"})
    task = studio.task(files={name: f"x of {name}\n" for name in NAMES.split()})
    episode = play(team, task, "prompt-only")
    phase = episode.phase("verifier")
    transcript = (episode.directory / "transcripts" / "01-verifier.jsonl").read_text()
    assert transcript.count('"returncode": 0') == len(STEPS), transcript
    assert phase["changed"]["cross_role"] > 50
    assert [c for c in phase["changes"] if not c["attributed"]] == []
    assert phase["attempts"]["unattributed"] == 0
    assert episode.attempts(effect="mode", kind="edit", paths=["/workspace/held-2 (deleted)"])
    assert [a for a in episode.attempts(effect="link", kind="edit") if "named.py" in a["paths"][1]]
