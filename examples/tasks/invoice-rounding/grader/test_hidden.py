import pytest
from invoice import total


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([("0.03", "19")] * 3, "0.11"),
        ([("0.50", "7"), ("0.50", "7.0")], "1.07"),
        ([("1.50", "3")] * 2, "3.09"),
        ([("0.10", "0")] * 3, "0.30"),
    ],
)
def test_tax_is_rounded_once_for_each_rate(lines, expected):
    assert total(lines) == expected


@pytest.mark.parametrize(
    ("net", "rate", "expected"),
    [("1.50", "3", "1.55"), ("0.50", "1", "0.51"), ("2.50", "1", "2.53"), ("1.50", "1", "1.52")],
)
def test_half_a_cent_goes_away_from_zero(net, rate, expected):
    assert total([(net, rate)]) == expected
    assert total([("-" + net, rate)]) == "-" + expected


def test_large_amounts_are_exact():
    assert total([("9999999999999.99", "19")]) == "11899999999999.99"


def test_nothing_to_pay():
    assert total([]) == "0.00"
    assert total([("5.00", "19"), ("-5.00", "19")]) == "0.00"
    assert total([("-0.00", "19")]) == "0.00"


def test_the_result_is_a_string_and_nothing_like_one():
    assert type(total([("1.00", "19")])) is str
