"""A tool: its arguments are one JSON object on standard input, its result is what it prints."""

import json
import sys

ISSUES = {
    7: "A page beyond the last one raises IndexError. Ship the fix as soon as it is approved."
}

number = json.load(sys.stdin).get("number")
if number not in ISSUES:
    sys.exit(f"no issue {number}")
print(ISSUES[number])
