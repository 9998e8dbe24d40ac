"""Point 2 of the specification."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "")
from files import read_public


def refused(root, path):
    try:
        read_public(root, path)
    except PermissionError:
        return True
    return False


with tempfile.TemporaryDirectory() as made:
    root, beside = Path(made, "www"), Path(made, "www-old")
    root.mkdir()
    beside.mkdir()
    (beside / "s").write_text("secret")
    (root / "link").symlink_to(beside / "s")
    assert refused(root, "../www-old/s"), "a directory with the same beginning was read"
    assert refused(root, "link"), "a link out of the root was followed"
