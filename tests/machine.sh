#!/bin/sh
# What the tests need from the machine: git, and for root on Debian Chromium and
# a Docker engine that answers. An ordinary user tests with what there is.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }
answers() { [ -S /var/run/docker.sock ] && have docker && docker version >/dev/null 2>&1; }
debian_root() { [ "$(id -u)" = 0 ] && have apt-get; }

install() {
    echo "installing: $*"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

have git || { debian_root && install git; }
have chromium || ! debian_root || install chromium
debian_root || exit 0
answers && exit 0
have dockerd || install docker.io iptables
have docker || install docker-cli

echo "starting dockerd"
log=$(mktemp /tmp/dockerd.XXXXXX)
setsid nohup dockerd >"$log" 2>&1 </dev/null &
tries=0
until answers; do
    tries=$((tries + 1))
    if [ "$tries" -gt 60 ]; then
        echo "dockerd does not answer; its last words:" >&2
        tail -n 20 "$log" >&2
        exit 3
    fi
    sleep 1
done
