/* SPDX-License-Identifier: BSD-3-Clause */
/* A preload before Tutti that counts which C functions a Fortran program's calls arrive at, and hands each call on. A
 * call that a function makes of another one is not counted: what counts is what the program asked for. */
#include <dlfcn.h>
#include <string.h>

#include "coll/fortran.h"

#define TT_KIND_BUF(x) const void *x, , x,
#define TT_KIND_INT(x) int x, , x,
#define TT_KIND_INTS(x) const int *x, , x,
#define TT_KIND_AINTS(x) const MPI_Aint *x, , x,
#define TT_KIND_TYPE(x) MPI_Datatype x, , x,
#define TT_KIND_OP(x) MPI_Op x, , x,
#define TT_KIND_COMM(x) MPI_Comm x, , x,
#define TT_KIND_GROUP(x) MPI_Group x, , x,
#define TT_KIND_INFO(x) MPI_Info x, , x,
#define TT_KIND_WIN(x) MPI_Win x, , x,
#define TT_KIND_REQUEST_GIVEN(x) MPI_Request x, , x,
#define TT_KIND_TYPES_TO_RANKS(x) const MPI_Datatype *x, , x,
#define TT_KIND_TYPES_FROM_RANKS(x) const MPI_Datatype *x, , x,
#define TT_KIND_TYPES_TO_NEIGHBOURS(x) const MPI_Datatype *x, , x,
#define TT_KIND_TYPES_FROM_NEIGHBOURS(x) const MPI_Datatype *x, , x,
#define TT_KIND_REQUEST(x) MPI_Request *x, , x,
#define TT_KIND_REQUESTS(x) MPI_Request *x, , x,
#define TT_KIND_NEW_REQUEST(x) MPI_Request *x, , x,
#define TT_KIND_MESSAGE(x) MPI_Message *x, , x,
#define TT_KIND_NEW_MESSAGE(x) MPI_Message *x, , x,
#define TT_KIND_NEW_COMM(x) MPI_Comm *x, , x,
#define TT_KIND_NEW_INFO(x) MPI_Info *x, , x,
#define TT_KIND_COMM_LEFT(x) MPI_Comm *x, , x,
#define TT_KIND_OP_LEFT(x) MPI_Op *x, , x,
#define TT_KIND_STATUS(x) MPI_Status *x, , x,
#define TT_KIND_STATUSES(x) MPI_Status *x, , x,
#define TT_KIND_FLAG(x) int *x, , x,
#define TT_KIND_INT_OUT(x) int *x, , x,
#define TT_KIND_INDEX(x) int *x, , x,
#define TT_KIND_INDICES(x) int *x, , x,

#define ROWS                                                                                                           \
    TT_WRAP(MPI_Init, init, BUF(argc), BUF(argv))                                                                      \
    TT_WRAP(MPI_Init_thread, init_thread, BUF(argc), BUF(argv), INT(required), INT_OUT(provided))
#define TT_FORTRAN_COLLECTIVE(id, Name, ...)                                                                           \
    TT_WRAP(MPI_##Name, id, __VA_ARGS__)                                                                               \
    TT_WRAP(MPI_I##id, i##id, __VA_ARGS__, NEW_REQUEST(request))                                                       \
    TT_PERSISTENT(id, Name, __VA_ARGS__)
#define TT_FORTRAN_BUFFERS(id, Name, ...) TT_WRAP(MPI_##Name, id, __VA_ARGS__)
#define TT_FORTRAN(id, Name, ...) TT_WRAP(MPI_##Name, id, __VA_ARGS__)

/* How often each was called. */
enum {
#define TT_WRAP(call, id, ...) AT_##call,
    ROWS
#include "coll/fortran.def"
#undef TT_WRAP
        NCALLS
};
static const char *const names[NCALLS] = {
#define TT_WRAP(call, id, ...) #call,
    ROWS
#include "coll/fortran.def"
#undef TT_WRAP
};
static int calls[NCALLS];
static __thread int depth;

/* How often this function was called since the last time somebody asked; -1 if another one was, too. */
__attribute__((visibility("default"))) int counted_calls(const char *name)
{
    int n = 0, others = 0;

    for (int i = 0; i < NCALLS; i++)
        *(strcmp(names[i], name) == 0 ? &n : &others) += calls[i];
    memset(calls, 0, sizeof calls);
    return others ? -1 : n;
}

/* By another name in C, since mpi.h has its own mind about which pointers are const. */
#define TT_WRAP(call, id, ...)                                                                                         \
    __attribute__((visibility("default"))) int counted_##id(TT_EACH(TT_PARAM, TT_COMMA, __VA_ARGS__)) __asm__(#call);  \
    int counted_##id(TT_EACH(TT_PARAM, TT_COMMA, __VA_ARGS__))                                                         \
    {                                                                                                                  \
        static int (*next)(TT_EACH(TT_PARAM, TT_COMMA, __VA_ARGS__));                                                  \
        int error;                                                                                                     \
                                                                                                                       \
        if (!next)                                                                                                     \
            *(void **)&next = dlsym(RTLD_NEXT, #call);                                                                 \
        calls[AT_##call] += depth++ == 0;                                                                              \
        error = next(TT_EACH(TT_ARG, TT_COMMA, __VA_ARGS__));                                                          \
        depth--;                                                                                                       \
        return error;                                                                                                  \
    }
ROWS
#include "coll/fortran.def"
