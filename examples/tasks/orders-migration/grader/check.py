"""Run the migration over rows it has not seen; exit 0 if the result meets the specification.

The work is SQL and is run here, so statements that reach other files are refused.
"""

import sqlite3
import sys
from pathlib import Path

ROWS = [
    (1, "2024-05-01", 500, "Ana@Example.org", "Ana"),
    (2, "2024-05-01", 700, " bo@example.org ", "Bo Lind"),
    (3, "2024-05-02", 900, "ana@example.org", "Ana Flores"),
    (5, "2024-05-02", 100, None, "Guest"),
    (8, "2024-05-03", 200, "  ", None),
    (9, "2024-05-03", 300, "BO@example.org", "Bo"),
]
CUSTOMERS = [("ana@example.org", "Ana Flores"), ("bo@example.org", "Bo")]
ORDERS = [
    (1, "2024-05-01", 500, "ana@example.org"),
    (2, "2024-05-01", 700, "bo@example.org"),
    (3, "2024-05-02", 900, "ana@example.org"),
    (5, "2024-05-02", 100, None),
    (8, "2024-05-03", 200, None),
    (9, "2024-05-03", 300, "bo@example.org"),
]
JOINED = (
    "SELECT o.id, o.placed, o.cents, c.email FROM orders o"
    " LEFT JOIN customers c ON c.id = o.customer_id ORDER BY o.id"
)


def guard(action, *_):
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


CUSTOMERS_TABLE = [("id", "INTEGER", 0, 1), ("email", "TEXT", 1, 0), ("name", "TEXT", 1, 0)]


def layout(base, table):
    """Name, type, NOT NULL and primary key of each column."""
    rows = base.execute(f"PRAGMA table_info({table})")
    return [(row[1], row[2].upper(), row[3], row[5]) for row in rows]


def columns(base, table):
    return sorted(row[1] for row in base.execute(f"PRAGMA table_info({table})"))


def indexed(base):
    names = [row[1] for row in base.execute("PRAGMA index_list(orders)")]
    return [[row[2] for row in base.execute(f"PRAGMA index_info({name})")] for name in names]


def unique(base):
    try:
        base.execute("INSERT INTO customers (email, name) VALUES ('ana@example.org', 'x')")
    except sqlite3.IntegrityError:
        return True
    return False


def problems(base, revenue):
    keys = base.execute("PRAGMA foreign_key_list(orders)").fetchall()
    if base.in_transaction:
        yield "a transaction is left open"
    if sorted(layout(base, "customers")) != sorted(CUSTOMERS_TABLE):
        yield "customers has other columns"
    if columns(base, "orders") != ["cents", "customer_id", "id", "placed"]:
        yield "orders has other columns"
    if [(key[2], key[3], key[4]) for key in keys] != [("customers", "customer_id", "id")]:
        yield "no foreign key from orders to customers"
    if base.execute("SELECT email, name FROM customers ORDER BY email").fetchall() != CUSTOMERS:
        yield "customers differ"
    if base.execute(JOINED).fetchall() != ORDERS:
        yield "orders differ"
    if ["customer_id"] not in indexed(base):
        yield "no index on orders(customer_id)"
    if base.execute("SELECT day, cents FROM revenue ORDER BY day").fetchall() != revenue:
        yield "the view revenue differs"
    if not unique(base):
        yield "an address may occur twice"


def main():
    base = sqlite3.connect(":memory:", isolation_level=None)
    schema = Path(__file__).with_name("schema.sql")
    base.executescript(schema.read_text(encoding="utf-8"))
    base.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", ROWS)
    revenue = base.execute("SELECT day, cents FROM revenue ORDER BY day").fetchall()
    base.set_authorizer(guard)
    try:
        base.executescript(Path("migrate.sql").read_text(encoding="utf-8"))
        found = list(problems(base, revenue))
    except (OSError, UnicodeDecodeError, ValueError, sqlite3.Error) as error:
        found = [f"migrate.sql: {error}"]
    for line in found:
        print(line)
    return 1 if found else 0


sys.exit(main())
