"""One population: what is counted of a calibration is the same wherever it is counted."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import InputError
from rolewall.gate import decide
from rolewall.gaterules import Rules
from rolewall.rows import Row

if TYPE_CHECKING:
    from conftest import Cli, Studio
    from tests.calibrate.conftest import Calibrate, Calibrated, Solved

HALF = Rules(max_false_approval=0.5)
ATTESTED = """import os, sys
sys.path.insert(0, "/workspace")
from sign import sign
right = [sign(x) for x in (-2, -1, 0, 1, 2)] == [-1, -1, 0, 1, 1]
right &= open(b"/workspace/\\xff.py").read() == "A = 1\\n"
sys.exit(not (right and os.path.exists("/submission/attestation.json")))
"""
EYES = """import json, re, sys
sys.path.insert(0, "/workspace")
try:
    from sign import sign
    right = [sign(x) for x in (-2, -1, 0, 1, 2)] == [-1, -1, 0, 1, 1]
except Exception:
    right = False
nonce = re.search(r'"nonce": "([0-9a-f]{32})"', open(sys.argv[1]).read())[1]
said = {"schema_version": 1, "nonce": nonce, "verdict": "approve" if right else "reject",
        "checks": [], "commands": []}
json.dump(said, open("/verdict/verdict.json", "w"))
"""


@pytest.fixture(scope="module")
def made(
    calibrate: Calibrate, tmp_path_factory: pytest.TempPathFactory
) -> Calibrated:
    """Two mutants and the untouched workspace of one task, beside two styles of report."""
    from tests.conftest import Studio as Made  # noqa: PLC0415

    raise NotImplementedError(Made, sys, calibrate, tmp_path_factory)
