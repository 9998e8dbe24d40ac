#!/bin/sh
# The four coding agents that have presets, at the versions that the tests know, for
# tests/agents: into $ROLEWALL_TEST_AGENTS, where their programs are in bin/. Run again it does
# nothing. Without a network nothing is installed, and the tests that need them are skipped.
set -eu

CLAUDE=2.1.332
CODEX=0.171.0
OPENCODE=1.18.33
MINI=2.4.6
python=${1:-python3}
into=${ROLEWALL_TEST_AGENTS:-$HOME/.cache/rolewall-test-agents}
# A box has the interpreter of whoever runs the tests: a package for another one does not start.
base=$("$python" -c 'import sys; print(sys.version.split()[0], sys.base_prefix)')
stamp="claude-code $CLAUDE, codex $CODEX, opencode $OPENCODE, mini-swe-agent $MINI, Python $base"

[ "$(cat "$into/installed" 2>/dev/null)" = "$stamp" ] && exit 0
case $(uname -m) in
    x86_64) cpu=x64 ;;
    aarch64) cpu=arm64 ;;
    *) echo "agents: no programs for $(uname -m)"; exit 0 ;;
esac

give_up() {
    echo "agents: $1; tests that need them are skipped" >&2
    exit 0
}

if ! command -v npm >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || give_up "no npm"
    echo "installing: npm"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
        --no-install-recommends npm >/dev/null; } || give_up "npm cannot be installed"
fi

echo "installing: $stamp"
rm -rf "$into"
mkdir -p "$into/bin"
# The packages of the programs themselves: the ones around them choose by a script at install.
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$into" \
    "@anthropic-ai/claude-code-linux-$cpu@$CLAUDE" \
    "@openai/codex-linux-$cpu@npm:@openai/codex@$CODEX-linux-$cpu" \
    "opencode-linux-$cpu@$OPENCODE" || give_up "npm cannot install them"
"$python" -m venv "$into/mini" && "$into/mini/bin/python" -m pip install --quiet \
    --disable-pip-version-check "mini-swe-agent==$MINI" || give_up "pip cannot install them"

modules=../node_modules
ln -s "$modules/@anthropic-ai/claude-code-linux-$cpu/claude" "$into/bin/claude"
ln -s "$modules/opencode-linux-$cpu/bin/opencode" "$into/bin/opencode"
ln -s ../mini/bin/mini "$into/bin/mini"
found=$(cd "$into/bin" && ls "$modules/@openai/codex-linux-$cpu"/vendor/*/bin/codex)
ln -s "$found" "$into/bin/codex"
chmod -R a+rX "$into"
for name in claude codex opencode mini; do
    [ -x "$into/bin/$name" ] || { echo "agents: no $name in $into/bin" >&2; exit 3; }
done
echo "$stamp" >"$into/installed"
