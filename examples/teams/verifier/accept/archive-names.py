"""Points 1, 3 and 5 of the specification."""

import subprocess
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as made:
    source, target = Path(made, "in"), Path(made, "out")
    source.mkdir()
    names = {" blank first.log", "back\\slash.log", "new\nline.log"}
    for name in names:
        (source / name).write_text(name)
    (source / "link.log").symlink_to("/etc/hostname")
    run = ["sh", "collect.sh", str(source), str(target)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=20, check=False)
    found = {path.name for path in target.iterdir()}
    assert found == names, f"copied: {sorted(found)}"
    assert done.stdout.endswith("3 files\n"), done.stdout
    run[2] = str(source / "none")
    missing = subprocess.run(run, capture_output=True, timeout=20, check=False)
    assert missing.returncode == 2, "a missing source must give exit 2"
