#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What nvcc makes of the kernels, without a GPU: each moves 16 bytes per access on its fast path, none keeps anything in
# local memory or spills a register, and nothing is contracted to a fused multiply-add. Skipped without nvcc.
# Takes about 15 seconds. Environment: NVCC, srcdir.
set -eu

NVCC=${NVCC:-nvcc}
srcdir=${srcdir:-.}
command -v "$NVCC" >/dev/null 2>&1 || { echo "no nvcc: skipped"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail()
{
    echo "FAILED: $*"
    failed=1
}

flags="-I$srcdir -fmad=false"
"$NVCC" $flags -arch=compute_75 -ptx "$srcdir/cuda/kernels.cu" -o "$work/ptx"

# Per reduction: at least the two first sources and one more are loaded, and the result stored, 16 bytes at a time.
# Movers of such words move them whole.
awk '
    /\.entry/ { name = $0; sub(/.*\.entry */, "", name); sub(/\(.*/, "", name); loads[name] = stores[name] = 0 }
    /ld\.global\.v4\.u32/ { loads[name]++ }
    /st\.global\.v4\.u32/ { stores[name]++ }
    function wanted(name) { return name !~ /_(run|runs)_/ ? 3 : name ~ /_16$/ ? 1 : 0 }
    END { for (name in loads) { n++; need = wanted(name)
              if (loads[name] < need || (need && stores[name] < 1)) print name, loads[name], stores[name] }
          print n + 0 > counted }
' counted="$work/count" "$work/ptx" >"$work/narrow"
[ ! -s "$work/narrow" ] || fail "no 16-byte path (kernel, loads, stores): $(cat "$work/narrow")"

# The list of kernels, asked of the C preprocessor, is what nvcc must have made.
printf '#include "cuda/kernels.h"\n#define NAME(name, type) @name\nTT_EACH_REDUCER(NAME)
#define MOVER(way, form, word) @tt_##way##_##form##_##word\nTT_EACH_MOVER(MOVER)\n' |
    ${CC:-cc} -I"$srcdir" -E -P - | tr '@' '\n' | grep -c '^tt_' >"$work/expected"
cmp -s "$work/count" "$work/expected" ||
    fail "$(cat "$work/expected") kernels are listed, $(cat "$work/count") were made"

! grep -q '\.local' "$work/ptx" || fail "a kernel uses local memory: $(grep -m1 '\.local' "$work/ptx")"
! grep -q 'fma\.' "$work/ptx" || fail "contracted: $(grep -m1 'fma\.' "$work/ptx")"

for arch in 75 90; do
    "$NVCC" $flags -arch=sm_$arch -cubin -Xptxas -v "$srcdir/cuda/kernels.cu" -o "$work/cubin" 2>"$work/log"
    [ "$(grep -c ' 0 bytes spill stores, 0 bytes spill loads' "$work/log")" = "$(cat "$work/expected")" ] ||
        fail "sm_$arch spills: $(grep 'bytes spill' "$work/log" | grep -v ' 0 bytes spill stores, 0 bytes spill')"
done

[ $failed -eq 0 ] && echo "$(cat "$work/count") kernels: 16-byte accesses, no local memory, no spills, no contraction"
exit $failed
