/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of fortran.def for the files that make functions of them, by a macro for each kind of argument (each.h). And
 * what Fortran means by a logical and by a place in an array, for every MPI. */
#ifndef TT_FORTRAN_H
#define TT_FORTRAN_H

#include <config.h>
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>

#include "coll/each.h"
#include "coll/plan.h"

/* The persistent flavour of a collective, where the MPI has it. */
#if TT_FORTRAN_PERSISTENT
#define TT_PERSISTENT(id, Name, ...)                                                                                   \
    TT_WRAP(MPI_##Name##_init, id##_init, __VA_ARGS__, INFO(info), NEW_REQUEST(request))
#else
#define TT_PERSISTENT(id, Name, ...)
#endif

/* What came with sessions, where the MPI has them: a .c file ends with these. */
#if TT_FORTRAN_SESSIONS
#define TT_SESSIONS                                                                                                    \
    TT_WRAP(MPI_Session_init, session_init, INFO(info), ERRHANDLER(errhandler), NEW_SESSION(session))                  \
    TT_WRAP(MPI_Session_finalize, session_finalize, SESSION_LEFT(session))                                             \
    TT_WRAP(MPI_Comm_idup_with_info, comm_idup_with_info, COMM(comm), INFO(info), NEW_COMM(newcomm),                   \
            NEW_REQUEST(request))
#else
#define TT_SESSIONS
#endif

/* Every collective has its Fortran form, in the order of collectives.def; and so has every call of p2p.def, in its
 * three flavours. */
enum tt_fortran_form {
#define TT_FORTRAN_COLLECTIVE(id, Name, ...) TT_FORTRAN_##id,
#define TT_FORTRAN_BUFFERS(id, Name, ...) TT_FORTRAN_##id,
#define TT_FORTRAN(id, Name, ...) TT_FORTRAN_##id,
#include "coll/fortran.def"
#undef TT_FORTRAN_COLLECTIVE
#undef TT_FORTRAN_BUFFERS
#undef TT_FORTRAN
};
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    _Static_assert((int)TT_FORTRAN_##id == (int)TT_COLL_##id, #id " has no row in coll/fortran.def, or elsewhere");
#include "coll/collectives.def"
#undef TT_COLLECTIVE
enum tt_fortran_p2p {
#define TT_P2P_SEND(id, Name, traits, params, fill, args)                                                              \
    TT_P2P_FORM_##id = TT_FORTRAN_##id | TT_FORTRAN_i##id | TT_FORTRAN_##id##_init,
#define TT_P2P_RECV TT_P2P_SEND
#define TT_P2P_MATCHED(id, Name, traits, params, fill, args) TT_P2P_FORM_##id = TT_FORTRAN_##id | TT_FORTRAN_i##id,
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) TT_P2P_FORM_##id = TT_FORTRAN_##id,
#include "coll/p2p.def"
};

/* ---- what is no call of the same form in C: a .c file follows fortran.def with these ---- */
static inline int tt_init(void)
{
    return MPI_Init(NULL, NULL);
}

static inline int tt_init_thread(int required, int *provided)
{
    return MPI_Init_thread(NULL, NULL, required, provided);
}

/* ---- values ---- */

/* What .true. is, the MPI's own Fortran says: it was built by the same compiler as the program. */
static MPI_Fint tt_truth = 1;

static inline void tt_ask_truth(void)
{
    void (*initialized)(MPI_Fint * flag, MPI_Fint * ierror);
    MPI_Fint error;

    *(void **)&initialized = dlsym(RTLD_DEFAULT, "pmpi_initialized_");
    if (initialized)
        initialized(&tt_truth, &error);
}

static inline MPI_Fint tt_logical(int flag)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, tt_ask_truth);
    return flag ? tt_truth : 0;
}

/* n places, if they are any. */
static inline void tt_count_from_one(MPI_Fint *places, int n)
{
    for (int i = 0; i < n; i++)
        if (places[i] != MPI_UNDEFINED)
            places[i]++;
}

#endif
