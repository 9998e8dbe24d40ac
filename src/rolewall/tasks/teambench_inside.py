"""What runs in the box that makes a generated task: standard library only, Python 3.9 or
newer, no ``rolewall``.

    python3 generate.py MODULE SEED

calls the task's generator as TeamBench's runner does. The box is thrown away afterwards,
and what lies in its three zones is not believed, but looked at like any stranger's files.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

BENCH, WORKSPACE, REPORTS, TOLD = "/bench", "/workspace", "/reports", "/told"
LIBRARIES = "/rolewall/lib"


def main(module: str, seed: int) -> None:
    sys.path.insert(0, BENCH)
    sys.path.append(LIBRARIES)
    generator = importlib.import_module(module).Generator()
    made = generator.generate(seed=seed)
    generator.write_to_disk(made, workspace_dir=WORKSPACE, reports_dir=REPORTS)
    for name, text in (("spec.md", made.spec_md), ("brief.md", made.brief_md)):
        Path(TOLD, name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
