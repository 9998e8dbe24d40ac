"""Every point of the specification, on a database with rows."""

import sqlite3
from pathlib import Path

ROWS = [
    (1, "2024-01-01", 100, " A@x.org", "Old"),
    (2, "2024-01-01", 250, "a@X.org ", "New"),
    (3, "2024-01-02", 400, None, "Guest"),
    (4, "2024-01-03", 5, "  ", "Blank"),
    (9, "2024-01-03", 7, "b@x.org", "Bea"),
    (7, "2024-01-04", 8, "B@x.org", "Before"),
    (8, "2024-01-04", 9, "", None),
    (12, "2024-01-05", 3, "nameless@x.org", None),
]


def columns(base, table):
    query = f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')"
    return base.execute(query).fetchall()


base = sqlite3.connect(":memory:")
base.executescript(Path("schema.sql").read_text(encoding="utf-8"))
base.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", ROWS)
before = base.execute("SELECT * FROM revenue ORDER BY day").fetchall()
base.executescript(Path("migrate.sql").read_text(encoding="utf-8"))
base.commit()

wanted = [("id", "INTEGER", 0, 1), ("email", "TEXT", 1, 0), ("name", "TEXT", 1, 0)]
assert columns(base, "customers") == wanted, "customers has other columns (1)"
customers = dict(base.execute("SELECT email, name FROM customers"))
assert customers.pop("nameless@x.org", None) is not None, "an order without a name (1)"
assert customers == {"a@x.org": "New", "b@x.org": "Bea"}, f"customers are {customers} (1, 2)"
try:
    base.execute("INSERT INTO customers (email, name) VALUES ('a@x.org', 'Twice')")
except sqlite3.IntegrityError:
    base.rollback()
else:
    raise AssertionError("an address must be unique (1)")
names = [name for name, *_ in columns(base, "orders")]
assert sorted(names) == ["cents", "customer_id", "id", "placed"], f"orders has {names} (3)"
kept = base.execute("SELECT id, placed, cents FROM orders ORDER BY id").fetchall()
assert kept == sorted(row[:3] for row in ROWS), "an order was lost or changed (3, 4)"
keys = [row[2:5] for row in base.execute("PRAGMA foreign_key_list(orders)")]
assert keys == [("customers", "customer_id", "id")], f"foreign keys are {keys} (3)"
owners = dict(
    base.execute("SELECT o.id, c.email FROM orders o LEFT JOIN customers c ON c.id = o.customer_id")
)
assert owners == {
    1: "a@x.org",
    2: "a@x.org",
    3: None,
    4: None,
    7: "b@x.org",
    8: None,
    9: "b@x.org",
    12: "nameless@x.org",
}, f"orders belong to {owners} (2, 4)"
indexed = [
    base.execute(f"SELECT name FROM pragma_index_info('{row[1]}')").fetchall()[0][0]
    for row in base.execute("PRAGMA index_list(orders)").fetchall()
]
assert "customer_id" in indexed, "no index on orders(customer_id) (5)"
after = base.execute("SELECT * FROM revenue ORDER BY day").fetchall()
assert after == before, f"revenue is {after} (6)"
