from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest

from rolewall.errors import RecordError, StorageError
from rolewall.policies import Ledger, LedgerTail, read_ledger, verify_ledger
from rolewall.policies.ledger import LINE_MAX, ZERO


def note(number: int) -> dict[str, object]:
    return {"type": "note", "text": f"line {number}"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    with Ledger(path) as ledger:
        for number in range(1, 6):
            assert ledger.append(note(number)) == number
    return path


def test_a_new_ledger_is_empty_and_verifies(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a") as ledger:
        assert (ledger.head, ledger.lines) == (ZERO, 0)
    assert verify_ledger(tmp_path / "a", head=ZERO, lines=0).lines == 0


def test_lines_are_chained_and_canonical(path: Path) -> None:
    check = verify_ledger(path)
    assert check.lines == 5
    assert check.types["note"] == 5
    lines = list(read_ledger(path))
    assert [line["seq"] for line in lines] == [1, 2, 3, 4, 5]
    assert lines[0]["prev"] == ZERO
    assert verify_ledger(path, head=check.head, lines=5) == check


def test_opening_continues_the_chain(path: Path) -> None:
    before = verify_ledger(path)
    with Ledger(path) as ledger:
        assert (ledger.head, ledger.lines) == (before.head, 5)
        assert ledger.append(note(6)) == 6
        head = ledger.head
    assert verify_ledger(path, head=head, lines=6).lines == 6


def test_every_flipped_byte_is_found(path: Path) -> None:
    whole = path.read_bytes()
    head = verify_ledger(path).head
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(RecordError):
            verify_ledger(path, head=head, lines=5)
    path.write_bytes(whole)
    assert verify_ledger(path, head=head, lines=5).lines == 5


def test_the_broken_line_is_named(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2].replace(b"line 3", b"line X"), *lines[3:]]))
    with pytest.raises(RecordError) as caught:
        verify_ledger(path)
    assert caught.value.place == f"{path}:4"


@pytest.mark.parametrize("keep", [slice(1, None), slice(0, 4), slice(0, 0)])
def test_removed_lines_are_found(path: Path, keep: slice) -> None:
    head = verify_ledger(path).head
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[keep]))
    with pytest.raises(RecordError):
        verify_ledger(path, head=head, lines=5)


@pytest.mark.parametrize(
    "tail",
    [b'{"half', b"not json\n", b"[]\n", b'{"type":"x"}\n', b"\xff\n", b"[" * 5000 + b"\n",
     b"x" * LINE_MAX + b"\n"],
)  # fmt: skip
def test_junk_is_refused_at_its_line(path: Path, tail: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(tail)
    for use in (verify_ledger, Ledger):
        with pytest.raises(RecordError) as caught:
            use(path)
        assert caught.value.place == f"{path}:6"


def test_a_rewritten_form_of_the_same_line_is_refused(path: Path) -> None:
    first, *rest = path.read_bytes().splitlines(keepends=True)
    spaced = json.dumps(json.loads(first)).encode() + b"\n"
    path.write_bytes(b"".join([spaced, *rest]))
    with pytest.raises(RecordError, match="canonical"):
        verify_ledger(path)


def test_one_writer_at_a_time(path: Path) -> None:
    with Ledger(path), pytest.raises(RecordError, match="another"):
        Ledger(path)
    with Ledger(path) as ledger:
        assert ledger.lines == 5


def test_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(StorageError):
        Ledger(link)


def test_a_missing_file_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot read"):
        verify_ledger(tmp_path / "none")


def test_an_unknown_type_and_a_long_line_are_not_written(path: Path) -> None:
    with Ledger(path) as ledger:
        with pytest.raises(RecordError, match="line type"):
            ledger.append({"type": "gossip"})
        with pytest.raises(RecordError, match="too long"):
            ledger.append({"type": "note", "text": "x" * LINE_MAX})
        assert ledger.append(note(6)) == 6
    assert verify_ledger(path).lines == 6


def test_a_write_that_does_not_fit_leaves_a_whole_ledger(path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Ledger(path) as ledger:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, limits[1]))
        try:
            with pytest.raises(StorageError):
                ledger.append(note(6))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert ledger.append(note(6)) == 6
    assert verify_ledger(path).lines == 6


def test_a_place_that_cannot_be_written_is_one_message() -> None:
    with pytest.raises(StorageError, match="cannot open"):
        Ledger(Path("/proc/rolewall-ledger"))


def test_what_is_no_regular_file_is_refused_and_not_waited_for(path: Path) -> None:
    head = verify_ledger(path).head
    aside = path.with_name("aside")
    path.rename(aside)
    for make in (lambda: os.mkfifo(path), path.mkdir, lambda: path.symlink_to(aside)):
        make()
        with pytest.raises(RecordError):
            verify_ledger(path)
        with pytest.raises(RecordError):
            list(read_ledger(path))
        with pytest.raises((RecordError, StorageError)):
            Ledger(path)
        path.rmdir() if path.is_dir() else path.unlink()
    aside.rename(path)
    assert verify_ledger(path).head == head


def test_a_tail_reads_each_line_once_and_holds_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Ledger(path) as ledger:
        tail = LedgerTail(path)
        assert list(tail.read()) == []
        for count in (3, 0, 2):
            for n in range(count):
                ledger.append({"type": "note", "text": str(n)})
            assert [line["text"] for line in tail.read()] == [str(n) for n in range(count)]
            assert (tail.offset, tail.lines, tail.head) == (ledger.size, ledger.lines, ledger.head)
    first, *_ = path.read_bytes().splitlines(keepends=True)
    with path.open("ab") as file:
        file.write(first)
    with pytest.raises(RecordError, match=r"a:6: wrong sequence number"):
        list(tail.read())


def test_a_known_end_is_continued_only_where_the_file_ends_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Ledger(path) as known:
        known.append({"type": "note", "text": "one"})
    with Ledger(path, known) as ledger:
        ledger.append({"type": "note", "text": "two"})
    assert verify_ledger(path).lines == 2
    with Ledger(path, known) as ledger:  # it has grown since: verified anew
        ledger.append({"type": "note", "text": "three"})
    assert verify_ledger(path).lines == 3
    path.write_bytes(path.read_bytes().replace(b"two", b"owt"))
    with pytest.raises(RecordError):
        Ledger(path, known)
    # A change that keeps the length is found by whoever verifies the whole.
    with pytest.raises(RecordError):
        verify_ledger(path)
