import json
from pathlib import Path


def test_the_new_search_reaches_a_quarter():
    flags = json.loads(Path("flags.json").read_text(encoding="utf-8"))
    assert flags["search"]["variants"]["new"] == 25
