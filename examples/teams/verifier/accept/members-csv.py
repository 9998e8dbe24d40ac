"""The specification, done again from members.csv and compared byte by byte."""

import csv
import datetime
import io
from pathlib import Path


def text_of(name):
    return Path(name).read_bytes().decode("utf-8")


def day_of(text):
    for form in ("%d/%m/%Y", "%Y-%m-%d"):
        try:
            return datetime.datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    return None


def written(rows):
    made = io.StringIO()
    writer = csv.DictWriter(made, ["id", "name", "email", "phone", "joined"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: int(row["id"])))
    return made.getvalue()


members, rejected = {}, []
for raw in csv.DictReader(io.StringIO(text_of("members.csv"))):
    row = {name: value.strip() for name, value in raw.items()}
    clean = {**row, "email": row["email"].lower(), "joined": day_of(row["joined"])}
    if not clean["email"] or clean["joined"] is None:
        rejected.append(row)
        continue
    known = members.get(clean["email"])
    if known is None or known["joined"] < clean["joined"]:
        members[clean["email"]] = clean
assert text_of("clean.csv") == written(members.values()), "clean.csv is not what points 1 to 4 make"
assert text_of("rejected.csv") == written(rejected), "rejected.csv is not what point 5 makes"
