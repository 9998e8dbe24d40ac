"""Every point of the specification, number by number."""

import sys

sys.path.insert(0, "")
from paging import page, page_count


def refused(call, *arguments):
    try:
        call(*arguments)
    except ValueError:
        return True
    return False


letters = list("abcdefg")
assert page(letters, 1, 3) == ["a", "b", "c"], "page 1 starts with the first item (1)"
for length in range(8):
    for size in range(1, 9):
        items = letters[:length]
        pages = [page(items, n, size) for n in range(1, page_count(items, size) + 1)]
        assert [item for cut in pages for item in cut] == items, "each item once, in order (1, 2)"
        assert all(len(cut) == size for cut in pages[:-1]), "only the last page is short (2)"
        assert pages[-1] or not items, "no empty page at the end (2)"
assert page_count([], 5) == 1 and page([], 1, 5) == [], "an empty list has one empty page (3)"
assert page([1, 2, 3], 9, 2) == [3], "beyond the last page is the last page (4)"
for number in (0, -1):
    assert refused(page, [1], number, 1), f"page {number} must be refused (5)"
for size in (0, -1):
    assert refused(page, [1], 1, size), f"size {size} must be refused (5)"
    assert refused(page_count, [1], size), f"size {size} must be refused (5)"
assert page(letters, 1, 7) is not letters, "a new list (6)"
page(letters, 2, 3).clear()
assert letters == list("abcdefg"), "items stay as they are (6)"
