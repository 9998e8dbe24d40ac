"""Balances by account, in SQLite."""

import sqlite3


class Ledger:
    """Balances in the file `path`."""

    def __init__(self, path):
        self._booked = set()
        self._base = sqlite3.connect(path, timeout=30)
        with self._base:
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, cents INTEGER)"
            )

    def open_account(self, name):
        with self._base:
            self._base.execute("INSERT OR REPLACE INTO accounts VALUES (?, 0)", (name,))

    def apply(self, event, account, cents):
        """Book `cents` on `account` for `event`; return whether it was booked."""
        if event in self._booked:
            return False
        self._booked.add(event)
        with self._base:
            self._base.execute(
                "UPDATE accounts SET cents = cents + ? WHERE name = ?", (cents, account)
            )
        return True

    def balance(self, account):
        row = self._base.execute("SELECT cents FROM accounts WHERE name = ?", (account,)).fetchone()
        if row is None:
            raise KeyError(account)
        return row[0]
