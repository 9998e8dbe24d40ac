import json

from consumer import Payment, read
from producer import message


def test_the_consumer_reads_what_the_producer_writes():
    assert read(message("p1", 1999, "SEK")) == Payment("p1", 1999, "SEK")


def test_messages_have_version_2():
    assert json.loads(message("p1", 1999)) == {
        "v": 2,
        "id": "p1",
        "amount_cents": 1999,
        "currency": "EUR",
    }


def test_version_1_is_still_read():
    assert read('{"id": "p1", "amount": 12.5}') == Payment("p1", 1250, "EUR")
