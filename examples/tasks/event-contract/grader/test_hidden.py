import json

import pytest
from consumer import Payment, read
from producer import message


@pytest.mark.parametrize(
    ("amount", "cents"),
    [("19.99", 1999), ("1.15", 115), ("0.29", 29), ("4.35", 435), ("7", 700), ("-1.1", -110)],
)
def test_amounts_of_version_1_are_exact(amount, cents):
    assert read(f'{{"id": "p", "amount": {amount}}}') == Payment("p", cents, "EUR")


def test_every_amount_survives_the_way():
    for cents in (0, 1, 99, 115, 10**15 + 1, -50):
        assert read(message("p", cents, "SEK")) == Payment("p", cents, "SEK")


def test_only_version_2_is_written():
    assert set(json.loads(message("p", 1))) == {"v", "id", "amount_cents", "currency"}


def test_fields_of_the_future_are_ignored():
    text = '{"v": 2, "id": "p", "amount_cents": 5, "currency": "EUR", "amount": 9.9, "note": 1}'
    assert read(text) == Payment("p", 5, "EUR")


@pytest.mark.parametrize(
    "text",
    [
        '{"v": 3, "id": "p", "amount_cents": 5, "currency": "EUR"}',
        '{"v": 2, "id": "p", "currency": "EUR"}',
        '{"v": 2, "id": "p", "amount": 1.0}',
        '{"id": "p"}',
        "[]",
        "nothing",
    ],
)
def test_other_messages_are_refused(text):
    with pytest.raises(ValueError):
        read(text)


@pytest.mark.parametrize("cents", [1.5, "5", True, None])
def test_cents_are_whole_numbers(cents):
    with pytest.raises(ValueError):
        message("p", cents)
