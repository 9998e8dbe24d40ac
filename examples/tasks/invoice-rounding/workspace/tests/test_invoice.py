from invoice import total


def test_one_line():
    assert total([("100.00", "19")]) == "119.00"


def test_half_a_cent():
    assert total([("1.50", "3")]) == "1.55"
    assert total([("2.50", "1")]) == "2.53"


def test_two_rates():
    assert total([("10.00", "19"), ("10.00", "7")]) == "22.60"
