# Hands in work/TASK/first; after a reject, work/TASK/later where there is one.
set -eu
cd "/rolewall/agents/work/$ROLEWALL_TASK"
turn=first
if [ "$ROLEWALL_ROUND" -gt 1 ] && [ -d later ]; then turn=later; fi
cp -R "$turn/." /workspace
