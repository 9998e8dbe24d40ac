#!/bin/sh
# Make the virtual environment $2 with the interpreter $1 (3.11 or newer).
set -eu
python=$1 venv=$2
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "rolewall needs Python 3.11 or newer; $python is $("$python" -V). Try: make PYTHON=python3.11" >&2
    exit 2
}
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    # Debian ships venv apart from python3.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y python3-venv >/dev/null
    else
        echo "the Python module venv is missing; on Debian: apt-get install python3-venv" >&2
        exit 2
    fi
fi
"$python" -m venv "$venv"
