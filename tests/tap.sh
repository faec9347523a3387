# SPDX-License-Identifier: BSD-3-Clause
# Counting for tests written in shell: sourced, never run. It closes with the line that Check's programs close with, so that
# whoever adds up the tests need not know how each was written.
checks=0
failures=0

# ok WHAT COMMAND...: the command must succeed.
ok()
{
    what=$1
    shift
    checks=$((checks + 1))
    "$@" && return
    failures=$((failures + 1))
    printf 'failed: %s\n' "$what"
}

# same WHAT EXPECTED SEEN: two texts must be equal; both are shown when they are not.
same()
{
    checks=$((checks + 1))
    [ "$2" = "$3" ] && return
    failures=$((failures + 1))
    printf 'failed: %s\n--- expected\n%s\n--- seen\n%s\n' "$1" "$2" "$3"
}

# done_testing: the closing line, and the exit status of the test.
done_testing()
{
    printf '%d%%: Checks: %d, Failures: %d, Errors: 0\n' $((checks ? 100 * (checks - failures) / checks : 0)) "$checks" "$failures"
    [ "$failures" = 0 ] && [ "$checks" -gt 0 ]
    exit
}
