"""A machine that runs out of something: an error of the toolkit's, and nothing left behind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rolewall.sandbox import Backend

# Opens boxes with room for ever more descriptors, until one works, and runs a command.
SCARCE = """
import gc, json, os, resource, sys, tempfile
from pathlib import Path
from rolewall.errors import InfrastructureError
from rolewall.policies import HostPort
from rolewall.sandbox import BoxSpec, Listen, ZoneMount, find_backend, open_box
from rolewall.sandbox.kit import kits_directory

def state():
    gc.collect()
    kits = [p.name for p in kits_directory().iterdir() if f"-{os.getpid()}-" in p.name]
    open_files = sorted(os.readlink(f"/proc/self/fd/{n}").split(":")[0]
                        for n in map(int, os.listdir("/proc/self/fd"))
                        if os.path.exists(f"/proc/self/fd/{n}"))
    return [kits, open_files]

zone = tempfile.TemporaryDirectory()
backend = find_backend(sys.argv[1])
spec = BoxSpec(label="scarce", mounts=(ZoneMount("workspace", Path(zone.name), True),), tap=False,
               listen=(Listen("abstract", "a"),), allow=(HostPort("localhost", 8080),))
open_box(backend, spec).close()
before, said = state(), []
most = resource.getrlimit(resource.RLIMIT_NOFILE)
used = len(os.listdir("/proc/self/fd")) - 1
for room in range(0, 60, 3):
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + room, most[1]))
    try:
        with open_box(backend, spec) as box:
            done = box.run(["echo", "works"])
        said.append(done.stdout.text().strip())
    except InfrastructureError as error:
        said.append(type(error).__name__)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    after = state()
    if said[-1] == "works" or (after != before and sys.argv[1] == "bubblewrap"):
        break
print(json.dumps([said, before, after]))
"""


@pytest.mark.root
def test_out_of_descriptors(backend: Backend) -> None:
    argv = [sys.executable, "-c", SCARCE, backend.name]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said, before, after = json.loads(done.stdout)
    if backend.name == "bubblewrap":  # docker's library keeps connections, and so descriptors
        assert after == before, said
    assert said[-1] == "works"
    assert len(said) > 1
    assert set(said[:-1]) <= {"BoxError", "StorageError", "BackendUnavailable"}
