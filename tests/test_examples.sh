#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The examples run, and are right, on the simulated device and, where they have a way without one, on the host; those in
# Fortran and Python where these are there. Each ends with an error if its own result is wrong.
top=${srcdir:-$(dirname "$0")/..}
: "${MPIEXEC:=mpiexec}" "${BUILD:=.}"
. "$top/tests/tap.sh"

oversubscribe=
case $("$MPIEXEC" --version 2>/dev/null) in
*"Open MPI"* | *OpenRTE*)
    oversubscribe=--oversubscribe
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    ;;
esac
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# without a GPU, but with a CUDA runtime, which the examples are linked with
export LD_LIBRARY_PATH="$BUILD/tests/simcuda/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" TUTTI_SIM_GPUS=0

# example GPUS RANKS PROGRAM...
example()
{
    simulate= ranks=$2
    [ "$1" -eq 0 ] || simulate="--sim-gpus $1"
    shift 2
    timeout -k 5 240 "$BUILD/tutti" run $simulate -- "$MPIEXEC" $oversubscribe -n "$ranks" "$@" >"$output" 2>&1 ||
        { cat "$output"; false; }
}

says()
{
    grep -q -e "$1" "$output" || { cat "$output"; false; }
}

export TUTTI_REPRODUCIBLE=1
ok "mlp on simulated GPUs" example 2 2 "$BUILD/examples/mlp"
ok "mlp is in GPU memory" says "in managed GPU memory"
ok "mlp: buckets come to the same weights" says "differ by 0 at most"
ok "mlp says where the time went" says "buckets: loss .* of exposed communication"
ok "mlp says how much was overlapped" says "of the last step .* overlapped: "
ok "mlp on the host" example 0 2 "$BUILD/examples/mlp"
ok "mlp is in host memory" says "in host memory"
unset TUTTI_REPRODUCIBLE
ok "jacobi" example 2 3 "$BUILD/examples/jacobi"
ok "jacobi has converged" says "in the middle it is 0.2[0-9]*, expected 0.25"
ok "moe" example 2 3 "$BUILD/examples/moe"
ok "moe shows its skew" says "[2-9]\.[0-9]* times as many\|1\.[1-9][0-9]* times as many"
if [ -x "$BUILD/examples/pi" ]; then
    ok "pi, in Fortran" example 0 3 "$BUILD/examples/pi"
    ok "pi is right" says "3.14159265"
fi
# mpi4py may be of another MPI: then each rank is alone
if timeout 60 "$MPIEXEC" $oversubscribe -n 2 python3 -c 'import sys
from mpi4py import MPI
import numpy
sys.exit(MPI.COMM_WORLD.size != 2)' >/dev/null 2>&1; then
    ok "sums.py" example 0 2 python3 "$top/examples/sums.py"
    ok "sums.py is right" says "correct"
    ok "sums.py on simulated GPUs" example 2 3 env TUTTI_EXPLAIN=1 python3 "$top/examples/sums.py"
    ok "sums.py is right there, too" says "3 ranks, .*correct"
    ok "sums.py is carried out by Tutti" says "MPI_Allreduce, .* 3 ranks: "
else
    echo "# no mpi4py, with NumPy, of this MPI: sums.py is not run"
fi
done_testing
