/* SPDX-License-Identifier: BSD-3-Clause */
/* From what a call means to addresses. Mostly a plan runs on the user's own buffers. A stand-in is made
 *   - contiguous and on the host, for a datatype with gaps: packed by the MPI below;
 *   - at home, for a reduction's buffer that lives elsewhere: one of a pair on another GPU or on the host, or one on
 *     a GPU whose type no GPU can reduce;
 *   - on the host, gaps and all, for GPU memory that the MPI below is to work on.
 * The wire sees none of this. */
#include "coll/job.h"

#include <stdio.h>

/* ---- home ---- */

static bool needs_pack(const struct tt_job *job, const struct tt_side *side)
{
    return !side->plain && !job->cell;
}

/* Is the side on a device, and can a plan work on it there? */
static bool serves_as_home(const struct tt_job *job, const struct tt_side *side)
{
    return side->on_device && !needs_pack(job, side) &&
           (!job->cell || side->place->dev->reduces(side->place, job->cell));
}

struct tt_place *tt_job_home(const struct tt_job *job)
{
    return serves_as_home(job, &job->recv)   ? job->recv.place
           : serves_as_home(job, &job->send) ? job->send.place
                                             : tt_host_place();
}

/* Reductions need their operands at home; data that only moves can be copied from anywhere. */
static bool needs_stand_in(const struct tt_job *job, const struct tt_side *side, const struct tt_place *home)
{
    if (!job->cell)
        return false;
    return side->place != home;
}

static bool side_on_device(const struct tt_job *job, const struct tt_side *side, const struct tt_place *home)
{
    if (!side->significant || needs_pack(job, side))
        return false;
    return needs_stand_in(job, side, home) ? home != tt_host_place() : side->on_device;
}

unsigned tt_job_on_device(const struct tt_job *job, const struct tt_place *home)
{
    return (side_on_device(job, &job->send, home) ? 1u << SEND : 0) |
           (side_on_device(job, &job->recv, home) ? 1u << RECV : 0) | (home != tt_host_place() ? 1u << TMP : 0);
}

/* ---- memory ---- */

static int explain(char *why, size_t size, const char *text)
{
    snprintf(why, size, "%s", text);
    return -1;
}

/* bytes that go back when the binding ends; NULL on failure. */
static char *keep(struct tt_bound *b, struct tt_place *place, void *block)
{
    b->blocks[b->nblocks].place = place;
    b->blocks[b->nblocks].block = block;
    b->nblocks += block != NULL;
    return block;
}

static char *take(struct tt_bound *b, struct tt_place *place, size_t bytes)
{
    return keep(b, place, place->dev->take(place, bytes));
}

struct drain {
    struct tt_place *place;
    int queue, state;
};

static bool drained(void *what)
{
    struct drain *d = what;

    d->state = d->place->dev->poll(d->place, d->queue);
    return d->state != 0;
}

/* A copy that is over when it returns. place is that of the device memory involved, or the host's. */
static int copy_now(struct tt_place *place, void *dst, const void *src, size_t bytes, char *why, size_t size)
{
    struct drain d = {.place = place, .queue = TT_WITHIN};

    if (bytes == 0)
        return 0;
    if (place->dev->enter(place))
        return explain(why, size, tt_fault());
    if (place->dev->copy(place, d.queue, dst, src, bytes))
        d.state = -1;
    else if (!drained(&d))
        tt_wait(drained, &d);
    if (d.state < 0)
        explain(why, size, tt_fault());
    place->dev->leave(place);
    return d.state < 0 ? -1 : 0;
}

/* ---- datatypes with gaps ---- */

/* The bytes that a side spans: the first, relative to its buffer, and how many. Extents may be negative. */
struct span {
    MPI_Aint first;
    size_t bytes;
};

static struct span span_of(const struct tt_side *side)
{
    MPI_Aint from = 0, to = 0;

    for (int i = 0; i < side->nblocks; i++) {
        const struct tt_block *b = tt_block_of(side, i);
        const MPI_Aint last = (MPI_Aint)(b->count - 1) * b->layout.extent;
        const MPI_Aint low = b->at + b->layout.true_lb + (last < 0 ? last : 0);
        const MPI_Aint high = b->at + b->layout.true_lb + b->layout.true_extent + (last > 0 ? last : 0);

        if (b->count == 0 || b->layout.size == 0)
            continue;
        from = from == to || low < from ? low : from;
        to = from == to || high > to ? high : to;
    }
    return (struct span){from, (size_t)(to - from)};
}

