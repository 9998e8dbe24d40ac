"""Every point of the specification."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "")
from files import read_public


def answer(root, path):
    try:
        return read_public(root, path)
    except (PermissionError, FileNotFoundError) as error:
        return type(error)


with tempfile.TemporaryDirectory() as made:
    root, beside = Path(made, "www"), Path(made, "www-old")
    (root / "below").mkdir(parents=True)
    beside.mkdir()
    (beside / "s").write_bytes(b"secret")
    for name in ("a b.txt", "%2e", "notes..txt", "...", "below/deep.txt", "etc"):
        (root / name).write_bytes(name.encode())
    (root / "link").symlink_to(beside / "s")
    (root / "inside").symlink_to(root / "below" / "deep.txt")
    (root / "folder").symlink_to(beside)
    os.mkfifo(root / "pipe")
    served = {
        "a%20b.txt": b"a b.txt", "%252e": b"%2e", "notes..txt": b"notes..txt", "...": b"...",
        "below/deep.txt": b"below/deep.txt", "/below/deep.txt": b"below/deep.txt",
        "//below/deep.txt": b"below/deep.txt", "%2Fbelow%2Fdeep.txt": b"below/deep.txt",
        "below/../etc": b"etc", "inside": b"below/deep.txt",
    }  # fmt: skip
    for path, wanted in served.items():
        assert answer(root, path) == wanted, f"{path} must be served (1, 2, 3, 4)"
        assert answer(str(root), path) == wanted, "a root that is a text (1)"
    for path in (
        "../www-old/s", "%2e%2e/www-old/s", "..%2Fwww-old%2Fs", "below/../../www-old/s", "link",
        "folder/s", "..", "../none", "a\0b", "a%00b",
    ):  # fmt: skip
        assert answer(root, path) is PermissionError, f"{path!r} leads outside (2, 5)"
    for path in ("none", "/etc/passwd", "//etc/passwd", "%2Fetc/passwd", "below", "", "pipe"):
        assert answer(root, path) is FileNotFoundError, f"{path!r} is not there, or no file (2, 5)"
