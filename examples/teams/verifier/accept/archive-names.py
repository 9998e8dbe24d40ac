"""Every point of the specification."""

import subprocess
import tempfile
from pathlib import Path

NAMES = [
    " blank first.log", "blank last .log", "back\\slash.log", "new\nline.log", "*.log", "-n.log",
    "'quote\".log", ".log", "deep er/-x/a.log", "$HOME.log",
]  # fmt: skip


def collect(*paths):
    run = ["sh", "collect.sh", *map(str, paths)]
    return subprocess.run(run, capture_output=True, text=True, timeout=20, check=False)


def files(root):
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() or p.is_symlink()}


with tempfile.TemporaryDirectory() as made:
    source, target = Path(made, "in put"), Path(made, "out put", "below")
    for name in (*NAMES, "no log.txt", "x.log.gz"):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (source / "link.log").symlink_to("/etc/hostname")
    (source / "folder.log").mkdir()
    (source / "linked").symlink_to(source / "deep er")
    done = collect(source, target)
    assert done.returncode == 0, done.stderr
    assert files(target) == set(NAMES), f"copied: {sorted(files(target))} (1, 2, 3)"
    assert all((target / name).read_text() == name for name in NAMES), "contents (1)"
    assert done.stdout.splitlines()[-1] == f"{len(NAMES)} files", done.stdout
    done = collect(f"{source}/", Path(made, "again"))
    assert files(Path(made, "again")) == set(NAMES), "a SOURCE that ends in / (2)"
    assert done.stdout.splitlines()[-1] == f"{len(NAMES)} files", done.stdout
    Path(made, "empty").mkdir()
    done = collect(Path(made, "empty"), Path(made, "nothing"))
    assert done.stdout.splitlines()[-1] == "0 files", f"nothing to copy (4): {done.stdout}"
    for number, bad in enumerate((Path(made, "none"), source / ".log")):
        never = Path(made, f"never{number}")
        done = collect(bad, never)
        assert done.returncode == 2 and done.stderr, "no directory: a message, exit 2 (5)"
        assert not never.exists(), "TARGET is not made (5)"
