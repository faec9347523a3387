/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking and persistent point-to-point calls. On device memory that is staged the request is the MPI's, for a
 * message to or from an image, and has a ticket: what was received is copied up when the MPI says that it has arrived,
 * and the image stays until the request is gone. Of a persistent one the image is filled anew at every start. */
#include <stdlib.h>

#include "coll/awaited.h"
#include "coll/error.h"
#include "coll/init.h"
#include "coll/p2p.h"
#include "coll/request.h"

struct flight {
    struct tt_ticket ticket;
    struct tt_cargo cargo;
};

/* ---- what is done with its ticket ---- */

static int settle(struct tt_ticket *t, MPI_Status *status, int error)
{
    const struct tt_cargo *g = &((struct flight *)t)->cargo;
    const char *why = tt_cargo_unload(g, status, error);

    return why ? tt_cargo_raise(g, why) : error;
}

static int restart(struct tt_ticket *t)
{
    struct tt_cargo *g = &((struct flight *)t)->cargo;
    const char *why = tt_cargo_fill(g);

    return why ? tt_cargo_raise(g, why) : PMPI_Start(&t->request);
}

static void drop(struct tt_ticket *t)
{
    tt_cargo_end(&((struct flight *)t)->cargo);
    free(t);
}

static MPI_Comm comm_of(const struct tt_ticket *t)
{
    return ((const struct flight *)t)->cargo.with.comm;
}

static const struct tt_business messages = {
    .start = restart, .settle = settle, .drop = drop, .comm = comm_of, .cancels = true};

/* ---- setting out ---- */

/* A send may be over already, and then its handle may be one that the MPI gives out for all such: no ticket for it. */
static bool is_over(const struct tt_cargo *g, MPI_Request request)
{
    int flag = 0;

    if (g->form == TT_FORM_INIT || (tt_p2p_rows[g->with.id].traits & TT_RECEIVES))
        return false;
    return PMPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
}

static int depart_message(struct tt_cargo *g, MPI_Request *request)
{
    struct flight *f = malloc(sizeof *f);
    int error;

    if (!f)
        return tt_cargo_fail(g, "out of host memory");
    error = (g->form == TT_FORM_INIT ? tt_p2p_native_init : tt_p2p_native_start)(&g->with, request);
    if (error != MPI_SUCCESS || is_over(g, *request)) {
        tt_cargo_end(g);
        free(f);
        return error;
    }
    f->cargo = *g;
    tt_ticket_open(&f->ticket, *request, &messages, g->form == TT_FORM_INIT);
    return MPI_SUCCESS;
}

/* Nobody will wait for it: it is seen to in passing. */
static int let_go(MPI_Request *request)
{
    struct tt_ticket *t = tt_ticket_of(*request);

    return t ? tt_ticket_free(t) : PMPI_Request_free(request);
}

/* The user's request is that of the message received; the one sent has left the user's buffer behind already. (The
 * MPI's own MPI_Isendrecv is of no use here: MPICH 4.0 forgets its status, which says how much has come.) */
static int depart_exchange(struct tt_cargo *g, MPI_Request *request)
{
    struct tt_cargo in = *g, out = *g;
    MPI_Request sending;
    int error;

    in.send = out.recv = (struct tt_image){0};
    in.with.id = TT_P2P_recv;
    out.with.id = TT_P2P_send;
    error = depart_message(&in, request);
    if (error != MPI_SUCCESS) {
        tt_cargo_end(&out);
        return error;
    }
    error = depart_message(&out, &sending);
    if (error == MPI_SUCCESS)
        return let_go(&sending);
    PMPI_Cancel(request);
    tt_wait_for(request, MPI_STATUS_IGNORE);
    return error;
}

static bool exchanges(const struct tt_p2p *c)
{
    const unsigned both = TT_SENDS | TT_RECEIVES;

    return (tt_p2p_rows[c->id].traits & both) == both;
}

static int depart(const struct tt_p2p *c, enum tt_p2p_form form, MPI_Request *request)
{
    struct tt_cargo g;
    int error;

    switch (tt_cargo_load(&g, c, form, &error)) {
    case TT_CARGO_REFUSED:
        return error;
    case TT_CARGO_STAGED:
        return (exchanges(c) ? depart_exchange : depart_message)(&g, request);
    default:
        return (form == TT_FORM_INIT ? tt_p2p_native_init : tt_p2p_native_start)(c, request);
    }
}

static int noted(const struct tt_p2p *c, enum tt_p2p_form form, MPI_Request *request)
{
    const int error = depart(c, form, request);

    if (error == MPI_SUCCESS)
        tt_awaited_message(*request, c, form == TT_FORM_INIT);
    return error;
}

int tt_p2p_start(const struct tt_p2p *c, MPI_Request *request)
{
    if (tt_inside || !tt_is_on())
        return tt_p2p_native_start(c, request);
    tt_progress();
    return noted(c, TT_FORM_START, request);
}

int tt_p2p_init(const struct tt_p2p *c, MPI_Request *request)
{
    return tt_inside || !tt_is_on() ? tt_p2p_native_init(c, request) : noted(c, TT_FORM_INIT, request);
}
