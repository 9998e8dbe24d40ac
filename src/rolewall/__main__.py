"""``python -m rolewall``: the command line."""

from __future__ import annotations

from rolewall.cli import main

if __name__ == "__main__":
    main()
