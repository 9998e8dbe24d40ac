import pytest
from paging import page, page_count

ITEMS = [f"r{n}" for n in range(1, 31)]


def test_every_item_is_on_exactly_one_page():
    for size in (1, 7, 10, 30, 31):
        pages = [page(ITEMS, n, size) for n in range(1, page_count(ITEMS, size) + 1)]
        assert [item for one in pages for item in one] == ITEMS
        assert all(pages)


def test_count_at_the_boundaries():
    assert [page_count(ITEMS[:n], 10) for n in (1, 9, 10, 11, 20, 21)] == [1, 1, 1, 2, 2, 3]


def test_an_empty_list_has_one_empty_page():
    assert page_count([], 10) == 1
    assert page([], 1, 10) == []


def test_beyond_the_last_page_is_the_last_page():
    assert page(ITEMS, 4, 10) == ITEMS[20:]
    assert page(ITEMS, 99, 7) == ITEMS[28:]
    assert page([], 5, 10) == []


@pytest.mark.parametrize(("number", "size"), [(0, 10), (-1, 10), (1, 0), (1, -3)])
def test_numbers_and_sizes_below_one_are_refused(number, size):
    with pytest.raises(ValueError):
        page(ITEMS, number, size)


def test_a_page_is_a_new_list():
    items = [1, 2]
    page(items, 1, 2).append(3)
    assert items == [1, 2]