/* Elements per call of PMPI_Pack, whose sizes are ints. */
static MPI_Count pack_step(const struct tt_block *block)
{
    const MPI_Count fits = (MPI_Count)((1u << 30) / (block->layout.size ? block->layout.size : 1));

    return fits > 0 ? fits : 1;
}

typedef int pack_call(char *elements, int n, MPI_Datatype type, char *packed, int bytes, int *at);

static int pack_some(char *elements, int n, MPI_Datatype type, char *packed, int bytes, int *at)
{
    return PMPI_Pack(elements, n, type, packed, bytes, at, tt_quiet_self());
}

static int unpack_some(char *elements, int n, MPI_Datatype type, char *packed, int bytes, int *at)
{
    return PMPI_Unpack(packed, bytes, at, elements, n, type, tt_quiet_self());
}

/* MPICH refuses to pack from MPI_BOTTOM, a null pointer: the same elements, as seen from an address that is none. */
static int pack_from_bottom(pack_call *call, int n, MPI_Datatype type, char *packed, int bytes, int *at)
{
    static char anchor;
    const MPI_Aint back = -(MPI_Aint)(intptr_t)&anchor;
    MPI_Datatype seen;
    int error = PMPI_Type_create_hindexed_block(1, n, &back, type, &seen);

    if (error != MPI_SUCCESS)
        return error;
    error = PMPI_Type_commit(&seen);
    if (error == MPI_SUCCESS)
        error = call(&anchor, 1, seen, packed, bytes, at);
    PMPI_Type_free(&seen);
    return error;
}

static int pack_block(pack_call *call, const struct tt_block *block, char *elements, char *packed, char *why,
                      size_t size)
{
    const MPI_Count step = pack_step(block);

    for (MPI_Count i = 0; i < block->count; i += step) {
        const MPI_Count n = block->count - i < step ? block->count - i : step;
        const size_t bytes = (size_t)n * block->layout.size;
        char *first = tt_away(elements, i * block->layout.extent), *to = packed + (size_t)i * block->layout.size;
        int at = 0;
        const int error = first ? call(first, (int)n, block->type, to, (int)bytes, &at)
                                : pack_from_bottom(call, (int)n, block->type, to, (int)bytes, &at);

        if (error != MPI_SUCCESS || (size_t)at != bytes)
            return explain(why, size, "the MPI below could not pack or unpack the datatype");
    }
    return 0;
}

/* elements is where the side's buffer is, or its host copy would begin. */
static int pack_all(pack_call *call, const struct tt_side *side, char *elements, char *packed, char *why, size_t size)
{
    for (int i = 0; i < side->nblocks; i++) {
        const struct tt_block *b = tt_block_of(side, i);

        if (pack_block(call, b, tt_away(elements, b->at), packed, why, size))
            return -1;
        packed += (size_t)b->count * b->layout.size;
    }
    return 0;
}

/* *at: where element 0 is in a host copy of all that the side spans, or in the buffer itself if that is on the host. */
static int host_copy(struct tt_bound *b, const struct tt_side *side, char **at, char *why, size_t size)
{
    const struct span span = span_of(side);
    char *copy;

    *at = side->buf;
    if (!side->on_device)
        return 0;
    copy = take(b, tt_host_place(), span.bytes);
    if (!copy)
        return explain(why, size, tt_fault());
    *at = tt_away(copy, -span.first);
    return copy_now(side->place, copy, tt_away(side->buf, span.first), span.bytes, why, size);
}

/* *at: element 0 of a contiguous stand-in; the host copy it is packed from, or is to be unpacked to, goes to b. */
static int packed_stand_in(struct tt_bound *b, const struct tt_side *side, bool holds_data, char **at, char *why,
                           size_t size)
{
    *at = take(b, tt_host_place(), side->bytes);
    if (!*at)
        return explain(why, size, tt_fault());
    if (host_copy(b, side, &b->unpacked, why, size))
        return -1;
    return holds_data ? pack_all(pack_some, side, b->unpacked, *at, why, size) : 0;
}

/* ---- for a plan ---- */

/* Does the plan read what the user put into RECV? */
static bool recv_holds_data(const struct tt_job *job)
{
    return job->inplace || ((job->row->traits & TT_ONE_BUFFER) && job->is_root);
}

static bool recv_is_result(const struct tt_job *job)
{
    return !((job->row->traits & TT_ONE_BUFFER) && job->is_root);
}

