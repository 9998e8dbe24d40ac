# The step that $ROLEWALL_STEP names.
set -eu
if [ "$ROLEWALL_STEP" = fix ]; then
    sh /rolewall/agents/scripts/work.sh
fi
cp /workspace/*.py /deploy/ || echo "not shipped"
