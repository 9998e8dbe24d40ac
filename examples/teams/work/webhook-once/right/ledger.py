"""Balances by account, in SQLite."""

import sqlite3

TABLES = """
CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, cents INTEGER);
CREATE TABLE IF NOT EXISTS events (event TEXT PRIMARY KEY, account TEXT, cents INTEGER);
"""


class Ledger:
    """Balances in the file `path`."""

    def __init__(self, path):
        self._base = sqlite3.connect(path, timeout=30)
        self._base.executescript(TABLES)

    def open_account(self, name):
        with self._base:
            self._base.execute("INSERT OR IGNORE INTO accounts VALUES (?, 0)", (name,))

    def apply(self, event, account, cents):
        """Book `cents` on `account` for `event`; return whether it was booked.

        The event and the balance change in one transaction, or not at all.
        """
        with self._base:
            booked = self._base.execute(
                "INSERT OR IGNORE INTO events VALUES (?, ?, ?)", (event, account, cents)
            )
            if not booked.rowcount:
                self._check_repetition(event, account, cents)
                return False
            changed = self._base.execute(
                "UPDATE accounts SET cents = cents + ? WHERE name = ?", (cents, account)
            )
            if not changed.rowcount:
                raise KeyError(account)
        return True

    def _check_repetition(self, event, account, cents):
        query = "SELECT account, cents FROM events WHERE event = ?"
        if self._base.execute(query, (event,)).fetchone() != (account, cents):
            raise ValueError(f"event {event} was booked with other contents")

    def balance(self, account):
        row = self._base.execute("SELECT cents FROM accounts WHERE name = ?", (account,)).fetchone()
        if row is None:
            raise KeyError(account)
        return row[0]
