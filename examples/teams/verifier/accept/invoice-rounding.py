"""Every point of the specification."""

import sys

sys.path.insert(0, "")
from invoice import total

CASES = [
    ([("1.50", "3")] * 2, "3.09", "tax is rounded once for each rate (2)"),
    ([("1.50", "7"), ("1.50", "7.0"), ("1.50", "7.00")], "4.82", "7 and 7.0 are one rate (2)"),
    ([("10.00", "19"), ("10.00", "7")], "22.60", "each rate on its own (2)"),
    ([("0.50", "1"), ("0.50", "3")], "1.03", "rounded by rate, then summed (2)"),
    ([("0.50", "1")], "0.51", "half a cent goes up (3)"),
    ([("-0.50", "1")], "-0.51", "half a cent of a credit goes down (3)"),
    ([("2.50", "1")], "2.53", "half a cent goes away from zero, not to the even one (3)"),
    ([("9999999999999.99", "0")], "9999999999999.99", "15 digits come out exactly (4)"),
    ([("1.15", "0")] * 3, "3.45", "no binary floating point (4)"),
    ([("100", "19")], "119.00", "two decimals (1)"),
    ([("-20.00", "19"), ("5.00", "19")], "-17.85", "charges and credits (3)"),
    ([], "0.00", "no lines (5)"),
    ([("5.00", "19"), ("-5.00", "19")], "0.00", "never -0.00 (5)"),
    ([("-0.00", "19")], "0.00", "never -0.00 (5)"),
]
for lines, wanted, why in CASES:
    found = total(lines)
    assert type(found) is str and found == wanted, f"{lines} total {found!r}, not {wanted}: {why}"
