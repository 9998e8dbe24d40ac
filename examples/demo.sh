#!/bin/sh
# Two verifiers that do not do their work, with walls that are asked for and walls that stand.
# Usage: demo.sh [OUTPUT]. $ROLEWALL names the command, $ROLEWALL_BACKEND the backend.
set -eu

here=$(cd -- "$(dirname -- "$0")" && pwd)
out=${1:-demo-run}
: "${ROLEWALL:=rolewall}" "${ROLEWALL_BACKEND:=bubblewrap}"
rm -rf -- "$out/meddler" "$out/rubber-stamp"
mkdir -p -- "$out"

compare() {
    "$ROLEWALL" compare "$here/teams/$1.yaml" --tasks "$here/tasks" \
        --conditions prompt-only,enforced --backend "$ROLEWALL_BACKEND" --jobs 2 -o "$out/$1"
}

echo "1. The meddler repairs the code it should judge, then approves it."
echo "   prompt-only: its edits land. enforced: each is blocked, logged and counted."
compare meddler
echo
echo "2. The rubber stamp looks at nothing. No wall makes it careful: false approvals in both."
compare rubber-stamp
