# Exit code 0 if the step that $ROLEWALL_STEP names is done. The work runs in the check box alone.
set -eu
if [ "$ROLEWALL_STEP" = ship ]; then
    cd /workspace
    for file in *.py; do cmp "$file" "/deploy/$file" || exit 1; done
    exit 0
fi
rolewall-check sh -c 'python3 -m pytest -q -p no:cacheprovider tests &&
    python3 "/rolewall/agents/verifier/accept/$ROLEWALL_TASK.py"'
cat > /feedback/handoff.json <<END
{"schema_version": 1, "text": "The fix is right.",
 "conditions": [{"id": "approved", "statement": "I have approved the fix.", "status": "met"}]}
END
