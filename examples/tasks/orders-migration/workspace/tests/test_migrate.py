import sqlite3
from pathlib import Path


def migrated():
    base = sqlite3.connect(":memory:")
    base.executescript(Path("schema.sql").read_text(encoding="utf-8"))
    base.executemany(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?)",
        [
            (1, "2024-05-01", 500, "ana@example.org", "Ana"),
            (2, "2024-05-01", 700, "bo@example.org", "Bo"),
            (3, "2024-05-02", 900, "ana@example.org", "Ana"),
        ],
    )
    base.executescript(Path("migrate.sql").read_text(encoding="utf-8"))
    return base


def test_one_customer_for_each_address():
    found = migrated().execute("SELECT email, name FROM customers ORDER BY email").fetchall()
    assert found == [("ana@example.org", "Ana"), ("bo@example.org", "Bo")]


def test_orders_refer_to_customers():
    found = migrated().execute(
        "SELECT o.id, c.name, o.cents FROM orders o JOIN customers c ON c.id = o.customer_id"
        " ORDER BY o.id"
    )
    assert found.fetchall() == [(1, "Ana", 500), (2, "Bo", 700), (3, "Ana", 900)]
