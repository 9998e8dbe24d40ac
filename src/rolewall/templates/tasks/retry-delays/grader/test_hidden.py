import pytest
from backoff import delays


def test_one_wait_fewer_than_attempts():
    assert [len(delays(n, 1, 60)) for n in (1, 2, 10)] == [0, 1, 9]


def test_the_cap_holds_from_the_first_wait_on():
    assert delays(4, 8, 5) == [5, 5, 5]
    assert delays(4, 0.5, 1.5) == [0.5, 1.0, 1.5]


@pytest.mark.parametrize(("attempts", "base"), [(0, 1), (-1, 1), (3, 0), (3, -1)])
def test_nonsense_is_refused(attempts, base):
    with pytest.raises(ValueError):
        delays(attempts, base, 10)


def test_many_attempts():
    assert set(delays(2000, 0.1, 30)[20:]) == {30}
