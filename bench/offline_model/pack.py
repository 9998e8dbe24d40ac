"""What ``rolewall compare --replay`` needs of a run, in one small file.

    python bench/offline_model/pack.py RUN FILE.tar.xz

Descriptions, seals, records and the exchanges with the model; neither contents nor ledgers.
The same run gives the same bytes.
"""

from __future__ import annotations

import io
import lzma
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rolewall.rundir import open_run

__all__ = ["main", "pack"]

OF_RUN = ("run.json", "seal.json", "seals.jsonl")
OF_EPISODE = ("episode.json", "seal.json", "transcripts/*.exchanges.jsonl")


def main(arguments: Sequence[str] | None = None) -> int:
    paths = sys.argv[1:] if arguments is None else arguments
    if len(paths) != 2:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    data = pack(Path(paths[0]))
    Path(paths[1]).write_bytes(data)
    print(f"{paths[1]}: {len(data)} bytes")
    return 0


def pack(run: Path) -> bytes:
    """The bytes of a ``.tar.xz`` with ``recorded/`` in it.

    Raises:
        RecordError: ``run`` is no run, or was altered since it was sealed.
    """
    open_run(run)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in _needed(run):
            data = path.read_bytes()
            member = tarfile.TarInfo(f"recorded/{path.relative_to(run)}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return lzma.compress(made.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def _needed(run: Path) -> Iterator[Path]:
    yield from (run / name for name in OF_RUN)
    for episode in sorted((run / "episodes").iterdir()):
        for pattern in OF_EPISODE:
            yield from sorted(episode.glob(pattern))


if __name__ == "__main__":
    sys.exit(main())
