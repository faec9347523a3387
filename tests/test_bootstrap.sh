#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bootstrap, as far as it can be tried without installing or building: what it takes, what it finds missing, what it remembers
# and keeps, and how it adds up test results, which the build service trusts. Its functions are taken one by one, and
# tried on trees, compilers and results made up here, in a directory of their own.
set -eu
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
. "$top/tests/tap.sh"

status_of()
{
    status=0
    "$@" >said 2>&1 || status=$?
    echo "$status"
}

# result NAME VERDICT TEXT: what automake leaves of one test.
result()
{
    mkdir -p "$(dirname "build/$1")"
    printf ':test-result: %s\n' "$2" >"build/$1.trs"
    printf '%s\n' "$3" >"build/$1.log"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

same "an unknown argument is refused" 2 "$(status_of "$top/bootstrap" sing)"
ok "and named" grep -q 'what is "sing"' said
ok "and what may be said is told" grep -q '^Usage: ./bootstrap' said
same "two actions are refused" 2 "$(status_of "$top/bootstrap" build check)"
same "an unknown MPI is refused" 2 "$(status_of "$top/bootstrap" --mpi=lam)"
same "help is no error" 0 "$(status_of "$top/bootstrap" --help)"

for name in say die quietly have have_module mpi_compiles missing_packages make_configure remember forget_other_mpi \
    forget_without_fortran forget_other_prefix run_configure print_found print_totals; do
    eval "$(sed -n "/^$name()/,/^}/p" "$top/bootstrap")"
done

# A compiler wrapper without what it wraps, and one with it.
mkdir bin build
printf '#!/bin/sh\necho "mpi.h: No such file" >&2\nexit 1\n' >bin/mpicc.bare
printf '#!/bin/sh\ngrep -q "^#include <mpi.h>" "$3"\n' >bin/mpicc.whole
cp bin/mpicc.whole bin/mpiexec.bare
cp bin/mpicc.whole bin/mpiexec.whole
chmod +x bin/*
PATH=$work/bin:$PATH
mpi_dev=lib-dev mpi_bin=bin
missing_of()
{
    mpi=$1
    missing_packages | grep -x -e lib-dev -e bin || :
}
same "a wrapper that can't compile wants the development package" lib-dev "$(missing_of bare)"
ok "and what it said is kept" grep -q 'No such file' build/mpi.log
same "one that compiles wants nothing" "" "$(missing_of whole)"
same "none at all wants both" "bin lib-dev" "$(missing_of none | tr '\n' ' ' | sed 's/ $//')"

missing_to()
{
    action=$1
    have() { [ "$1" != gfortran ]; }
    missing_packages | grep -x gfortran || :
}
mpi=whole
same "to check, a Fortran compiler is wanted" gfortran "$(missing_to check)"
same "to build, none is" "" "$(missing_to build)"

fails()
{
    echo "words $1"
    return 3
}
same "a failure is passed on" 1 "$( (quietly build/a.log fails one) >said 2>&1 || echo $?)"
same "a success is silent" "" "$(quietly build/a.log echo two 2>&1)"
(quietly build/a.log fails three) >said 2>&1 || :
same "a log keeps all runs" "words one,two,words three," "$(grep -v '^====' build/a.log | tr '\n' ',')"
same "and a heading for each" 3 "$(grep -c '^==== 2.*: [a-z]* [a-z]*$' build/a.log)"
ok "the failing run is shown" grep -q 'words three' said
same "the ones before are not" 0 "$(grep -c 'words one' said)"
mkdir build/closed.log
(quietly build/closed.log touch was-run) >said 2>&1 || :
ok "a log that can't be written is named" grep -q "build/closed.log can't be written" said
ok "and nothing is done" test ! -f was-run

# autoreconf as it is: what comes out the same keeps its time.
autoreconf()
{
    echo once >>autoreconf.runs
}
mkdir m4
touch -d '1 hour ago' configure.ac aclocal.m4 configure config.h.in Makefile.in m4
chmod +x configure
touch Makefile.am
make_configure >/dev/null
make_configure >/dev/null
make_configure >/dev/null
same "a newer Makefile.am makes configure anew, once" 1 "$(wc -l <autoreconf.runs)"

printf '#!/bin/sh\necho noise\necho "  Tutti for $*"\n: >config.status\n' >configure
# configured MPI PREFIX: what is left of the tree, as ./bootstrap --mpi=MPI --prefix=PREFIX goes about it.
configured()
{
    mpi=$1 prefix=$2
    remember
    run_configure >said
    print_found
}
same "configured for the defaults" "  Tutti for CC=mpicc.mpich --prefix=/usr/local" "$(configured '' '')"
touch build/kernels.fatbin build/libtutti.la build/tutti-paths.o
same "an MPI that is given is taken" "  Tutti for CC=mpicc.openmpi --prefix=/usr/local" "$(configured openmpi '')"
ok "and nothing of the other is left" test ! -f build/kernels.fatbin
touch build/kernels.fatbin build/libtutti.la build/tutti-paths.o build/plan.o
same "and remembered" "  Tutti for CC=mpicc.openmpi --prefix=/usr/local" "$(configured '' '')"
ok "all is kept that was built" test -f build/libtutti.la
same "a prefix is no other MPI" "  Tutti for CC=mpicc.openmpi --prefix=/else where" "$(configured '' '/else where')"
ok "what does not hold the prefix is kept" test -f build/kernels.fatbin -a -f build/plan.o
ok "what holds it goes" test ! -f build/libtutti.la -a ! -f build/tutti-paths.o
same "and is remembered" "  Tutti for CC=mpicc.openmpi --prefix=/else where" "$(configured '' '')"
same "nothing to configure is nothing said" "" "$(cat said)"
echo 'S["HAVE_FORTRAN_TRUE"]="#"' >build/config.status
action=check
configured '' '' >/dev/null
ok "to check, Fortran is looked for again where it was missing" test -s said
echo 'S["HAVE_FORTRAN_TRUE"]=""' >build/config.status
configured '' '' >/dev/null
same "and not where it was there" "" "$(cat said)"
rm -r build

result tests/one PASS '100%: Checks: 55, Failures: 0, Errors: 0'
result tests/deep/two PASS '100%: Checks: 5, Failures: 0, Errors: 0'
same "passes add up" "60 passed, 0 failed" "$(print_totals)"
ok "and are a success" print_totals >/dev/null
result tests/three FAIL '50%: Checks: 6, Failures: 2, Errors: 1'
same "failures and errors add up" "63 passed, 3 failed" "$(print_totals || :)"
same "and are a failure" 1 "$(status_of print_totals)"
result tests/four FAIL 'Segmentation fault'
same "a program that died before its last line is a failure" "63 passed, 4 failed" "$(print_totals || :)"
rm -r build
mkdir build
same "no tests at all are a failure" 1 "$(status_of print_totals)"
done_testing
