#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tutti beside the MPI it is on, on two ranks of one node, one core each: peers.sh [MPI...], mpich and openmpi unless told.
# For each it builds Tutti, in peers/MPI below where this is started, unless that is there; measures every collective
# below with `tutti bench`, in which all paths take turns on the same buffers; and prints the geometric mean, over the
# sizes, of the ratio of times to the MPI's own: of the fastest of Tutti's algorithms, and of the one that is chosen, and
# the largest ratio at any size. Then what two bare cores can do (bench/bound.c), which an allreduce is compared with.
#   SIZES  smallest, largest, factor ["8 64M 4"]
#   TIME   for each path and size [50ms]
#   MORE   options to mpiexec, such as Open MPI's "--mca coll_sm_priority 100"
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
: "${SIZES:=8 64M 4}" "${TIME:=50ms}" "${MORE:=}"
COLLECTIVES="allreduce reduce reduce_scatter_block barrier scan alltoall gather scatter bcast allgather"

# build MPI: a tree for it
build()
{
    [ -x "peers/$1/tutti" ] && return
    mkdir -p "peers/$1"
    (cd "peers/$1" && "$top/configure" -q --without-cuda CC="mpicc.$1" && make -s -j2) >"peers/$1.log" 2>&1 ||
        { tail "peers/$1.log"; exit 1; }
}

# start MPI ARGUMENT...: on two ranks, bound
start()
{
    mpi=$1
    shift
    case $mpi in
    openmpi*)
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpiexec.openmpi --bind-to core $MORE -n 2 "$@"
        ;;
    *) mpiexec.mpich -bind-to core $MORE -n 2 "$@" ;;
    esac
}

# The side-by-side lines of a table: what ratios of times to native there are.
ratios()
{
    awk -v name="$1" '
        /medians in us, side by side/ { on = 1; next }
        on && /^ *[0-9-]/ {
            at = $2 ~ /^(B|KiB|MiB|GiB)$/ ? 3 : 2
            native = $at; best = $(at + 1); chosen = $(NF - 1)
            if (native > 0 && best > 0 && chosen > 0) {
                n++; b += log(best / native); c += log(chosen / native)
                if (chosen / native > worst) { worst = chosen / native; where = $1 " " $2 }
            }
        }
        END { if (n) printf "%-22s %6d %10.2f %10.2f %10.2f  %s\n", name, n, exp(b / n), exp(c / n), worst, where }'
}

compare()
{
    # shellcheck disable=SC2086
    set -- "$1" $SIZES
    echo "# $1, 2 ranks, one core each, host memory; ratio of median times to the MPI's own; $(date -u +%Y-%m-%d)"
    printf '%-22s %6s %10s %10s %10s  %s\n' collective sizes 'best own' chosen worst at
    for collective in $COLLECTIVES; do
        start "$1" "peers/$1/tutti" bench "$collective" -m host -b "$2" -e "$3" -f "$4" --time "$TIME" 2>/dev/null |
            tee "peers/$1-$collective.txt" | ratios "$collective"
    done
}

# What the cores can do, and how near an allreduce comes: the exchange to 8 bytes, memory to all from 1 MiB on.
bound()
{
    "peers/$1/bench/bound" | tee "peers/$1-bound.txt"
    awk 'NR == FNR { exchange = $2; gbs = $5; next }
        /medians in us, side by side/ { on = 1; next }
        on && $1 == 8 && $2 == "B" { printf "allreduce of 8 B: %.2f us, %.1f exchanges\n", $4, $4 / exchange }
        on && $2 == "MiB" {
            least = 4 * $1 * 1048576 / gbs / 1000
            printf "allreduce of %d MiB: %.0f us; 4 n / %.1f GB/s is %.0f us: %.0f %% of the bound\n", $1, $4, gbs, least, 100 * least / $4
        }' "peers/$1-bound.txt" "peers/$1-allreduce.txt"
}

for mpi in ${*:-mpich openmpi}; do
    build "$mpi"
    compare "$mpi"
    bound "$mpi"
done
