/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory of a point-to-point call: found, and replaced by images for an MPI that cannot take it. All of it is
 * this rank's own affair: what passes between the ranks is the message that the MPI would have sent. */
#include <limits.h>
#include <stdio.h>

#include "coll/aware.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/p2p.h"

enum { OFF, ON, AUTO }; /* TUTTI_P2P */

int tt_cargo_raise(const struct tt_cargo *g, const char *why)
{
    const char *const before[] = {"MPI_", "MPI_I", "MPI_"}, *const after[] = {"", "", "_init"};
    char text[512];
    int rank = -1;

    PMPI_Comm_rank(g->with.comm, &rank);
    snprintf(text, sizeof text, "rank %d: %s%s%s: %s", rank, before[g->form],
             g->form == TT_FORM_START ? g->row->id : g->row->name, after[g->form], why);
    return tt_raise(g->with.comm, text);
}

/* The user's error handler may not come back: nothing of ours is held when it is called. */
int tt_cargo_fail(struct tt_cargo *g, const char *why)
{
    char kept[384];

    snprintf(kept, sizeof kept, "%s", why);
    tt_cargo_end(g);
    return tt_cargo_raise(g, kept);
}

/* An error of one of MPI's classes, for arguments that the MPI below would refuse alike. */
static int reject(const struct tt_cargo *g, int class)
{
    tt_log(TT_ERROR, "MPI_%s: a negative count, or a datatype that is not valid", g->row->name);
    tt_call_handler(g->with.comm, class);
    return class;
}

/* ---- looking ---- */

/* Can there be device memory that must not be given to the MPI below? */
static bool may_stage(void)
{
    return tt_config.p2p != OFF && tt_driver_present() &&
           (tt_config.p2p == ON || !tt_mpi_known_to_take_device_memory());
}

/* Now that there is some. */
static bool must_stage(void)
{
    return tt_config.p2p == ON || !tt_mpi_takes_device_memory();
}

static bool may_be_device(const struct tt_p2p_end *end)
{
    struct tt_mem mem;

    return end->buf && (tt_mem_where(end->buf, &mem) || tt_mem_on_device(&mem));
}

/* An end that has no message has no buffer either. */
static bool is_used(const struct tt_cargo *g, unsigned trait, const struct tt_p2p_end *end)
{
    return (g->row->traits & trait) && end->peer != MPI_PROC_NULL;
}

/* Both ends: MPI_SUCCESS, or the class of error that the arguments deserve. */
static int describe(const struct tt_cargo *g, struct tt_elements *send, struct tt_elements *recv)
{
    const struct tt_p2p *c = &g->with;
    int class = MPI_SUCCESS;

    if (is_used(g, TT_SENDS, &c->send))
        class = tt_elements_describe(send, c->send.buf, c->send.count, c->send.type);
    if (class == MPI_SUCCESS && is_used(g, TT_RECEIVES, &c->recv))
        class = tt_elements_describe(recv, c->recv.buf, c->recv.count, c->recv.type);
    return class;
}

/* ---- images ---- */

static const char *replace(struct tt_image *image, const struct tt_elements *of, struct tt_p2p_end *end)
{
    const char *why = tt_image_open(image, of);

    end->buf = image->packed;
    end->count = image->count;
    end->type = image->type;
    return why;
}

/* An exchange is carried out as two messages. Where what is received takes the place of what is sent, and where the
 * call is over when the one has arrived, whatever becomes of the other, what is sent leaves from an image in any case.
 */
static bool sends_a_copy(const struct tt_cargo *g, const struct tt_elements *send)
{
    const unsigned both = TT_SENDS | TT_RECEIVES;
    const bool exchanges = (g->row->traits & both) == both;

    return send->on_device ||
           (send->place && exchanges && (g->form == TT_FORM_START || (g->row->traits & TT_REPLACES)));
}

static const char *make_images(struct tt_cargo *g, const struct tt_elements *send, const struct tt_elements *recv)
{
    const char *why = recv->on_device ? replace(&g->recv, recv, &g->with.recv) : NULL;

    if (!why && sends_a_copy(g, send))
        why = replace(&g->send, send, &g->with.send);
    return why || g->form == TT_FORM_INIT ? why : tt_cargo_fill(g);
}

const char *tt_cargo_fill(struct tt_cargo *g)
{
    return g->send.packed ? tt_image_fill(&g->send) : NULL;
}

enum tt_route tt_cargo_load(struct tt_cargo *g, const struct tt_p2p *c, enum tt_p2p_form form, int *error)
{
    struct tt_elements send = {0}, recv = {0};
    const char *why;
    int class;

    if (!may_stage())
        return TT_CARGO_STRAIGHT;
    *g = (struct tt_cargo){.row = &tt_p2p_rows[c->id], .form = form, .with = *c};
    class = describe(g, &send, &recv);
    if (class != MPI_SUCCESS) {
        if (!may_be_device(&c->send) && !may_be_device(&c->recv))
            return TT_CARGO_STRAIGHT;
        *error = reject(g, class);
        return TT_CARGO_REFUSED;
    }
    why = tt_elements_look(&send);
    if (!why)
        why = tt_elements_look(&recv);
    if (!why && ((!send.on_device && !recv.on_device) || !must_stage()))
        return TT_CARGO_STRAIGHT;
    if (!why)
        why = make_images(g, &send, &recv);
    if (!why)
        return TT_CARGO_STAGED;
    *error = tt_cargo_fail(g, why);
    return TT_CARGO_REFUSED;
}

/* ---- afterwards ---- */

static size_t bytes_of(const MPI_Status *status)
{
    MPI_Count bytes;
    int cancelled = 0;

    PMPI_Test_cancelled(status, &cancelled);
    if (cancelled || PMPI_Get_elements_x(status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    return (size_t)bytes;
}

/* Of a message that is too long the beginning arrives, as it does on the host. */
static bool brought_something(int error)
{
    int class = error;

    if (error != MPI_SUCCESS)
        PMPI_Error_class(error, &class);
    return class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE;
}

const char *tt_cargo_unload(const struct tt_cargo *g, const MPI_Status *status, int error)
{
    return g->recv.packed && brought_something(error) ? tt_image_deliver(&g->recv, bytes_of(status)) : NULL;
}

void tt_cargo_end(struct tt_cargo *g)
{
    tt_image_close(&g->send);
    tt_image_close(&g->recv);
}
