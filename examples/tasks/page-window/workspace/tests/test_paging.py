from paging import page, page_count

ITEMS = list(range(1, 24))


def test_first_page_starts_with_the_first_item():
    assert page(ITEMS, 1, 10) == list(range(1, 11))


def test_last_page_holds_the_rest():
    assert page(ITEMS, 3, 10) == [21, 22, 23]


def test_count_of_a_full_and_of_a_partial_last_page():
    assert page_count(ITEMS[:20], 10) == 2
    assert page_count(ITEMS, 10) == 3
