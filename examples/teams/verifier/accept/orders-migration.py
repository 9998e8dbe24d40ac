"""Points 2, 4 and 5 of the specification."""

import sqlite3
from pathlib import Path

base = sqlite3.connect(":memory:")
base.executescript(Path("schema.sql").read_text(encoding="utf-8"))
rows = [(1, "d", 1, "A@x.org", "Old"), (2, "d", 2, "a@x.org", "New"), (3, "d", 4, None, "Guest")]
base.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", rows)
base.executescript(Path("migrate.sql").read_text(encoding="utf-8"))
customers = base.execute("SELECT email, name FROM customers").fetchall()
assert customers == [("a@x.org", "New")], f"customers are {customers}"
orders = base.execute("SELECT id, customer_id IS NULL FROM orders ORDER BY id").fetchall()
assert orders == [(1, 0), (2, 0), (3, 1)], f"orders are {orders}"
assert base.execute("PRAGMA index_list(orders)").fetchall(), "no index on orders(customer_id)"
