#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `make install` into an empty folder leaves a Tutti that works from there, and `make uninstall` leaves nothing.
# Environment: MAKE, srcdir; run from the build tree.
set -u
. "${srcdir:-.}/tests/tap.sh"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
prefix=$(sed -n 's/^prefix = //p' Makefile)
make=${MAKE:-make}

ok "make install succeeds" $make -s install DESTDIR="$root"
for file in bin/tutti lib/libtutti.so include/tutti.h lib/pkgconfig/tutti.pc lib/tutti/mpi-cuda-probe lib/tutti/tutti-mpi \
    lib/tutti/sim/libcuda.so.1 lib/tutti/sim/libnvidia-ml.so.1 lib/tutti/sim/libnccl.so.2 lib/tutti/sim/libcudart.so.13 lib/tutti/sim/libcudart.so \
    lib/tutti/tutti-mpi-plain lib/tutti/tutti-last.so lib/tutti/tutti-topo.so share/tutti/topologies/h100x8.json \
    share/tutti/models/gpt3-175b.json; do
    ok "$file is installed" test -f "$root$prefix/$file"
done
ok "the installed command finds the simulated device" \
    sh -c '"$1" run --sim-gpus 2 -- true 2>&1 | grep -q SIMULATED' sh "$root$prefix/bin/tutti"
ok "make uninstall succeeds" $make -s uninstall DESTDIR="$root"
ok "nothing is left" test -z "$(find "$root" -type f -o -type l)"
ok "nor a folder of Tutti's own" test ! -e "$root$prefix/lib/tutti" -a ! -e "$root$prefix/share/tutti"
done_testing
