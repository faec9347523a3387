/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking point-to-point calls, on memory of any kind, and as places of progress: where nonblocking collectives are
 * under way, or device memory is staged, a call is started and then waited for, so that its rank neither spins nor
 * leaves the others without its part in the collectives. On host memory with nothing under way it goes straight to the
 * MPI below. */
#include "coll/p2p.h"

#include <limits.h>

#include "coll/error.h"
#include "coll/init.h"
#include "coll/request.h"
#include "coll/watch.h"

/* ---- the MPI below ---- */

static bool is_wide(const struct tt_p2p *c)
{
    return c->wide || c->send.count > INT_MAX || c->recv.count > INT_MAX;
}

int tt_p2p_native_call(const struct tt_p2p *c, MPI_Status *status)
{
    return (is_wide(c) ? &tt_p2p_wide[c->id] : &tt_p2p_rows[c->id].native)->call(c, status);
}

/* The exchanges have no such form in MPI-3: in MPI-4 they are the twins. */
int tt_p2p_native_start(const struct tt_p2p *c, MPI_Request *request)
{
    const struct tt_p2p_native *native = &tt_p2p_rows[c->id].native;

    return (is_wide(c) || !native->start ? &tt_p2p_wide[c->id] : native)->start(c, request);
}

int tt_p2p_native_init(const struct tt_p2p *c, MPI_Request *request)
{
    return (is_wide(c) ? &tt_p2p_wide[c->id] : &tt_p2p_rows[c->id].native)->init(c, request);
}

/* ---- started, and waited for ---- */

static int message(const struct tt_p2p *c, MPI_Status *status)
{
    MPI_Request request;
    const int error = tt_p2p_native_start(c, &request);

    return error == MPI_SUCCESS ? tt_wait_for(&request, status) : error;
}

static void call_off(MPI_Request *request)
{
    PMPI_Cancel(request);
    tt_wait_for(request, MPI_STATUS_IGNORE);
}

static int exchange(const struct tt_p2p *c, MPI_Status *status)
{
    struct tt_p2p send = *c, recv = *c;
    MPI_Request sending, receiving;
    int error, later;

    send.id = TT_P2P_send;
    recv.id = TT_P2P_recv;
    error = tt_p2p_native_start(&recv, &receiving);
    if (error != MPI_SUCCESS)
        return error;
    error = tt_p2p_native_start(&send, &sending);
    if (error != MPI_SUCCESS) {
        call_off(&receiving);
        return error;
    }
    error = tt_wait_for(&receiving, status);
    later = tt_wait_for(&sending, MPI_STATUS_IGNORE);
    return error != MPI_SUCCESS ? error : later;
}

/* On host memory: what is sent leaves from a copy. */
static int replace(const struct tt_p2p *c, MPI_Status *status)
{
    struct tt_cargo g = {.row = &tt_p2p_rows[c->id], .with = *c};
    struct tt_elements sent;
    const char *why;
    int error;

    if (tt_elements_describe(&sent, c->send.buf, c->send.count, c->send.type) != MPI_SUCCESS)
        return tt_p2p_native_call(c, status); /* which says what is wrong */
    why = tt_image_open(&g.send, &sent);
    if (!why)
        why = tt_cargo_fill(&g);
    if (why)
        return tt_cargo_fail(&g, why);
    g.with.send = (struct tt_p2p_end){g.send.packed, g.send.count, g.send.type, c->send.peer, c->send.tag};
    error = exchange(&g.with, status);
    tt_cargo_end(&g);
    return error;
}

/* ---- the three ways ---- */

static int call_patiently(const struct tt_p2p *c, MPI_Status *status)
{
    const unsigned traits = tt_p2p_rows[c->id].traits;

    if (traits & TT_IS_LOCAL)
        return tt_p2p_native_call(c, status);
    return ((traits & TT_SENDS) && (traits & TT_RECEIVES) ? exchange : message)(c, status);
}

static int call_straight(const struct tt_p2p *c, MPI_Status *status)
{
    if (!tt_has_business())
        return tt_p2p_native_call(c, status);
    return (tt_p2p_rows[c->id].traits & TT_REPLACES ? replace : call_patiently)(c, status);
}

static int call_staged(struct tt_cargo *g, MPI_Status *status)
{
    MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
    const int error = call_patiently(&g->with, seen);
    const char *why = tt_cargo_unload(g, seen, error);

    if (why)
        return tt_cargo_fail(g, why);
    tt_cargo_end(g);
    return error;
}

static int call(const struct tt_p2p *c, MPI_Status *status)
{
    struct tt_cargo g;
    int error;

    switch (tt_cargo_load(&g, c, TT_FORM_CALL, &error)) {
    case TT_CARGO_REFUSED:
        return error;
    case TT_CARGO_STAGED:
        return call_staged(&g, status);
    default:
        return call_straight(c, status);
    }
}

int tt_p2p_call(const struct tt_p2p *c, MPI_Status *status)
{
    const struct tt_p2p_row *row = &tt_p2p_rows[c->id];
    const struct tt_p2p_end *end = row->traits & TT_RECEIVES ? &c->recv : &c->send;
    struct tt_spot room, *spot;
    int error;

    if (tt_inside || !tt_is_on())
        return tt_p2p_native_call(c, status);
    spot = tt_watch_spot(&room, row->name, c->comm, end->peer, end->tag, c->caller);
    error = call(c, status);
    tt_unwatch_spot(spot);
    return error;
}
