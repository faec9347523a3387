#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ThreadSanitizer finds nothing in the ring between two sides, and does find it where flags release nothing. Skipped
# where the compiler has none, or its programs do not start.
# Environment: CC, srcdir.
set -u
. "${srcdir:-.}/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=${srcdir:-.}

# build NAME OPTION...
build()
{
    name=$1
    shift
    ${CC:-cc} -std=gnu11 -O1 -g -fsanitize=thread "$@" -I"$top" -o "$work/$name" "$top/tests/tsan_ring.c" -lpthread \
        >"$work/$name.log" 2>&1
}
echo 'int main(void) { return 0; }' >"$work/none.c"
${CC:-cc} -fsanitize=thread -o "$work/none" "$work/none.c" 2>/dev/null && "$work/none" 2>/dev/null ||
    { echo "no ThreadSanitizer: skipped"; exit 77; }
ok "the ring is built" build ring
ok "nothing is found in it" timeout 120 "$work/ring"
ok "it is built with flags that release nothing" build relaxed -DRELAXED
timeout 120 "$work/relaxed" >"$work/relaxed.log" 2>&1
ok "which is found" grep -q "data race" "$work/relaxed.log"
done_testing
