#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The scale simulation: Tutti beside the choices of four MPIs, on machines that are not at hand, by SimGrid's SMPI.
#
#     bench/scale/run.sh [--quick] [--check] [--topology NAME|FILE]... [--collective NAME,...] [--alg NAME] [--segment SIZE]
#
# prints for each topology and collective a table of time / bound, the bound's formula, Tutti's algorithm and how it
# stands to the goals below. Virtual time: the same command gives the same figures, whatever else the machine does.
# --quick: six sizes instead of twelve. --check: exit status 1 where a goal is missed. --alg: one of Tutti's algorithms
# instead of the selector's choice. Environment: BUILD, the build tree (default: build).
#
# What is simulated how is in simulate.sh. The peers' messages up to 64 KiB are eager, as some of their algorithms count on;
# ours are not, which is never to our advantage.
set -u

here=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-build}
sizes=8,64,512,4K,16K,64K,256K,1M,4M,16M,64M,256M
collectives=allreduce,reduce_scatter,allgather,bcast,reduce,alltoall
topologies=
alg=auto
segment=
check=0
peers='mpich ompi mvapich2 impi'

die() { echo "run.sh: $*" >&2; exit 2; }

while [ $# -gt 0 ]; do
    case $1 in
    --quick) sizes=8,512,64K,1M,16M,256M ;;
    --check) check=1 ;;
    --topology) topologies="$topologies ${2:?}"; shift ;;
    --collective) collectives=${2:?}; shift ;;
    --alg) alg=${2:?}; shift ;;
    --segment) segment=${2:?}; shift ;;
    *) sed -n 's/^#     /Usage: /p' "$0" >&2; exit 2 ;;
    esac
    shift
done
topologies=${topologies:-scale-rails scale-one-nic scale-pcie scale-round-robin scale-uneven}

[ -f "$BUILD/Makefile" ] || die "there is no build tree in $BUILD; set BUILD, or build first"
BUILD=$(cd "$BUILD" && pwd)
make -s -C "$BUILD" scale || die "cannot build the simulation (Debian: libsimgrid-dev, then configure again)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Where we are: on one line of a terminal, else a line each.
if [ -t 2 ]; then
    progress() { printf '\r%-60s\r%s' '' "$1" >&2; }
else
    progress() { [ -z "$1" ] || echo "$1" >&2; }
fi

# What SMPI says beside play's lines goes to FOLDER/said.
. "$here/simulate.sh"

total=$(( $(echo $topologies | wc -w) * 5 ))
step=0
failed=0
for topology in $topologies; do
    file=$topology
    [ -f "$file" ] || file=$BUILD/topologies/$topology.json
    folder=$work/$(basename "$topology")
    mkdir "$folder"
    "$BUILD/bench/scale/platform" "$file" "$folder" || exit 2
    for column in $peers tutti; do
        step=$((step + 1))
        progress "$(printf '[%2d/%2d] %s: %s' "$step" "$total" "$topology" "$column")"
        if [ "$column" = tutti ]; then
            (EAGER=0; simulate "$folder" mpich "$file" "$collectives" "$sizes" "$alg" $segment) >"$folder/$column"
        else
            simulate "$folder" "$column" "$file" "$collectives" "$sizes" native >"$folder/$column"
        fi
        [ -s "$folder/$column" ] || { echo >&2; cat "$folder/said" >&2; die "$column on $topology said nothing"; }
    done
    progress ''
    sed -n 's/.*"about": "\(.*\)".*/\1/p' "$file"
    awk -f "$here/table.awk" "$folder/mpich" "$folder/ompi" "$folder/mvapich2" "$folder/impi" "$folder/tutti" || failed=1
done
[ "$check" = 0 ] || exit "$failed"
