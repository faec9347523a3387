#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tutti beside the MPI it is on, on two ranks of one node, one core each: usage() below says how it is asked. For each MPI it
# builds Tutti, in peers/NAME below where this is started, as far as its sources have changed; measures every collective below with
# `tutti bench`, in which all paths take turns on the same buffers; and prints the geometric mean, over the sizes, of the
# ratio of times to the MPI's own: of the fastest of Tutti's algorithms, and of the one that is chosen, and the largest
# ratio at any size. Then a barrier and an allreduce beside what bare cores do in the same run (bench --bare).
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
: "${SIZES:=8 64M 4}" "${TIME:=50ms}" "${MORE:=}"
COLLECTIVES="allreduce reduce reduce_scatter_block barrier scan alltoall gather scatter bcast allgather"

usage()
{
    cat <<END
Usage: peers.sh [MPI...], which is "mpich openmpi" unless told. An MPI is one of
  NAME       that is installed as mpicc.NAME and mpiexec.NAME, as Debian's are
  NAME=DIR   that is installed in DIR, mpicc and mpiexec being in DIR/bin; NAME is what it is to be called
Variables:
  SIZES  smallest, largest, factor [8 64M 4]
  TIME   for each path and size [50ms]
  MORE   options to mpiexec, such as Open MPI's "--mca coll_sm_priority 100"
Trees and tables are left in peers/; an MPI that is called as another was takes that one's tree.
END
}

# find_mpi MPI: $name, $mpicc and $mpiexec are set; what cannot be had is said before anything is measured
find_mpi()
{
    case $1 in
    *=*)
        dir=$(cd "${1#*=}" && pwd) || exit 2 # another folder's configure gets the name
        name=${1%%=*} mpicc=$dir/bin/mpicc mpiexec=$dir/bin/mpiexec
        ;;
    *) name=$1 mpicc=mpicc.$1 mpiexec=mpiexec.$1 ;;
    esac
    case $name in
    "" | *[!A-Za-z0-9._-]*)
        echo "peers.sh: \"$1\" is neither the NAME of an MPI nor NAME=DIR" >&2
        exit 2
        ;;
    esac
    for command in "$mpicc" "$mpiexec"; do
        command -v "$command" >/dev/null || { echo "peers.sh: $1: there is no $command" >&2; exit 2; }
    done
    bind=-bind-to
    case $("$mpiexec" --version 2>&1) in *"Open MPI"* | *OpenRTE*) bind=--bind-to ;; esac
}

# A tree for that MPI, of the sources as they are now.
build()
{
    mkdir -p "peers/$name"
    (cd "peers/$name" && { [ -f Makefile ] || "$top/configure" -q --without-cuda CC="$mpicc" MPIEXEC="$mpiexec"; } &&
        make -s -j2) \
        >"peers/$name.log" 2>&1 || { tail "peers/$name.log" >&2; exit 1; }
}

# start ARGUMENT...: on two ranks, bound
start()
{
    # shellcheck disable=SC2086 # words, or none
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$mpiexec" $bind core $MORE -n 2 "$@"
}

# The side-by-side lines of a table: what ratios of times to native there are.
ratios()
{
    awk -v mpi="$name" -v name="$1" '
        function count() {
            if (native > 0 && best > 0 && chosen > 0) {
                n++; b += log(best / native); c += log(chosen / native)
                if (chosen / native > worst) { worst = chosen / native; where = $1 == "-" ? "" : $1 " " $2 }
            }
        }
        # without a size there is but the one, and no table of sizes
        !on && $1 == "-" {
            median = $($4 == "*" ? 6 : 5)
            if ($2 == "native") native = median
            else if ($2 == "own") best = best && best < median ? best : median
            else if ($2 == "chosen") { chosen = median; count() }
        }
        /medians in us, side by side/ { on = 1; next }
        /beside what the cores do/ { on = 0 }
        on && /^ *[0-9-]/ {
            at = $2 ~ /^(B|KiB|MiB|GiB)$/ ? 3 : 2
            native = $at; best = $(at + 1); chosen = $(NF - 2) # before its name, and how many times the fastest
            count()
        }
        END { if (n) printf "%-22s %6d %10.2f %10.2f %10.2f  %s\n", name, n, exp(b / n), exp(c / n), worst, where
              else print name ": nothing was measured: see peers/" mpi "-" name ".log" }'
}

compare()
{
    # shellcheck disable=SC2086 # three words
    set -- $SIZES
    echo "# $name, 2 ranks, one core each, host memory; ratio of median times to the MPI's own; $(date -u +%Y-%m-%d)"
    printf '%-22s %6s %10s %10s %10s  %s\n' collective sizes 'best own' chosen worst at
    for collective in $COLLECTIVES; do
        start "peers/$name/tutti" bench "$collective" --bare -m host -b "$1" -e "$2" -f "$3" --time "$TIME" \
            2>"peers/$name-$collective.log" | tee "peers/$name-$collective.txt" | ratios "$collective"
    done
}

# What the cores do without any MPI, as the bench has told it.
beside_bare_cores()
{
    for collective in barrier allreduce; do
        sed -n '/beside what the cores do/,/^$/p' "peers/$name-$collective.txt"
    done
}

case ${1:-} in -h | --help) usage; exit ;; esac
[ $# -gt 0 ] || set -- mpich openmpi
for mpi; do
    find_mpi "$mpi"
done
for mpi; do
    find_mpi "$mpi"
    build
    compare
    beside_bare_cores
done
