# One line per check on standard output: "pass NAME" or "fail NAME: WHY"; xtask compares them with what is expected.

# check NAME COMMAND...: passes when the command succeeds, and fails with what it said, and left in the file `said`.
check() {
    name=$1
    shift
    if said=$("$@" 2>&1); then
        echo "pass $name"
    else
        more=$(tail -n 6 said 2> /dev/null)
        echo "fail $name: it ended with an error; $(printf '%s' "$said $more" | tr '\n' ' ' | cut -c 1-300)"
    fi
}

# refused COMMAND...: succeeds when the command does not.
refused() {
    if "$@"; then return 1; fi
}

# is WANTED COMMAND...: succeeds when the command prints that and nothing else.
is() {
    wanted=$1
    shift
    got=$("$@")
    [ "$got" = "$wanted" ] || { echo "is '$got', not '$wanted'"; return 1; }
}

# says WANTED COMMAND...: succeeds when a line of what the command prints matches the pattern.
says() {
    wanted=$1
    shift
    got=$("$@" 2>&1)
    printf '%s\n' "$got" | grep -q -e "$wanted" || { echo "no line '$wanted' in: $got"; return 1; }
}
