/* SPDX-License-Identifier: BSD-3-Clause */
/* The point-to-point calls as the tests make them: every form of every row of p2p.def, large-count twins too, so that a
 * new row is tested without another word. Included once by a program. */
#ifndef P2P_ROWS_H
#define P2P_ROWS_H

#include <config.h>
#include <stdlib.h>

#include "coll/p2p.h"
#include "tests/mpi/harness.h"

#define CALL(from, id, Name, C, ...)                                                                                   \
    static int from##call##C##_##id(const struct tt_p2p *c, MPI_Status *status)                                        \
    {                                                                                                                  \
        (void)status;                                                                                                  \
        return from##Name##C(__VA_ARGS__);                                                                             \
    }
#define START(from, id, C, ...)                                                                                        \
    static int from##start##C##_##id(const struct tt_p2p *c, MPI_Request *request)                                     \
    {                                                                                                                  \
        return from##I##id##C(__VA_ARGS__, request);                                                                   \
    }
#define INIT(from, id, Name, C, ...)                                                                                   \
    static int from##init##C##_##id(const struct tt_p2p *c, MPI_Request *request)                                      \
    {                                                                                                                  \
        return from##Name##_init##C(__VA_ARGS__, request);                                                             \
    }
#define ARGS(...) __VA_ARGS__

#define SEND_OF(from, id, Name, C, args)                                                                               \
    CALL(from, id, Name, C, ARGS args) START(from, id, C, ARGS args) INIT(from, id, Name, C, ARGS args)
#define RECV_OF(from, id, Name, C, args)                                                                               \
    CALL(from, id, Name, C, ARGS args, status) START(from, id, C, ARGS args) INIT(from, id, Name, C, ARGS args)
#define MATCHED_OF(from, id, Name, C, args) CALL(from, id, Name, C, ARGS args, status) START(from, id, C, ARGS args)
#define EXCHANGE_OF(from, id, Name, C, args) CALL(from, id, Name, C, ARGS args, status)

#define N int
#define TT_P2P_SEND(id, Name, traits, params, fill, args)                                                              \
    SEND_OF(MPI_, id, Name, , args) SEND_OF(PMPI_, id, Name, , args)
#define TT_P2P_RECV(id, Name, traits, params, fill, args)                                                              \
    RECV_OF(MPI_, id, Name, , args) RECV_OF(PMPI_, id, Name, , args)
#define TT_P2P_MATCHED(id, Name, traits, params, fill, args)                                                           \
    MATCHED_OF(MPI_, id, Name, , args) MATCHED_OF(PMPI_, id, Name, , args)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args)                                                          \
    EXCHANGE_OF(MPI_, id, Name, , args) EXCHANGE_OF(PMPI_, id, Name, , args)
#include "coll/p2p.def"

#if TT_HAVE_ISENDRECV
#define TT_P2P_SEND(...)
#define TT_P2P_RECV(...)
#define TT_P2P_MATCHED(...)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) START(MPI_, id, , ARGS args) START(PMPI_, id, , ARGS args)
#include "coll/p2p.def"
#define EXCHANGE_START(from, C, id) from##start##C##_##id
#else
#define EXCHANGE_START(from, C, id) NULL
#endif
#undef N

#if MPI_VERSION >= 4
#define N MPI_Count
#define TT_P2P_SEND(id, Name, traits, params, fill, args)                                                              \
    SEND_OF(MPI_, id, Name, _c, args) SEND_OF(PMPI_, id, Name, _c, args)
#define TT_P2P_RECV(id, Name, traits, params, fill, args)                                                              \
    RECV_OF(MPI_, id, Name, _c, args) RECV_OF(PMPI_, id, Name, _c, args)
#define TT_P2P_MATCHED(id, Name, traits, params, fill, args)                                                           \
    MATCHED_OF(MPI_, id, Name, _c, args) MATCHED_OF(PMPI_, id, Name, _c, args)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args)                                                          \
    MATCHED_OF(MPI_, id, Name, _c, args) MATCHED_OF(PMPI_, id, Name, _c, args)
#include "coll/p2p.def"
#define WIDE(from, id, start, init)                                                                                    \
    {                                                                                                                  \
        from##call_c_##id, start(from, _c, id), init(from, _c, id)                                                     \
    }
#else
#define WIDE(from, id, start, init)                                                                                    \
    {                                                                                                                  \
        NULL, NULL, NULL                                                                                               \
    }
#endif
#define SOME_START(from, C, id) from##start##C##_##id
#define SOME_INIT(from, C, id) from##init##C##_##id
#define NONE(from, C, id) NULL
#define CALLS(from, id, start, init)                                                                                   \
    {                                                                                                                  \
        {from##call_##id, start(from, , id), init(from, , id)}, WIDE(from, id, start, init)                            \
    }
#define ROW(row, traits_, start, init)                                                                                 \
    [TT_P2P_##row] = {.id = #row,                                                                                      \
                      .traits = traits_,                                                                               \
                      .ours = CALLS(MPI_, row, start, init),                                                           \
                      .theirs = CALLS(PMPI_, row, start, init)},

/* Each with counts that are ints, and as the large-count twin. */
static const struct p2p_row {
    const char *id;
    unsigned traits;
    struct tt_p2p_native ours[2], theirs[2];
} p2p_rows[TT_NP2P] = {
#define TT_P2P_SEND(id, Name, traits, params, fill, args) ROW(id, traits, SOME_START, SOME_INIT)
#define TT_P2P_RECV TT_P2P_SEND
#define TT_P2P_MATCHED(id, Name, traits, params, fill, args) ROW(id, traits, SOME_START, NONE)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) ROW(id, traits, EXCHANGE_START, NONE)
#include "coll/p2p.def"
};

/* ---- a way: one form of one row ---- */

struct way {
    const struct p2p_row *row;
    enum tt_p2p_form form;
    bool wide;
};

static inline const struct tt_p2p_native *way_calls(const struct way *w)
{
    return &w->row->ours[w->wide];
}

static inline bool way_exists(const struct way *w)
{
    const struct tt_p2p_native *n = way_calls(w);

    return w->form == TT_FORM_CALL ? n->call != NULL : w->form == TT_FORM_START ? n->start != NULL : n->init != NULL;
}

static inline const char *way_name(const struct way *w, char *name, size_t size)
{
    static const char *const before[] = {"", "I", ""}, *const after[] = {"", "", "_init"};

    snprintf(name, size, "%s%s%s%s", before[w->form], w->row->id, after[w->form], w->wide ? "_c" : "");
    return name;
}

/* Carries it out as far as it goes: a blocking one is over then, with its status. */
static inline int way_begin(const struct way *w, const struct tt_p2p *c, MPI_Request *request, MPI_Status *status)
{
    const struct tt_p2p_native *n = way_calls(w);
    int error;

    *request = MPI_REQUEST_NULL;
    if (w->form == TT_FORM_CALL)
        return n->call(c, status);
    if (w->form == TT_FORM_START)
        return n->start(c, request);
    error = n->init(c, request);
    return error == MPI_SUCCESS ? MPI_Start(request) : error;
}

static inline int way_end(const struct way *w, MPI_Request *request, MPI_Status *status)
{
    int error;

    if (w->form == TT_FORM_CALL)
        return MPI_SUCCESS;
    error = MPI_Wait(request, status);
    if (w->form == TT_FORM_INIT)
        MPI_Request_free(request);
    return error;
}

#endif
