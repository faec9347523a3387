#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# On a machine with GPUs: what `make check` shows on simulated ones, shown on real ones. Needs a finished build.
#   tests/gpu/run.sh [BUILD]              BUILD: the build tree [build]
#   tests/gpu/run.sh --rehearse [BUILD]   the same on the simulated device, to know that the script works
# Minutes; one line per step. Ranks share GPUs where there are fewer GPUs than ranks. Exit status 0: all is right.
set -u

sim=
[ "${1:-}" = --rehearse ] && { sim=2; shift; }
build=$(cd "${1:-build}" && pwd) || exit 2
mpiexec=${MPIEXEC:-$(sed -n 's/^MPIEXEC = //p' "$build/Makefile")}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
failed=0

step()
{
    echo "--- $*"
    "$@" || { echo "FAIL ($?): $*"; failed=$((failed + 1)); }
}

# on RANKS PROGRAM [ARGUMENT...]: under Tutti, on the GPUs
on()
{
    ranks=$1
    shift
    step timeout -k 5 300 "$build/tutti" run ${sim:+--sim-gpus $sim} -- "$mpiexec" -n "$ranks" "$@"
}

gpus=$("$build/tutti" info --gpus)
if [ -z "$sim" ] && [ "${gpus:-0}" -eq 0 ]; then
    echo "no GPU here: use tests/gpu/run.sh --rehearse"
    exit 2
fi
step "$build/tutti" info
on 4 "$build/examples/first_light"
# with it, the native results that the programs compare with come a thousand times sooner where ranks outnumber cores
[ -f "$build/tests/mpi/yield.so" ] && export LD_PRELOAD="$build/tests/mpi/yield.so${LD_PRELOAD:+:$LD_PRELOAD}"
on 4 "$build/tests/mpi/cells"
on 4 "$build/tests/mpi/gaps"
# not on a power of two: there MPICH 4.0.2's own reduce_scatter_block is wrong for ops that do not commute
on 5 "$build/tests/mpi/types"
on 7 "$build/tests/mpi/collectives"
unset LD_PRELOAD
on 1 "$build/bench/interpose"
if [ $failed -eq 0 ]; then
    echo "all steps passed${sim:+ (on simulated GPUs: a rehearsal)}"
else
    echo "$failed steps failed"
fi
[ $failed -eq 0 ]
