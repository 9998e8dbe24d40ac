"""Patches without line numbers."""

from __future__ import annotations

import pytest

from rolewall.roles.patches import changed, parse_patch

TEXT = "def a():\n    return 1\n\n\ndef b():\n    return 1\n"


def patched(text: str, *body: str) -> str:
    lines = ["*** Begin Patch", "*** Update File: f", *body, "*** End Patch"]
    (file,) = parse_patch("\n".join(lines))
    return changed(text, file.hunks)


def test_a_hunk_finds_its_place_by_its_lines() -> None:
    assert patched(TEXT, "@@", "-    return 1", "+    return 2") == TEXT.replace("1", "2", 1)
    second = "def b():\n    return 2\n"
    assert patched(TEXT, "@@ def b():", "-    return 1", "+    return 2").endswith(second)
    assert patched(TEXT, " def b():", "-    return 1", "+    return 2").endswith(second)


def test_hunks_come_one_after_the_other() -> None:
    body = ["@@", "-    return 1", "+    return 2"]
    assert patched(TEXT, *body, *body) == TEXT.replace("1", "2")


def test_the_end_of_the_file_can_be_meant() -> None:
    found = patched(TEXT, "@@", "-    return 1", "+    return 2", "*** End of File")
    assert found == "def a():\n    return 1\n\n\ndef b():\n    return 2\n"


def test_lines_alone_are_added_at_the_end() -> None:
    assert patched(TEXT, "@@", "+", "+x = 1") == TEXT + "\nx = 1\n"


def test_other_blanks_are_no_other_lines() -> None:
    assert patched("a  \nb\n", "@@", "-a", "+c", " b") == "c\nb\n"
    assert patched("  a\nb\n", "@@", "-a", "+c") == "c\nb\n"


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(ValueError, match="no such lines: 'nowhere'"):
        patched(TEXT, "@@", "-nowhere", "+x")
    with pytest.raises(ValueError, match="no such lines"):
        patched(TEXT, "@@ class C:", "-    return 1", "+x")


def test_files_are_added_deleted_and_moved() -> None:
    text = "\n".join([
        "*** Begin Patch", "*** Add File: new/a b", "+one", "+", "*** Delete File: old",
        "*** Update File: from", "*** Move to: to", "@@", "-x", "+y",
        "*** Update File: moved", "*** Move to: only", "*** End Patch",
    ])  # fmt: skip
    added, deleted, both, moved = parse_patch(text)
    assert (added.path, added.added) == ("new/a b", "one\n\n")
    assert deleted.deleted and deleted.path == "old"
    assert (both.path, both.to, both.deleted) == ("from", "to", False)
    assert changed("x\n", both.hunks) == "y\n"
    assert (moved.to, moved.hunks, moved.deleted) == ("only", (), False)


WRONG = {
    "nothing": "",
    "no end": "*** Begin Patch\n*** Delete File: a",
    "no file": "*** Begin Patch\n*** End Patch",
    "no name": "*** Begin Patch\n*** Delete File: \n*** End Patch",
    "an unknown head": "*** Begin Patch\n*** Copy File: a\n*** End Patch",
    "a line of no kind": "*** Begin Patch\n*** Update File: a\n@@\nx\n*** End Patch",
    "no line of a new file": "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
    "lines of a deleted file": "*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch",
    "an update of nothing": "*** Begin Patch\n*** Update File: a\n*** End Patch",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_is_no_patch_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_patch(text)
