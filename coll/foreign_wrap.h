/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row of foreign.def becomes in C, for foreign*.c. No logic. C is _c in the large-count twins, and nothing
 * otherwise. */
#ifndef TT_FOREIGN_WRAP_H
#define TT_FOREIGN_WRAP_H

#include "coll/each.h"
#include "coll/foreign.h"
#include "coll/watch.h"

#define TT_KIND_INT(x) int x, , x,
#define TT_KIND_INTS(x) const int *x, , x,
#define TT_KIND_ERRCODES(x) int *x, , x,
#define TT_KIND_COMM(x) MPI_Comm x, , x,
#define TT_KIND_GROUP_GIVEN(x) MPI_Group x, , x,
#define TT_KIND_INFO(x) MPI_Info x, , x,
#define TT_KIND_INFOS(x) const MPI_Info *x, , x,
#define TT_KIND_TYPE(x) MPI_Datatype x, , x,
#define TT_KIND_WIN_GIVEN(x) MPI_Win x, , x,
#define TT_KIND_FILE_GIVEN(x) MPI_File x, , x,
#define TT_KIND_COMM_LEFT(x) MPI_Comm *x, , x,
#define TT_KIND_WIN_LEFT(x) MPI_Win *x, , x,
#define TT_KIND_FILE_LEFT(x) MPI_File *x, , x,
#define TT_KIND_NEW_COMM(x) MPI_Comm *x, , x,
#define TT_KIND_NEW_WIN(x) MPI_Win *x, , x,
#define TT_KIND_NEW_FILE(x) MPI_File *x, , x,
#define TT_KIND_BUF(x) void *x, , x,
#define TT_KIND_BUF_GIVEN(x) const void *x, , x,
#define TT_KIND_STATUS(x) MPI_Status *x, , x,
#define TT_KIND_BYTES(x) MPI_Aint x, , x,
#define TT_KIND_OFFSET(x) MPI_Offset x, , x,
#define TT_KIND_UNIT(x) D x, , x,
#define TT_KIND_COUNT(x) N x, , x,
#define TT_KIND_TEXT(x) const char *x, , x,
#define TT_KIND_TEXTS(x) char **x, , x,
#define TT_KIND_TEXTS_OF_EACH(x) char ***x, , x,

#define TT_MEET_COMM(c) tt_foreign_comm(c)
#define TT_MEET_COMM_AT(c) tt_foreign_comm(*c)
#define TT_MEET_GROUP(g, tag) tt_foreign_group(g, tag)
#define TT_MEET_ACROSS(...) tt_foreign_across(__VA_ARGS__)
#define TT_MEET_WIN(w) tt_foreign_win(w)
#define TT_MEET_WIN_AT(w) tt_foreign_win(*w)
#define TT_MEET_FILE(f) tt_foreign_file(f)
#define TT_MEET_FILE_AT(f) tt_foreign_file(*f)
#define TT_MEET_NOBODY()
#define TT_THEN_MADE(c) tt_foreign_made(*c)
#define TT_THEN_MADE_WITH(c, info) error = tt_foreign_made_with(c, info)
#define TT_THEN_HINTED(c, info) error = tt_hints_set(c, info)
#define TT_THEN_NAMED(c) tt_watch_named(c)
#define TT_THEN_NO_COMM

/* Whose ranks it waits for, as far as that is a communicator. */
#define TT_WITH_COMM(c) c
#define TT_WITH_COMM_AT(c) *c
#define TT_WITH_GROUP(g, tag) MPI_COMM_NULL
#define TT_WITH_ACROSS(...) MPI_COMM_NULL
#define TT_WITH_WIN(w) MPI_COMM_NULL
#define TT_WITH_WIN_AT(w) MPI_COMM_NULL
#define TT_WITH_FILE(f) MPI_COMM_NULL
#define TT_WITH_FILE_AT(f) MPI_COMM_NULL
#define TT_WITH_NOBODY() MPI_COMM_NULL

#define TT_WRAP_FOREIGN(Name, C, who, made, ...)                                                                       \
    __attribute__((visibility("default"))) int MPI_##Name##C(TT_EACH(TT_PARAM, TT_COMMA, __VA_ARGS__))                 \
    {                                                                                                                  \
        struct tt_spot room, *spot =                                                                                   \
            tt_watch_spot(&room, #Name, TT_WITH_##who, TT_NOBODY, TT_NOBODY, __builtin_return_address(0));             \
        int error;                                                                                                     \
                                                                                                                       \
        TT_MEET_##who;                                                                                                 \
        error = PMPI_##Name##C(TT_EACH(TT_ARG, TT_COMMA, __VA_ARGS__));                                                \
        if (error == MPI_SUCCESS) {                                                                                    \
            TT_THEN_##made;                                                                                            \
        }                                                                                                              \
        tt_unwatch_spot(spot);                                                                                         \
        return error;                                                                                                  \
    }

#endif
