#!/bin/sh
# Copy all logs below SOURCE to TARGET: sh collect.sh SOURCE TARGET
set -eu

if [ ! -d "$1" ]; then
    printf 'not a directory: %s\n' "$1" >&2
    exit 2
fi
mkdir -p -- "$2"
target=$(cd -- "$2" && pwd -P && printf x)
target=${target%?x}
export target
cd -- "$1"

# One byte for each file, so that newlines in names do not count.
copied=$(find . -type f -name '*.log' -exec sh -c '
    for file; do
        mkdir -p -- "$target/${file%/*}" && cp -- "$file" "$target/$file" && printf .
    done
' sh {} +)
echo "${#copied} files"
