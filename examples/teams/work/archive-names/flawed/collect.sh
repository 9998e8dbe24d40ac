#!/bin/sh
# Copy all logs below SOURCE to TARGET: sh collect.sh SOURCE TARGET
find "$1" -name '*.log' | {
    count=0
    while read file; do
        name=${file#"$1"/}
        mkdir -p "$2/$(dirname "$name")"
        cp "$file" "$2/$name"
        count=$((count + 1))
    done
    echo "$count files"
}
