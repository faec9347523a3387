#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two simulators hold each other honest: every algorithm of the collectives in bench/scale, priced in our own virtual time
# (selector/price.h) and run by the executor on SimGrid's SMPI, takes the same time within 15 %. Machines: GPUs on NVSwitch
# with a NIC each, GPUs on PCIe that share one, and uneven nodes with one memory bus each whose ranks were dealt out in
# turn. Work costs on the first: where it takes as long as messages, SMPI's side sees those of other lanes late (tutti.c). Messages are not eager here, which is what the price says of them.
# Skipped where there is no SimGrid. Environment: MAKE, srcdir; run from the build tree.
set -u
. "${srcdir:-.}/tests/tap.sh"

command -v smpirun >/dev/null && ${MAKE:-make} -s scale >/dev/null 2>&1 || exit 77
BUILD=$PWD
EAGER=0
. "${srcdir:-.}/bench/scale/simulate.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/uneven.json" <<'END'
{
    "about": "nodes of 4, 3 and 2 ranks and a memory bus",
    "nodes": [{"count": 1, "sockets": 2, "cores": 8, "gpus": 0, "nics": 2, "ranks": 4},
              {"count": 1, "sockets": 1, "cores": 4, "gpus": 0, "nics": 1, "ranks": 3},
              {"count": 1, "sockets": 1, "cores": 4, "gpus": 0, "nics": 1, "ranks": 2}],
    "place": "round-robin",
    "speeds": {
        "host": {"alpha": "1us", "bandwidth": "20GB/s", "shared": true},
        "nic": {"alpha": "4us", "bandwidth": "10GB/s"},
        "overhead": "0.5us"
    }
}
END

# play NAME FILE: all algorithms at four sizes, a line each
play()
{
    simulate "$work/$1" mpich "$2" allreduce,reduce_scatter,allgather,bcast,reduce,alltoall 8,4K,256K,4M all
}

# compare NAME FILE RANKS
compare()
{
    mkdir "$work/$1"
    bench/scale/platform "$2" "$work/$1" "$3"
    play "$1" "$2" >"$work/$1/lines"
    ok "$1: something was simulated" test "$(grep -vc '^#' "$work/$1/lines")" -gt 50
    ok "$1: priced and simulated within 15 %" awk -v name="$1" '
        /^#/ { next }
        { ratio = $8 / $5; if (ratio < 0.85 || ratio > 1.15) { bad = 1; print "# " name ": priced / simulated " ratio ": " $0 } }
        END { exit bad }' "$work/$1/lines"
}

compare nvswitch topologies/h100x8.json 20
compare pcie topologies/scale-pcie.json 12
compare uneven "$work/uneven.json" 9
play uneven "$work/uneven.json" >"$work/again"
ok "uneven: the same command gives the same figures twice" cmp "$work/uneven/lines" "$work/again"
done_testing
