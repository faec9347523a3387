# SPDX-License-Identifier: BSD-3-Clause
# What configure looks for, a macro each; every one sets the words of its line in the summary.

# The MPI that CC compiles for: its name, its mpiexec, and whether it has the large-count twins of MPI-4.
AC_DEFUN([TT_MPI], [
AC_CHECK_FUNC([MPI_Init], [], [AC_MSG_ERROR([$CC does not link MPI programs: say CC=mpicc, or mpicc.mpich, or mpicc.openmpi])])
AC_CHECK_FUNC([MPI_Allreduce_c], [tt_large_count=yes], [tt_large_count=no])
AM_CONDITIONAL([LARGE_COUNT], [test $tt_large_count = yes])
# Open MPI has a macro of that name, for the sake of its error message
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
int combiner = MPI_COMBINER_HVECTOR_INTEGER;]])], [AC_DEFINE([OLD_COMBINERS], [1], [the MPI knows the datatypes of MPI-1's Fortran])])
AC_CHECK_FUNC([MPI_Isendrecv], [tt_isendrecv=1], [tt_isendrecv=0])
AC_DEFINE_UNQUOTED([TT_HAVE_ISENDRECV], [$tt_isendrecv], [the MPI has nonblocking exchanges])
AM_CONDITIONAL([ISENDRECV], [test $tt_isendrecv = 1])
AC_CHECK_FUNC([MPI_Session_init], [tt_sessions=yes], [tt_sessions=no])
AM_CONDITIONAL([SESSIONS], [test $tt_sessions = yes])
AC_DEFINE_UNQUOTED([TT_FORTRAN_SESSIONS], [`test $tt_sessions = no; echo $?`], [the MPI has sessions, for Tutti's Fortran])
# Open MPI 4.1 has them under a name of its own
AC_CHECK_FUNC([MPI_Allreduce_init], [tt_persistent=yes],
    [AC_CHECK_FUNC([MPIX_Allreduce_init], [tt_persistent=extension], [tt_persistent=no])])
AM_CONDITIONAL([PERSISTENT], [test $tt_persistent != no])
AM_CONDITIONAL([FORTRAN_PERSISTENT], [test $tt_persistent = yes])
AC_DEFINE_UNQUOTED([TT_HAVE_PERSISTENT], [`test $tt_persistent = no; echo $?`], [the MPI has persistent collectives])
AC_DEFINE_UNQUOTED([TT_FORTRAN_PERSISTENT], [`test $tt_persistent != yes; echo $?`], [and Tutti wraps them in Fortran])
AS_IF([test $tt_persistent = extension],
    [AC_DEFINE([TT_PERSISTENT_HEADER], [<mpi-ext.h>], [where they are declared])
     AC_DEFINE([TT_INIT_NAME(P, Name, C)], [P ## MPIX_ ## Name ## _init ## C], [what they are called])],
    [AC_DEFINE([TT_PERSISTENT_HEADER], [<mpi.h>])
     AC_DEFINE([TT_INIT_NAME(P, Name, C)], [P ## MPI_ ## Name ## _init ## C])])
AC_CHECK_FUNC([MPI_Allreduce_init_c], [tt_persistent_large=yes], [tt_persistent_large=no])
AM_CONDITIONAL([PERSISTENT_LARGE], [test $tt_persistent_large = yes])
AC_MSG_CHECKING([which MPI it is])
tt_mpi=unknown
AC_PREPROC_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#ifndef OPEN_MPI
#error
#endif]])], [tt_mpi="Open MPI"])
AC_PREPROC_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#ifndef MPICH_VERSION
#error
#endif]])], [tt_mpi=MPICH])
AC_MSG_RESULT([$tt_mpi])
AM_CONDITIONAL([OPENMPI], [test "$tt_mpi" = "Open MPI"])
# mpicc.mpich goes with mpiexec.mpich, a plain mpicc with a plain mpiexec, and one in a folder of its own with what is there
tt_mpicc=`AS_ECHO(["$CC"]) | $SED 's/ .*//'`
AS_CASE([$tt_mpicc], [*/*], [tt_dirs=`AS_DIRNAME(["$tt_mpicc"])`], [tt_dirs=$PATH])
tt_mpicc=`AS_ECHO(["$tt_mpicc"]) | $SED 's,.*/,,'`
AC_PATH_PROGS([MPIEXEC], [`AS_ECHO(["$tt_mpicc"]) | $SED 's/mpicc/mpiexec/'` mpiexec], [mpiexec], [$tt_dirs])
TT_FORTRAN
AC_DEFINE_UNQUOTED([TT_MPI_NAME], ["$tt_mpi"], [the MPI it was built with])
tt_mpi="$tt_mpi ($CC, $MPIEXEC)"
AS_IF([test $tt_large_count = no], [tt_mpi="$tt_mpi, without the MPI-4 _c calls"])
AS_IF([test $tt_persistent = no], [tt_mpi="$tt_mpi, without persistent collectives"])
])

# Whose Fortran is to be wrapped, and a Fortran compiler for the tests of that: the one that goes with CC's MPI.
AC_DEFUN([TT_FORTRAN], [
AC_MSG_CHECKING([whether its Fortran INTEGER is C's int])
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "another size");]])], [tt_fint=yes], [tt_fint=no])
AC_MSG_RESULT([$tt_fint])
AM_CONDITIONAL([FORTRAN_MPICH], [test "$tt_mpi" = MPICH])
AM_CONDITIONAL([FORTRAN_OPENMPI], [test "$tt_mpi" = "Open MPI" && test $tt_fint = yes])
AC_ARG_VAR([FC], [Fortran compiler of the MPI, for tests])
AC_PATH_PROGS([FC], [`AS_ECHO(["$tt_mpicc"]) | $SED 's/mpicc/mpifort/'`], [], [$tt_dirs])
cat >conftest.f90 <<'END'
program conftest
  use mpi_f08
  call MPI_Init()
end program
END
AS_IF([test "$tt_mpi" = "Open MPI" && test $tt_fint = no], [FC= tt_fortran="not wrapped: its INTEGER is not C's int"],
    [test -n "$FC" && $FC -o conftest conftest.f90 >&AS_MESSAGE_LOG_FD 2>&1], [tt_fortran="tested with $FC"],
    [FC= tt_fortran="no Fortran compiler that builds MPI programs, so not tested"])
rm -f conftest conftest.f90
AM_CONDITIONAL([HAVE_FORTRAN], [test -n "$FC"])
])

# nvcc, for the kernels. The host code needs neither nvcc nor cuda.h.
AC_DEFUN([TT_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [build the GPU kernels with the CUDA toolkit in DIR @<:@found by PATH@:>@])],
    [], [with_cuda=check])
AS_IF([test "x$with_cuda" = xno], [NVCC=],
    [test "x$with_cuda" = xcheck || test "x$with_cuda" = xyes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
AS_IF([test -z "$NVCC" && test "x$with_cuda" != xcheck && test "x$with_cuda" != xno],
    [AC_MSG_ERROR([--with-cuda was given but there is no nvcc: say --with-cuda=DIR, or leave the option out])])
AM_CONDITIONAL([HAVE_NVCC], [test -n "$NVCC"])
AS_IF([test -n "$NVCC"], [
    tt_cuda_home=`dirname "$NVCC"`/..
    tt_cuda="`$NVCC --version | $SED -n 's/.*release \([[0-9.]]*\).*/\1/p'` ($NVCC)"
    AC_DEFINE([TT_HAVE_KERNELS], [1], [GPU kernels are built in])],
    [tt_cuda="nvcc not found, so no GPU kernels: reductions of GPU memory go through the host"
    AC_DEFINE([TT_HAVE_KERNELS], [0])])
AC_SUBST([CUDA_HOME], [$tt_cuda_home])
AM_CONDITIONAL([HAVE_CUDA_H], [test -n "$tt_cuda_home" && test -f "$tt_cuda_home/include/cuda.h"])
])

# NCCL is opened at run time; only its version is looked at here.
AC_DEFUN([TT_NCCL], [
AC_ARG_WITH([nccl], [AS_HELP_STRING([--with-nccl@<:@=DIR@:>@], [look for nccl.h in DIR/include])], [], [with_nccl=check])
tt_nccl="not found, so it is looked for at run time only"
AS_CASE([$with_nccl], [no], [tt_dirs=], [check|yes], [tt_dirs="$tt_cuda_home /usr /usr/local"], [tt_dirs=$with_nccl])
for tt_dir in $tt_dirs; do
    AS_IF([test -f "$tt_dir/include/nccl.h"], [
        tt_nccl="`$SED -n 's/^#define NCCL_MAJOR *//p;s/^#define NCCL_MINOR *//p;s/^#define NCCL_PATCH *//p' "$tt_dir/include/nccl.h" | tr '\n' .`"
        tt_nccl="${tt_nccl%.} ($tt_dir/include/nccl.h)"
        break])
done
AS_CASE([$with_nccl$tt_nccl], [no*|check*], [], [*"not found"*],
    [AC_MSG_ERROR([--with-nccl was given but there is no nccl.h: say --with-nccl=DIR for DIR/include/nccl.h])])
])

# Ranges for profilers: NVTX is all in its headers, which a toolkit has that need not be the one that kernels are built with.
AC_DEFUN([TT_NVTX], [
AC_ARG_WITH([nvtx], [AS_HELP_STRING([--with-nvtx@<:@=DIR@:>@], [tell profilers of collectives by nvtx3/nvToolsExt.h in DIR/include])],
    [], [with_nvtx=check])
tt_nvtx="not found, so profilers are told nothing" NVTX_CPPFLAGS=
AS_CASE([$with_nvtx], [no], [tt_dirs=], [check|yes], [tt_dirs="$tt_cuda_home /usr/local/cuda /usr /usr/local"], [tt_dirs=$with_nvtx])
for tt_dir in $tt_dirs; do
    AS_IF([test -f "$tt_dir/include/nvtx3/nvToolsExt.h"], [
        tt_nvtx="$tt_dir/include/nvtx3"
        AS_CASE([$tt_dir], [/usr], [], [NVTX_CPPFLAGS="-idirafter $tt_dir/include"])
        break])
done
AS_CASE([$with_nvtx$tt_nvtx], [no*|check*], [], [*"not found"*],
    [AC_MSG_ERROR([--with-nvtx was given but there is no nvtx3/nvToolsExt.h: say --with-nvtx=DIR for DIR/include])])
AC_SUBST([NVTX_CPPFLAGS])
AM_CONDITIONAL([HAVE_NVTX], [test "x${tt_nvtx#not found}" = "x$tt_nvtx"])
])

AC_DEFUN([TT_SANITIZERS], [
AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers], [build with ASan and UBSan; the unit tests must pass])])
AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" = xyes])
])

# Blocks of some hundred bytes, which every call copies and clears, by plain moves: the string instructions that gcc takes
# for them by itself cost some fifty cycles each before the first byte. Compilers that do not know the option need none.
AC_DEFUN([TT_SHORT_BLOCKS], [
    tt_saved_CFLAGS=$CFLAGS
    BLOCK_CFLAGS="-mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign"
    BLOCK_CFLAGS="$BLOCK_CFLAGS -mmemcpy-strategy=vector_loop:256:noalign,libcall:-1:noalign"
    CFLAGS="$CFLAGS -Werror $BLOCK_CFLAGS"
    AC_MSG_CHECKING([whether short blocks can be copied by plain moves])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no]); BLOCK_CFLAGS=])
    CFLAGS=$tt_saved_CFLAGS
    AC_SUBST([BLOCK_CFLAGS])
])
