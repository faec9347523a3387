#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# On a machine with GPUs: what `make check` shows on simulated ones, shown on real ones, and what they allow.
#   tests/gpu/run.sh [BUILD]              BUILD: the build tree [build]; built here if it is not there yet
#   tests/gpu/run.sh --rehearse [BUILD]   the same on the simulated device, to know that the script works
#   tests/gpu/run.sh --pack DIR           on a machine with a network: puts into DIR what a machine without MPI and
#                                         without a network needs; there: WHEELS=DIR tests/gpu/run.sh
# Under 8 minutes on a GPU; a line per step, and at the end a table of all. Ranks share GPUs where there are fewer GPUs
# than ranks. Exit status 0: all is right. Figures worth keeping go to doc/results.md, with the date, GPU and versions.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)

sim= pack=
case ${1:-} in
--rehearse) sim=2; shift ;;
--pack) pack=${2:?--pack wants a folder}; shift 2 ;;
esac
if [ -n "$pack" ]; then
    exec python3 -m pip download -q --only-binary :all: -d "$pack" mpich
fi
build=${1:-build}
table=$(mktemp)
trap 'rm -f "$table"' EXIT
failed=0 # steps
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# step NAME COMMAND...: a line of the table
step()
{
    name=$1 began=$(date +%s)
    shift
    echo "--- $name: $*"
    "$@" && result=passed || { result="FAILED ($?)"; failed=$((failed + 1)); }
    printf '%-44s %-12s %4d s\n' "$name" "$result" $(($(date +%s) - began)) >>"$table"
}

left_out()
{
    printf '%-44s %s\n' "$1" "left out: $2" >>"$table"
}

# on NAME RANKS PROGRAM [ARGUMENT...]: under Tutti, on the GPUs
on()
{
    name=$1 ranks=$2
    shift 2
    step "$name, $ranks ranks" timeout -k 5 300 "$build/tutti" run ${sim:+--sim-gpus $sim} -- "$mpiexec" -n "$ranks" "$@"
}

# ---- build ----

# Where there is no MPI, MPICH as the Python package index has it, or as --pack has brought it.
mpi_of_our_own()
{
    python3 -m venv "$build-mpi" &&
        "$build-mpi/bin/pip" install -q --only-binary :all: ${WHEELS:+--no-index --find-links "$WHEELS"} mpich
}

build_here()
{
    mpicc=
    command -v mpicc mpicc.mpich >/dev/null || {
        mpi_of_our_own || return
        mpicc=$(cd "$build-mpi/bin" && pwd)
    }
    [ -f "$top/configure" ] || (cd "$top" && autoreconf -i) || return
    mkdir -p "$build" &&
        (cd "$build" && "$top/configure" -q ${mpicc:+CC="$mpicc/mpicc" MPIEXEC="$mpicc/mpiexec"} && make -j"$(nproc)")
}

[ -f "$build/Makefile" ] || step build build_here
build=$(cd "$build" && pwd) && [ -f "$build/Makefile" ] || exit 2
programs="cells gaps types collectives ipc nccl"
targets=$(for p in $programs; do echo "tests/mpi/$p"; done)
step "test programs" make -s -C "$build" -j"$(nproc)" $targets tests/mpi/yield.so examples/first_light bench/gpu
mpiexec=${MPIEXEC:-$(sed -n 's/^MPIEXEC = //p' "$build/Makefile")}

gpus=$("$build/tutti" info --gpus)
if [ -z "$sim" ] && [ "${gpus:-0}" -eq 0 ]; then
    echo "no GPU here: use tests/gpu/run.sh --rehearse"
    exit 2
fi
step info "$build/tutti" info
on "first light" 4 "$build/examples/first_light"

# ---- kernels, and what the GPU and its bus allow ----
if [ -n "$sim" ]; then
    step "kernels and staging (SIMULATED)" env TUTTI_SIM_GPUS=1 LD_LIBRARY_PATH="$build/tests/simcuda/.libs" "$build/bench/gpu" 2
else
    step "kernels and staging" "$build/bench/gpu"
fi
if [ -z "$sim" ] && command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
        step "kernels under $tool" timeout 120 compute-sanitizer --tool $tool --error-exitcode 1 "$build/bench/gpu" 2
    done
elif [ -n "$sim" ]; then
    left_out "kernels under compute-sanitizer" "they are simulated"
else
    left_out "kernels under compute-sanitizer" "there is none in PATH"
fi

# ---- collectives ----
# with it, the native results that the programs compare with come a thousand times sooner where ranks outnumber cores
[ -f "$build/tests/mpi/yield.so" ] && export LD_PRELOAD="$build/tests/mpi/yield.so${LD_PRELOAD:+:$LD_PRELOAD}"
on "types x ops" 4 "$build/tests/mpi/cells"
on "datatypes with gaps" 4 env TUTTI_NODE=off "$build/tests/mpi/gaps"
on "datatypes" 3 "$build/tests/mpi/types"
on "collectives" 3 "$build/tests/mpi/collectives"
on "GPU memory within a node" 4 "$build/tests/mpi/ipc" mixes

# ---- NCCL: a rank alone; and as many as there are GPUs ----
on "NCCL" 1 "$build/tests/mpi/nccl" cases
several=$((${sim:-$gpus} < 4 ? ${sim:-$gpus} : 4))
if [ "$several" -gt 1 ]; then
    on "NCCL" "$several" "$build/tests/mpi/nccl" cases
else
    left_out "NCCL, several ranks" "one GPU"
    several=2
    export NCCL_MULTI_RANK_GPU_ENABLE=1 # from NCCL 2.30 the bench has both ranks use it; with an older one Tutti goes without
fi
unset LD_PRELOAD
on "tutti bench allreduce" "$several" "$build/tutti" bench allreduce -b 8 -e 64M -f 8 --time 20ms
on "a call that only passes by" 1 "$build/bench/interpose"

echo
date '+%Y-%m-%d'
"$build/tutti" info | sed -n '1,/^NCCL/p'
echo
cat "$table"
if [ $failed -eq 0 ]; then
    echo "all steps passed${sim:+ (on simulated GPUs: a rehearsal)}"
else
    echo "$failed steps failed"
fi
[ $failed -eq 0 ]
