"""Compare both files with the truth, row by row; quoting is free."""

import csv
import io
import sys
from pathlib import Path

HERE = Path(__file__).parent


def rows(path):
    text = path.read_bytes().decode("utf-8")
    if "\r" in text:
        raise ValueError("lines do not end in a plain newline")
    return list(csv.reader(io.StringIO(text), strict=True))


def problems(name):
    try:
        found = rows(Path(name))
    except (OSError, ValueError, csv.Error) as error:
        return [f"{name}: {error}"]
    expected = rows(HERE / name)
    if found == expected:
        return []
    return [f"{name}: {len(found)} rows found, {len(expected)} expected, or they differ"]


def main():
    found = problems("clean.csv") + problems("rejected.csv")
    for line in found:
        print(line)
    return 1 if found else 0


sys.exit(main())
