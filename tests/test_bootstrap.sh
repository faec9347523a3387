#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bootstrap, as far as it can be tried without installing or building: what it takes, and how it adds up test results, which
# the build service trusts. The adding is tried on results made up here, in a directory of their own.
set -eu
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
. "$top/tests/tap.sh"

status_of()
{
    status=0
    "$@" >said 2>&1 || status=$?
    echo "$status"
}

# result NAME VERDICT TEXT: what automake leaves of one test.
result()
{
    mkdir -p "$(dirname "build/$1")"
    printf ':test-result: %s\n' "$2" >"build/$1.trs"
    printf '%s\n' "$3" >"build/$1.log"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

same "an unknown argument is refused" 2 "$(status_of "$top/bootstrap" sing)"
ok "and named" grep -q 'what is "sing"' said
ok "and what may be said is told" grep -q '^Usage: ./bootstrap' said
same "two actions are refused" 2 "$(status_of "$top/bootstrap" build check)"
same "an unknown MPI is refused" 2 "$(status_of "$top/bootstrap" --mpi=lam)"
same "help is no error" 0 "$(status_of "$top/bootstrap" --help)"

eval "$(sed -n '/^print_totals()/,/^}/p' "$top/bootstrap")"
result tests/one PASS '100%: Checks: 55, Failures: 0, Errors: 0'
result tests/deep/two PASS '100%: Checks: 5, Failures: 0, Errors: 0'
same "passes add up" "60 passed, 0 failed" "$(print_totals)"
ok "and are a success" print_totals >/dev/null
result tests/three FAIL '50%: Checks: 6, Failures: 2, Errors: 1'
same "failures and errors add up" "63 passed, 3 failed" "$(print_totals || :)"
same "and are a failure" 1 "$(status_of print_totals)"
result tests/four FAIL 'Segmentation fault'
same "a program that died before its last line is a failure" "63 passed, 4 failed" "$(print_totals || :)"
rm -r build
mkdir build
same "no tests at all are a failure" 1 "$(status_of print_totals)"
done_testing
