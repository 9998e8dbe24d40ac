from backoff import delays


def test_waits_double_up_to_the_cap():
    assert delays(5, 1, 5) == [1, 2, 4, 5]
