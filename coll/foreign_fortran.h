/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of foreign.def for an MPI whose Fortran goes past C's functions. Nothing is converted: what is due before
 * and after is done around the MPI's own routine of the same name, the next of it in the process, to which every
 * argument goes as it came: each an address, and behind them, by value, the length of each string. So strings, logicals
 * and the constants of each module stay the MPI's affair. */
#ifndef TT_FOREIGN_FORTRAN_H
#define TT_FOREIGN_FORTRAN_H

#include <dlfcn.h>

#include "coll/each.h"
#include "coll/error.h"
#include "coll/foreign.h"
#include "coll/watch.h"

/* ---- the kinds: the parameter, the length behind, the argument, the length as an argument ---- */
#define TT_KIND_INT(x) MPI_Fint *x, , x,
#define TT_KIND_INTS(x) void *x, , x,
#define TT_KIND_ERRCODES(x) void *x, , x,
#define TT_KIND_COMM(x) MPI_Fint *x, , x,
#define TT_KIND_GROUP_GIVEN(x) MPI_Fint *x, , x,
#define TT_KIND_INFO(x) MPI_Fint *x, , x,
#define TT_KIND_INFOS(x) void *x, , x,
#define TT_KIND_TYPE(x) void *x, , x,
#define TT_KIND_WIN_GIVEN(x) MPI_Fint *x, , x,
#define TT_KIND_FILE_GIVEN(x) MPI_Fint *x, , x,
#define TT_KIND_COMM_LEFT(x) MPI_Fint *x, , x,
#define TT_KIND_WIN_LEFT(x) MPI_Fint *x, , x,
#define TT_KIND_FILE_LEFT(x) MPI_Fint *x, , x,
#define TT_KIND_NEW_COMM(x) MPI_Fint *x, , x,
#define TT_KIND_NEW_WIN(x) void *x, , x,
#define TT_KIND_NEW_FILE(x) void *x, , x,
#define TT_KIND_BUF(x) void *x, , x,
#define TT_KIND_BUF_GIVEN(x) void *x, , x,
#define TT_KIND_STATUS(x) void *x, , x,
#define TT_KIND_BYTES(x) void *x, , x,
#define TT_KIND_OFFSET(x) void *x, , x,
#define TT_KIND_UNIT(x) void *x, , x,
#define TT_KIND_COUNT(x) void *x, , x,
#define TT_KIND_TEXT(x) void *x, TT_COMMA TT_PARENS size_t length_of_##x, x, TT_COMMA TT_PARENS length_of_##x
#define TT_KIND_TEXTS(x) TT_KIND_TEXT(x)
#define TT_KIND_TEXTS_OF_EACH(x) TT_KIND_TEXT(x)

#define TT_MEET_COMM(c) tt_foreign_comm(PMPI_Comm_f2c(*c))
#define TT_MEET_COMM_AT(c) tt_foreign_comm(PMPI_Comm_f2c(*c))
#define TT_MEET_GROUP(g, tag) tt_foreign_group(PMPI_Group_f2c(*g), *tag)
#define TT_MEET_ACROSS(local, leader, peers, remote_leader, tag)                                                       \
    tt_foreign_across(PMPI_Comm_f2c(*local), *leader, PMPI_Comm_f2c(*peers), *remote_leader, *tag)
#define TT_MEET_WIN(w) tt_foreign_win(PMPI_Win_f2c(*w))
#define TT_MEET_WIN_AT(w) tt_foreign_win(PMPI_Win_f2c(*w))
#define TT_MEET_FILE(f) tt_foreign_file(PMPI_File_f2c(*f))
#define TT_MEET_FILE_AT(f) tt_foreign_file(PMPI_File_f2c(*f))
#define TT_MEET_NOBODY()
#define TT_THEN_MADE(c) tt_foreign_made(PMPI_Comm_f2c(*c))
#define TT_THEN_MADE_WITH(c, info) *ierror = made_with(c, info)
#define TT_THEN_HINTED(c, info) *ierror = tt_hints_set(PMPI_Comm_f2c(*c), PMPI_Info_f2c(*info))
#define TT_THEN_NAMED(c) tt_watch_named(PMPI_Comm_f2c(*c))
#define TT_THEN_NO_COMM

static inline int made_with(MPI_Fint *made, const MPI_Fint *info)
{
    MPI_Comm comm = PMPI_Comm_f2c(*made);
    const int error = tt_foreign_made_with(&comm, PMPI_Info_f2c(*info));

    *made = PMPI_Comm_c2f(comm);
    return error;
}

/* ---- the wrappers ---- */
#define TT_FOREIGN_PARAMS(...)                                                                                         \
    (TT_EACH(TT_PARAM, TT_COMMA, __VA_ARGS__), MPI_Fint * ierror TT_EACH(TT_BEFORE, TT_NOTHING, __VA_ARGS__))
#define TT_FOREIGN_ROUTINE(name, who, made, ...)                                                                       \
    __attribute__((visibility("default"))) void name TT_FOREIGN_PARAMS(__VA_ARGS__);                                   \
    void name TT_FOREIGN_PARAMS(__VA_ARGS__)                                                                           \
    {                                                                                                                  \
        static void(*theirs) TT_FOREIGN_PARAMS(__VA_ARGS__);                                                           \
        MPI_Fint own;                                                                                                  \
                                                                                                                       \
        ierror = ierror ? ierror : &own;                                                                               \
        if (!theirs)                                                                                                   \
            *(void **)&theirs = dlsym(RTLD_NEXT, #name);                                                               \
        if (!theirs) {                                                                                                 \
            *ierror = tt_raise(MPI_COMM_WORLD, "the MPI below has no " #name);                                         \
            return;                                                                                                    \
        }                                                                                                              \
        TT_MEET_##who;                                                                                                 \
        theirs(TT_EACH(TT_ARG, TT_COMMA, __VA_ARGS__), ierror TT_EACH(TT_AFTER, TT_NOTHING, __VA_ARGS__));             \
        if (*ierror == MPI_SUCCESS) {                                                                                  \
            TT_THEN_##made;                                                                                            \
        }                                                                                                              \
    }

#endif
