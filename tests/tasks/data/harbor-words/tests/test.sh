#!/bin/bash
# A planted result would be read in place of this script's own, if it could be there.
ls -A /logs/verifier
pwd
echo "$UNIT of $(cat /tests/about.txt)"
found=$(cat /app/count.txt 2>/dev/null) || { echo 0 > /logs/verifier/reward.txt; exit 1; }
if [ "$found" = "$GOAL" ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0.5 > /logs/verifier/reward.txt
fi
