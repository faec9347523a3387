/* SPDX-License-Identifier: BSD-3-Clause */
/* How the rows of fortran.def become functions: a file that makes wrappers has a macro for each kind of argument, of
 * four fields, and a wrapper is put together from those of its arguments:
 *
 *   TT_KIND_<kind>(x)   the parameter, what is done before the call (or nothing), the argument of the C function, what
 *                       is done after the call (or nothing)
 *
 * And what Fortran means by a logical and by a place in an array, for every MPI. */
#ifndef TT_FORTRAN_H
#define TT_FORTRAN_H

#include <config.h>
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>

#include "coll/plan.h"

#define TT_PARAM(a) TT_FIELD_1(TT_KIND_##a)
#define TT_BEFORE(a) TT_FIELD_2(TT_KIND_##a)
#define TT_ARG(a) TT_FIELD_3(TT_KIND_##a)
#define TT_AFTER(a) TT_FIELD_4(TT_KIND_##a)
#define TT_FIELD_1(...) TT_FIRST(__VA_ARGS__)
#define TT_FIELD_2(...) TT_SECOND(__VA_ARGS__)
#define TT_FIELD_3(...) TT_THIRD(__VA_ARGS__)
#define TT_FIELD_4(...) TT_FOURTH(__VA_ARGS__)
#define TT_FIRST(a, b, c, d) a
#define TT_SECOND(a, b, c, d) b
#define TT_THIRD(a, b, c, d) c
#define TT_FOURTH(a, b, c, d) d

/* TT_EACH(m, s, a, b) is m(a) s() m(b). Each TT_AGAIN_ lets the preprocessor look once more; there are at most 13
 * arguments. */
#define TT_EACH(m, s, ...) __VA_OPT__(TT_AGAIN_3(TT_EACH_STEP(m, s, __VA_ARGS__)))
#define TT_EACH_STEP(m, s, a, ...) m(a) __VA_OPT__(s() TT_EACH_LATER TT_PARENS(m, s, __VA_ARGS__))
#define TT_EACH_LATER() TT_EACH_STEP
#define TT_PARENS ()
#define TT_AGAIN_3(...) TT_AGAIN_2(TT_AGAIN_2(TT_AGAIN_2(__VA_ARGS__)))
#define TT_AGAIN_2(...) TT_AGAIN_1(TT_AGAIN_1(TT_AGAIN_1(__VA_ARGS__)))
#define TT_AGAIN_1(...) __VA_ARGS__
#define TT_COMMA() ,
#define TT_SEMICOLON() ;

/* The persistent flavour of a collective, where the MPI has it. */
#if TT_FORTRAN_PERSISTENT
#define TT_PERSISTENT(id, Name, ...)                                                                                   \
    TT_WRAP(MPI_##Name##_init, id##_init, __VA_ARGS__, INFO(info), NEW_REQUEST(request))
#else
#define TT_PERSISTENT(id, Name, ...)
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