/* A reduction's side has one block, whose elements are what the cell says, gaps within them and all. */
static size_t whole_extent(const struct tt_side *side)
{
    return (size_t)side->only.count * (size_t)side->only.layout.extent;
}

/* *at: a copy of the side at home. */
static int home_stand_in(struct tt_bound *b, const struct tt_side *side, bool holds_data, char **at, char *why,
                         size_t size)
{
    struct tt_place *from = side->place, *home = b->with.home;
    const size_t bytes = whole_extent(side);

    if (home->dev->enter(home))
        return explain(why, size, tt_fault());
    *at = take(b, home, bytes);
    if (!*at)
        explain(why, size, tt_fault());
    home->dev->leave(home);
    if (!*at)
        return -1;
    return holds_data ? copy_now(from == tt_host_place() ? home : from, *at, side->buf, bytes, why, size) : 0;
}

/* *at: where the plan finds the side. */
static int bind_side(struct tt_bound *b, const struct tt_job *job, const struct tt_side *side, bool holds_data,
                     char **at, char *why, size_t size)
{
    const bool gapped = needs_pack(job, side);

    *at = side->buf;
    if (!side->significant || side->bytes == 0 || !(gapped || needs_stand_in(job, side, b->with.home)))
        return 0;
    if ((gapped ? packed_stand_in : home_stand_in)(b, side, holds_data, at, why, size))
        return -1;
    if (side == &job->recv && recv_is_result(job)) {
        b->result = side;
        b->stand_in = *at;
        b->gapped = gapped;
    }
    return 0;
}

static int bind_scratch(struct tt_bound *b, const struct tt_plan *plan, char *why, size_t size)
{
    struct tt_place *home = b->with.home;
    const size_t tmp = (size_t)plan->tmp * plan->unit, pin = (size_t)plan->pin * plan->unit;
    int error = 0;

    if (tmp == 0 && pin == 0)
        return 0;
    if (home->dev->enter(home))
        return explain(why, size, tt_fault());
    b->with.base[TMP] = tmp ? take(b, home, tmp) : NULL;
    b->with.base[PIN] = pin ? keep(b, home, home->dev->take_pinned(home, pin)) : NULL;
    if ((tmp && !b->with.base[TMP]) || (pin && !b->with.base[PIN]))
        error = explain(why, size, tt_fault());
    home->dev->leave(home);
    return error;
}

int tt_bind_plan(struct tt_bound *b, const struct tt_job *job, const struct tt_plan *plan, char *why, size_t size)
{
    b->with.host = tt_host_place();
    b->with.cell = job->cell;
    b->with.on_device = tt_job_on_device(job, b->with.home);
    if (bind_side(b, job, &job->send, true, &b->with.base[SEND], why, size) ||
        bind_side(b, job, &job->recv, recv_holds_data(job), &b->with.base[RECV], why, size))
        return -1;
    return bind_scratch(b, plan, why, size);
}

/* ---- for the MPI below ---- */

int tt_bind_native(struct tt_bound *b, const struct tt_job *job, char *why, size_t size)
{
    char *send = job->send.buf;

    b->native = *job->call;
    if (job->send.significant && job->send.on_device) {
        if (host_copy(b, &job->send, &send, why, size))
            return -1;
        b->native.send.buf = send;
    }
    if (job->recv.significant && job->recv.on_device) {
        if (host_copy(b, &job->recv, &b->unpacked, why, size))
            return -1;
        b->native.recv.out = b->unpacked;
        b->result = recv_is_result(job) ? &job->recv : NULL;
    }
    return 0;
}

/* ---- afterwards ---- */

int tt_bound_deliver(struct tt_bound *b, char *why, size_t size)
{
    const struct tt_side *side = b->result;
    struct span span;

    if (!side)
        return 0;
    if (b->stand_in && !b->gapped)
        return copy_now(side->on_device ? side->place : b->with.home, side->buf, b->stand_in,
                        whole_extent(side), why, size);
    if (b->stand_in && pack_all(unpack_some, side, b->unpacked, b->stand_in, why, size))
        return -1;
    if (!side->on_device)
        return 0;
    span = span_of(side);
    return copy_now(side->place, tt_away(side->buf, span.first), tt_away(b->unpacked, span.first), span.bytes, why,
                    size);
}

void tt_bound_end(struct tt_bound *b)
{
    for (int i = 0; i < b->nblocks; i++)
        b->blocks[i].place->dev->give(b->blocks[i].place, b->blocks[i].block);
}
