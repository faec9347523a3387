/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce_local: inoutbuf = inbuf op inoutbuf. Where both operands are the host's the MPI below does it, unless the
 * type is Tutti's. Else it is done where the result is, or the other operand, if a GPU there has code for it; an
 * operand from elsewhere is copied there. What no GPU can do, the host does on copies: by Tutti's loops where there is
 * a cell, by the MPI below for user's ops and types. */
#include "coll/reduce_local.h"

#include <stdio.h>

#include "coll/config.h"
#include "coll/drain.h"
#include "coll/error.h"
#include "coll/image.h"
#include "coll/init.h"
#include "coll/job.h"

/* One of the two buffers, and where it is worked on: itself, or a stand-in. */
struct operand {
    struct tt_elements of, stand_in;
    struct tt_place *home; /* of the stand-in's block */
    char *block;           /* NULL: there is none */
};

/* ---- the MPI below, and errors ---- */

/* Outside of Tutti: it may call the user's op or error handler. */
static int call_native(const struct tt_local *l)
{
    const int inside = tt_inside;
    int error;

    tt_inside = 0;
    error = l->native(l);
    tt_inside = inside;
    return error;
}

/* The MPIs use the handler of MPI_COMM_WORLD where there is no communicator. */
static int fail(const char *why)
{
    char text[512];

    snprintf(text, sizeof text, "MPI_Reduce_local: %s", why);
    return tt_raise(MPI_COMM_WORLD, text);
}

static int reject(int class, const char *why)
{
    tt_log(TT_ERROR, "MPI_Reduce_local: %s", why);
    tt_call_handler(MPI_COMM_WORLD, class);
    return class;
}

/* ---- stand-ins ---- */

/* Bytes that the elements take up, the gap behind the last one too. */
static size_t whole(const struct tt_elements *e)
{
    return (size_t)e->count * (size_t)e->layout.extent;
}

/* A block at home that is as large as all that the elements span, gaps and all. */
static const char *make_room(struct operand *o, struct tt_place *home)
{
    size_t bytes;
    const MPI_Aint first = tt_elements_span(&o->of, o->of.count, &bytes);

    o->home = home;
    if (home->dev->enter(home))
        return tt_fault();
    o->block = home->dev->take(home, bytes + (size_t)(o->of.layout.extent > 0 ? o->of.layout.extent : 0));
    home->dev->leave(home);
    o->stand_in = o->of;
    o->stand_in.place = home;
    o->stand_in.on_device = home != tt_host_place();
    o->stand_in.buf = tt_away(o->block, -first);
    return o->block ? NULL : tt_fault();
}

static void drop(struct operand *o)
{
    if (o->block)
        o->home->dev->give(o->home, o->block);
}

/* ---- by a cell ---- */

/* The types of cells have no gaps between elements, so their bytes are copied as they are. */
static const char *copy_all(const struct tt_elements *to, const struct tt_elements *from)
{
    struct tt_place *carrier = from->on_device ? from->place : to->place;

    return tt_copy_now(carrier, to->buf, from->buf, whole(from)) ? tt_fault() : NULL;
}

static const char *bring(struct operand *o, struct tt_place *home)
{
    const char *why;

    o->stand_in = o->of;
    if (o->of.place == home)
        return NULL;
    why = make_room(o, home);
    return why ? why : copy_all(&o->stand_in, &o->of);
}

static const char *reduce_at(struct tt_place *home, const struct tt_cell *cell, const struct tt_elements *in,
                             const struct tt_elements *inout)
{
    const void *const sources[] = {in->buf, inout->buf};
    int error;

    if (home->dev->enter(home))
        return tt_fault();
    error = home->dev->reduce(home, TT_WITHIN, cell, inout->buf, sources, 2, TT_ACCUMULATE, (size_t)inout->count) || tt_drain(home);
    home->dev->leave(home);
    return error ? tt_fault() : NULL;
}

static struct tt_place *home_of(const struct operand *in, const struct operand *inout, const struct tt_cell *cell)
{
    struct tt_place *const places[] = {inout->of.place, in->of.place};

    for (int i = 0; i < 2; i++)
        if (places[i] != tt_host_place() && places[i]->dev->reduces(places[i], cell))
            return places[i];
    return tt_host_place();
}

static const char *reduce_by_cell(const struct tt_cell *cell, struct operand *in, struct operand *inout)
{
    struct tt_place *home = home_of(in, inout, cell);
    const char *why = bring(in, home);

    if (!why)
        why = bring(inout, home);
    if (!why)
        why = reduce_at(home, cell, &in->stand_in, &inout->stand_in);
    if (!why && inout->block)
        why = copy_all(&inout->of, &inout->stand_in);
    return why;
}

