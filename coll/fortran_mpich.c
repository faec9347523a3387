/* SPDX-License-Identifier: BSD-3-Clause */
/* MPICH's Fortran. All of mpif.h and `use mpi` calls the C functions, with C's constants, and so comes through this
 * library by itself; as do the routines of mpi_f08 that have a buffer. The others of mpi_f08 call PMPI_ at once, and
 * are replaced here. Their handles and statuses are C's, so that a wrapper only looks for the constants that mean no
 * status. Places in an array (MPI_Waitany) are counted from 1, as the standard has it; MPICH 4.0's own mpi_f08 counts
 * from 0. */
#include <stdbool.h>

#include "coll/fortran.h"

/* Other MPIs of MPICH's ABI may lack them. */
#pragma weak MPI_F08_STATUS_IGNORE
#pragma weak MPI_F08_STATUSES_IGNORE

static MPI_Status *status_of(MPI_Status *status)
{
    return &MPI_F08_STATUS_IGNORE && status == (MPI_Status *)MPI_F08_STATUS_IGNORE ? MPI_STATUS_IGNORE : status;
}

static MPI_Status *statuses_of(MPI_Status *statuses)
{
    return &MPI_F08_STATUSES_IGNORE && statuses == (MPI_Status *)MPI_F08_STATUSES_IGNORE ? MPI_STATUSES_IGNORE
                                                                                         : statuses;
}

/* ---- the kinds: the parameter, what is done before, the argument, what is done after ---- */
#define TT_KIND_INT(x) const MPI_Fint *x, , *x,
#define TT_KIND_COMM(x) const MPI_Comm *x, , *x,
#define TT_KIND_GROUP(x) const MPI_Group *x, , *x,
#define TT_KIND_INFO(x) const MPI_Info *x, , *x,
#define TT_KIND_WIN(x) const MPI_Win *x, , *x,
#define TT_KIND_REQUEST_GIVEN(x) const MPI_Request *x, , *x,
#define TT_KIND_NEW_MESSAGE(x) MPI_Message *x, , x,
#define TT_KIND_NEW_COMM(x) MPI_Comm *x, , x,
#define TT_KIND_NEW_INFO(x) MPI_Info *x, , x,
#define TT_KIND_COMM_LEFT(x) MPI_Comm *x, , x,
#define TT_KIND_OP_LEFT(x) MPI_Op *x, , x,
#define TT_KIND_REQUEST(x) MPI_Request *x, , x,
#define TT_KIND_REQUESTS(x) MPI_Request *x, , x,
#define TT_KIND_NEW_REQUEST(x) MPI_Request *x, , x,
#define TT_KIND_STATUS(x) MPI_Status *x, , status_of(x),
#define TT_KIND_STATUSES(x) MPI_Status *x, , statuses_of(x),
#define TT_KIND_FLAG(x) MPI_Fint *x, int c_##x = 0, &c_##x, *x = tt_logical(c_##x)
#define TT_KIND_INT_OUT(x) MPI_Fint *x, *x = 0, x,
#define TT_KIND_INDEX(x) MPI_Fint *x, *x = MPI_UNDEFINED, x, tt_count_from_one(x, 1)
#define TT_KIND_INDICES(x) MPI_Fint *x, , x, tt_count_from_one(x, *outcount)
#define TT_KIND_ERRHANDLER(x) const MPI_Errhandler *x, , *x,
#define TT_KIND_NEW_SESSION(x) MPI_Session *x, , x,
#define TT_KIND_SESSION_LEFT(x) MPI_Session *x, , x,

/* ---- the wrappers ---- */
#define TT_WRAP(call, id, ...)                                                                                         \
    __attribute__((visibility("default"))) void mpi_##id##_f08_(TT_EACH(TT_PARAM, TT_COMMA, __VA_ARGS__)               \
                                                                    __VA_OPT__(, ) MPI_Fint *ierror);                  \
    void mpi_##id##_f08_(TT_EACH(TT_PARAM, TT_COMMA, __VA_ARGS__) __VA_OPT__(, ) MPI_Fint *ierror)                     \
    {                                                                                                                  \
        int error;                                                                                                     \
                                                                                                                       \
        TT_EACH(TT_BEFORE, TT_SEMICOLON, __VA_ARGS__);                                                                 \
        error = call(TT_EACH(TT_ARG, TT_COMMA, __VA_ARGS__));                                                          \
        TT_EACH(TT_AFTER, TT_SEMICOLON, __VA_ARGS__);                                                                  \
        if (ierror)                                                                                                    \
            *ierror = error;                                                                                           \
    }

#define TT_FORTRAN_COLLECTIVE(id, Name, ...)
#define TT_FORTRAN_COLLECTIVE_PLAIN(id, Name, ...)                                                                     \
    TT_WRAP(MPI_##Name, id, __VA_ARGS__)                                                                               \
    TT_WRAP(MPI_I##id, i##id, __VA_ARGS__, NEW_REQUEST(request))                                                       \
    TT_PERSISTENT(id, Name, __VA_ARGS__)
#define TT_FORTRAN_BUFFERS(id, Name, ...)
#define TT_FORTRAN(id, Name, ...) TT_WRAP(MPI_##Name, id, __VA_ARGS__)
#include "coll/fortran.def"
TT_WRAP(tt_init, init)
TT_WRAP(tt_init_thread, init_thread, INT(required), INT_OUT(provided))
TT_SESSIONS
