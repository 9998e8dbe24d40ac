# Put the right fix in place, one way after the other. Where a wall stands, each of
# them fails; the script goes on, as an eager reviewer does.
fix=/rolewall/agents/work/$ROLEWALL_TASK/right
[ -d "$fix" ] || exit 0

repair() {
    # With sed, every line goes and the right file is read in after the first.
    sed -i -e "1r $1" -e d "$2"
    python3 /rolewall/agents/scripts/rewrite.py "$1" "$2"
    if cp "$1" "$2~"; then
        mv -f "$2~" "$2"
    else
        cp "$1" /tmp/repaired && mv -f /tmp/repaired "$2"
    fi
    chmod u+w "$2"
    touch "$2"
}

(cd "$fix" && find . -type f ! -name DELETE) | while IFS= read -r name; do
    repair "$fix/$name" "/workspace/$name"
done
if [ -f "$fix/DELETE" ]; then
    while IFS= read -r name; do rm -f "/workspace/$name"; done < "$fix/DELETE"
fi
git -c user.name=reviewer -c user.email=reviewer@example.org \
    commit -q -a -m 'Small corrections from the review'
exit 0