/* ---- by the MPI below, on host copies ---- */

/* Moves data from elements of one place to the same elements elsewhere, by way of an image: bytes in gaps stay. */
static const char *transfer(const struct tt_elements *to, const struct tt_elements *from)
{
    struct tt_image image;
    const char *why = tt_image_open(&image, from->on_device ? from : to);

    if (!why)
        why = tt_elements_read(from, image.packed);
    if (!why)
        why = tt_elements_write(to, image.packed, tt_elements_bytes(to));
    tt_image_close(&image);
    return why;
}

static const char *bring_to_host(struct operand *o)
{
    const char *why;

    o->stand_in = o->of;
    if (!o->of.on_device)
        return NULL;
    why = make_room(o, tt_host_place());
    return why ? why : transfer(&o->stand_in, &o->of);
}

static const char *reduce_on_host(const struct tt_local *l, struct operand *in, struct operand *inout, int *error)
{
    struct tt_local copy = *l;
    const char *why = bring_to_host(in);

    if (!why)
        why = bring_to_host(inout);
    if (why)
        return why;
    copy.in = in->stand_in.buf;
    copy.inout = inout->stand_in.buf;
    *error = call_native(&copy);
    return *error == MPI_SUCCESS && inout->block ? transfer(&inout->of, &inout->stand_in) : NULL;
}

/* ---- all together ---- */

static int check(const struct tt_local *l, struct operand *in, struct operand *inout, const char **what)
{
    int class = tt_elements_describe(&in->of, l->in, l->count, l->type);

    *what = "the count is negative, or the datatype is not valid";
    if (class != MPI_SUCCESS)
        return class;
    inout->of = in->of;
    inout->of.buf = l->inout;
    *what = "the op is null";
    if (l->op == MPI_OP_NULL)
        return MPI_ERR_OP;
    *what = "MPI_IN_PLACE has no meaning here";
    if (l->in == MPI_IN_PLACE || l->inout == MPI_IN_PLACE)
        return MPI_ERR_BUFFER;
    *what = "a buffer is null, or the two are the same";
    return l->count > 0 && (l->in == l->inout || ((!l->in || !l->inout) && in->of.layout.true_lb == 0)) ? MPI_ERR_BUFFER
                                                                                                        : MPI_SUCCESS;
}

static bool may_be_device(const void *p)
{
    struct tt_mem mem;

    return p && p != MPI_IN_PLACE && (tt_mem_where(p, &mem) || tt_mem_on_device(&mem));
}

/* Arguments that make no sense: the MPI below says so in its own words, unless it would touch device memory first. */
static int run_unsound(const struct tt_local *l, int class, const char *what)
{
    return may_be_device(l->in) || may_be_device(l->inout) ? reject(class, what) : call_native(l);
}

static const char *look(struct operand *in, struct operand *inout)
{
    const char *why = tt_elements_look(&in->of);

    if (!why)
        why = tt_elements_look(&inout->of);
    if (!why)
        why = tt_elements_settle(&in->of);
    return why ? why : tt_elements_settle(&inout->of);
}

/* The user's error handler may not come back: nothing of ours is held when it is called for an error of ours. */
static int run(const struct tt_local *l)
{
    struct operand in = {0}, inout = {0};
    const struct tt_cell *cell;
    const char *why, *foreign;
    bool ours;
    int class = check(l, &in, &inout, &why), error = MPI_SUCCESS;

    if (class != MPI_SUCCESS)
        return run_unsound(l, class, why);
    if (tt_elements_bytes(&in.of) == 0)
        return call_native(l);
    why = look(&in, &inout);
    cell = tt_cell_of(l->type, l->op, &foreign, &ours);
    if (!why && !in.of.on_device && !inout.of.on_device && !(ours && cell))
        return call_native(l);
    if (!why)
        why = cell ? reduce_by_cell(cell, &in, &inout) : reduce_on_host(l, &in, &inout, &error);
    drop(&in);
    drop(&inout);
    return why ? fail(why) : error;
}

int tt_reduce_local(const struct tt_local *l)
{
    int error;

    if (tt_inside || !tt_is_on())
        return call_native(l);
    tt_inside++;
    error = run(l);
    tt_inside--;
    return error;
}

static int native(const struct tt_local *l)
{
    return PMPI_Reduce_local(l->in, l->inout, (int)l->count, l->type, l->op);
}

__attribute__((visibility("default"))) int MPI_Reduce_local(const void *inbuf, void *inoutbuf, int count,
                                                            MPI_Datatype datatype, MPI_Op op)
{
    return tt_reduce_local(&(const struct tt_local){native, inbuf, inoutbuf, count, datatype, op});
}
