/* SPDX-License-Identifier: BSD-3-Clause */
/* From what a call means to addresses. Mostly a plan runs on the user's own buffers. A stand-in is made
 *   - without gaps, where the side itself is, for data that are not one piece of memory; or on the host, for an op
 *     that only the MPI below can apply;
 *   - at home, for a reduction's buffer that lives elsewhere: one of a pair on another GPU or on the host, or one on
 *     a GPU whose type no GPU can reduce;
 *   - where the side itself is, for a send buffer that is the receive buffer as well;
 *   - on the host, an image with gaps and all, for GPU memory that the MPI below is to work on;
 *   - on NCCL's GPU, without gaps, for data that are not there.
 * Whatever goes back goes back exactly: bytes that are not of the data are never written, since another call may be
 * about to write them. The wire sees none of this. */
#include <stdio.h>
#include <sys/mman.h>

#include "coll/drain.h"
#include "coll/gaps.h"
#include "coll/job.h"

/* ---- home ---- */

static bool needs_pack(const struct tt_job *job, const struct tt_side *side)
{
    MPI_Aint at;

    return !job->cell && ((job->applies && side->on_device) || tt_side_mixed(side) || !tt_side_solid(side, &at));
}

/* Is the side on a device, and can a plan work on it there? */
static bool serves_as_home(const struct tt_job *job, const struct tt_side *side)
{
    return side->on_device && !job->applies && (!job->cell || side->place->dev->reduces(side->place, job->cell));
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

static enum tt_stand_in stand_in_for(const struct tt_job *job, const struct tt_side *side, const struct tt_place *home)
{
    const bool aside = job->aliased && side == &job->send;

    if (needs_pack(job, side) || (aside && !job->cell))
        return job->applies ? TT_PACKED_HERE : TT_PACKED;
    return aside || needs_stand_in(job, side, home) ? TT_AT_HOME : TT_NO_STAND_IN;
}

static bool side_on_device(const struct tt_job *job, const struct tt_side *side, const struct tt_place *home)
{
    if (!side->significant || job->applies)
        return false;
    return needs_stand_in(job, side, home) ? home != tt_host_place() : side->place != tt_host_place();
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

/* Goes back when the binding ends; NULL on failure. */
static char *keep(struct tt_bound *b, struct tt_place *place, void *block, size_t bytes)
{
    b->kept[b->nkept] = (struct tt_kept){place, block, bytes};
    b->nkept += block != NULL;
    return block;
}

typedef void *take_call(struct tt_place *place, size_t bytes);

/* In that place, which need not have been entered. NULL with tt_fault() set. */
static char *take_by(take_call *call, struct tt_bound *b, struct tt_place *place, size_t bytes)
{
    char *block;

    if (place->dev->enter(place))
        return NULL;
    block = keep(b, place, call(place, bytes), bytes);
    place->dev->leave(place);
    return block;
}

static char *take(struct tt_bound *b, struct tt_place *place, size_t bytes)
{
    return take_by(place->dev->take, b, place, bytes);
}

/* On the host, for copies from and to that place. */
static char *take_pinned(struct tt_bound *b, struct tt_place *place, size_t bytes)
{
    return take_by(place->dev->take_pinned, b, place, bytes);
}

/* ---- images ---- */

/* Room on the host for bytes of which only some will be touched. Few among many, as of a column of a matrix, are not
 * worth memory for all: only touched pages of a mapping take any. */
static char *take_gapped_image(struct tt_bound *b, size_t bytes, size_t touched)
{
    void *map;

    if (bytes / 4 <= touched || bytes <= 1 << 20)
        return take(b, tt_host_place(), bytes);
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map != MAP_FAILED)
        return keep(b, NULL, map, bytes);
    tt_fault_set("no %zu bytes of address space", bytes);
    return NULL;
}

/* Data that are one piece go straight to the image or back; others by way of two packed copies. */
static int image_copy(const struct tt_bound *b, const struct tt_side *side, char *image, bool fetch)
{
    MPI_Aint at;

    if (!b->packed_here) {
        tt_side_solid(side, &at);
        return tt_copy_now(side->place, tt_away(fetch ? image : side->buf, at), tt_away(fetch ? side->buf : image, at),
                           side->bytes);
    }
    if (fetch)
        return tt_side_pack(side, b->packed_there) ||
               tt_copy_now(side->place, b->packed_here, b->packed_there, side->bytes) ||
               tt_image_unpack(side, image, b->packed_here);
    return tt_image_pack(side, image, b->packed_here) ||
           tt_copy_now(side->place, b->packed_there, b->packed_here, side->bytes) ||
           tt_side_unpack(side, b->packed_there);
}

/* *image: where the side's buffer would be in an image of it; the buffer itself if that is on the host. */
static int make_image(struct tt_bound *b, const struct tt_side *side, bool holds_data, char **image, char *why,
                      size_t size)
{
    MPI_Aint low, high;
    char *room;

    *image = side->buf;
    if (!side->significant || !side->on_device)
        return 0;
    tt_side_span(side, &low, &high);
    b->packed_here = b->packed_there = NULL;
    if (tt_side_mixed(side) || !tt_side_solid(side, &(MPI_Aint){0})) {
        room = take_gapped_image(b, (size_t)(high - low), side->bytes);
        b->packed_here = room ? take_pinned(b, side->place, side->bytes) : NULL;
        b->packed_there = b->packed_here ? take(b, side->place, side->bytes) : NULL;
        room = b->packed_there ? room : NULL;
    } else {
        room = take_pinned(b, side->place, side->bytes);
    }
    if (!room)
        return explain(why, size, tt_fault());
    *image = tt_away(room, -low);
    return holds_data && image_copy(b, side, *image, true) ? explain(why, size, tt_fault()) : 0;
}

/* ---- for a plan ---- */

/* Does the plan, or the MPI below, read what the user put into RECV? */
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

    *at = take(b, home, bytes);
    if (!*at || (holds_data && tt_copy_now(from == tt_host_place() ? home : from, *at, side->buf, bytes)))
        return explain(why, size, tt_fault());
    return 0;
}

/* *at: the side's data without gaps, on the host. */
static int packed_stand_in_here(struct tt_bound *b, const struct tt_side *side, bool holds_data, char **at, char *why,
                                size_t size)
{
    *at = take_pinned(b, side->place, side->bytes);
    if (!*at || (holds_data && tt_side_read(side, *at)))
        return explain(why, size, tt_fault());
    return 0;
}

/* *at: the side's data without gaps, where the side is. */
static int packed_stand_in(struct tt_bound *b, const struct tt_side *side, bool holds_data, char **at, char *why,
                           size_t size)
{
    *at = take(b, side->place, side->bytes);
    if (!*at || (holds_data && tt_side_pack(side, *at)))
        return explain(why, size, tt_fault());
    return 0;
}

static int stand_in(struct tt_bound *b, const struct tt_side *side, enum tt_stand_in how, bool holds_data, char **at,
                    char *why, size_t size)
{
    return (how == TT_PACKED        ? packed_stand_in
            : how == TT_PACKED_HERE ? packed_stand_in_here
                                    : home_stand_in)(b, side, holds_data, at, why, size);
}

/* Where the data of a side begin that need no stand-in. */
static char *data_of(const struct tt_job *job, const struct tt_side *side)
{
    MPI_Aint first = 0;

    if (!job->cell)
        tt_side_solid(side, &first);
    return tt_away(side->buf, first);
}

/* A stand-in of the side that holds the result is to be copied back. */
static void note_result(struct tt_bound *b, const struct tt_job *job, const struct tt_side *side, enum tt_stand_in how,
                        char *at)
{
    if (side != &job->recv || !recv_is_result(job))
        return;
    b->result = side;
    b->stand_in = at;
    b->how = how;
}

/* *at: where the plan finds the side. */
static int bind_side(struct tt_bound *b, const struct tt_job *job, const struct tt_side *side, bool holds_data,
                     char **at, char *why, size_t size)
{
    const enum tt_stand_in how = stand_in_for(job, side, b->with.home);

    *at = side->buf;
    if (!side->significant || side->bytes == 0)
        return 0;
    if (how == TT_NO_STAND_IN) {
        *at = data_of(job, side);
        return 0;
    }
    if (stand_in(b, side, how, holds_data, at, why, size))
        return -1;
    note_result(b, job, side, how, *at);
    return 0;
}

static bool side_as_is(const struct tt_job *job, const struct tt_side *side, MPI_Aint *first)
{
    *first = 0;
    if (!side->significant || side->bytes == 0)
        return true;
    if (stand_in_for(job, side, tt_host_place()) != TT_NO_STAND_IN)
        return false;
    *first = data_of(job, side) - side->buf;
    return true;
}

bool tt_bind_as_is(const struct tt_job *job, MPI_Aint first[2])
{
    return !job->applies && side_as_is(job, &job->send, &first[SEND]) && side_as_is(job, &job->recv, &first[RECV]);
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
    b->with.base[TMP] = tmp ? keep(b, home, home->dev->take(home, tmp), tmp) : NULL;
    b->with.base[PIN] = pin ? keep(b, home, home->dev->take_pinned(home, pin), pin) : NULL;
    if ((tmp && !b->with.base[TMP]) || (pin && !b->with.base[PIN]))
        error = explain(why, size, tt_fault());
    home->dev->leave(home);
    return error;
}

/* An op's room, whose gaps may be far larger than its data. */
static int bind_apply(struct tt_bound *b, const struct tt_job *job, char *why, size_t size)
{
    const struct tt_layout *element = tt_job_element(job);
    size_t bytes;
    char *room;

    if (element->size == 0)
        return 0;
    if (!element->runs)
        return explain(why, size, "out of host memory for the pieces of a datatype, or a datatype of an unknown kind");
    bytes = tt_apply_open(&b->apply, job->call->op, job->call->recv.type, element);
    room = take_gapped_image(b, bytes, 2 * (size_t)b->apply.piece * element->size);
    if (!room)
        return explain(why, size, tt_fault());
    tt_apply_place(&b->apply, room);
    b->with.apply = &b->apply;
    return 0;
}

int tt_bind_plan(struct tt_bound *b, const struct tt_job *job, const struct tt_plan *plan, char *why, size_t size)
{
    b->with.host = tt_host_place();
    b->with.cell = job->cell;
    b->with.on_device = tt_job_on_device(job, b->with.home);
    if (bind_side(b, job, &job->send, true, &b->with.base[SEND], why, size) ||
        bind_side(b, job, &job->recv, recv_holds_data(job), &b->with.base[RECV], why, size))
        return -1;
    if (job->applies && bind_apply(b, job, why, size))
        return -1;
    return bind_scratch(b, plan, why, size);
}

/* ---- for NCCL ---- */

static struct tt_place *nearest(const struct tt_bound *b, const struct tt_side *side)
{
    return side->place == tt_host_place() ? b->with.home : side->place;
}

/* Between a side and its data without gaps on NCCL's GPU. */
static int gpu_copy(const struct tt_bound *b, const struct tt_side *side, char *at, bool fetch)
{
    struct tt_place *home = b->with.home;
    MPI_Aint first;

    if (!tt_side_mixed(side) && tt_side_solid(side, &first))
        return tt_copy_now(nearest(b, side), fetch ? at : tt_away(side->buf, first),
                           fetch ? tt_away(side->buf, first) : at, side->bytes);
    return fetch ? tt_side_read(side, b->packed_here) || tt_copy_now(home, at, b->packed_here, side->bytes)
                 : tt_copy_now(home, b->packed_here, at, side->bytes) || tt_side_write(side, b->packed_here);
}

static int gpu_stand_in(struct tt_bound *b, const struct tt_side *side, bool holds_data, char **at, char *why,
                        size_t size)
{
    const bool solid = !tt_side_mixed(side) && tt_side_solid(side, &(MPI_Aint){0});

    *at = take(b, b->with.home, side->bytes);
    b->packed_here = *at && !solid ? take_pinned(b, b->with.home, side->bytes) : NULL;
    if (!*at || (!solid && !b->packed_here) || (holds_data && gpu_copy(b, side, *at, true)))
        return explain(why, size, tt_fault());
    return 0;
}

/* Data without gaps, where NCCL is, are used as they are; of two sides that are one, the sent is copied, unless NCCL
 * takes that for a reduction in place. */
static enum tt_stand_in on_gpu_how(const struct tt_bound *b, const struct tt_job *job, const struct tt_side *side)
{
    const bool aside = job->aliased && side == &job->send;

    if (side->place != b->with.home)
        return TT_ON_GPU;
    if (aside && (!job->cell || job->shape.coll == TT_COLL_reduce_scatter))
        return TT_PACKED;
    return job->cell || tt_side_solid(side, &(MPI_Aint){0}) ? TT_NO_STAND_IN : TT_PACKED;
}

static int bind_on_gpu(struct tt_bound *b, const struct tt_job *job, const struct tt_side *side, bool holds_data,
                       char **at, char *why, size_t size)
{
    const enum tt_stand_in how = on_gpu_how(b, job, side);

    *at = side->significant ? side->buf : NULL;
    if (!side->significant || side->bytes == 0)
        return 0;
    if (how == TT_NO_STAND_IN) {
        *at = data_of(job, side);
        return 0;
    }
    if ((how == TT_PACKED ? packed_stand_in : gpu_stand_in)(b, side, holds_data, at, why, size))
        return -1;
    note_result(b, job, side, how, *at);
    return 0;
}

int tt_bind_nccl(struct tt_bound *b, const struct tt_job *job, size_t spare, struct tt_on_gpu *at, char *why,
                 size_t size)
{
    *at = (struct tt_on_gpu){0};
    if (bind_on_gpu(b, job, &job->send, true, &at->send, why, size) ||
        bind_on_gpu(b, job, &job->recv, recv_holds_data(job), &at->recv, why, size))
        return -1;
    at->spare = spare ? take(b, b->with.home, spare) : NULL;
    return spare && !at->spare ? explain(why, size, tt_fault()) : 0;
}

/* ---- for the MPI below ---- */

/* Whatever the MPI below may leave as it was has to be in the image: what a neighbour that is none would have sent. */
int tt_bind_native(struct tt_bound *b, const struct tt_job *job, char *why, size_t size)
{
    const bool holds_data = recv_holds_data(job) || (job->row->traits & TT_NEIGHBOURS);
    char *send, *recv;

    b->native = *job->call;
    if (make_image(b, &job->send, true, &send, why, size) || make_image(b, &job->recv, holds_data, &recv, why, size))
        return -1;
    if (job->send.significant && job->send.on_device)
        b->native.send.buf = send;
    if (!job->recv.significant || !job->recv.on_device)
        return 0;
    b->native.recv.out = b->stand_in = recv;
    b->result = recv_is_result(job) ? &job->recv : NULL;
    b->how = TT_IMAGE;
    return 0;
}

/* ---- afterwards ---- */

int tt_bound_deliver(struct tt_bound *b, char *why, size_t size)
{
    const struct tt_side *side = b->result;
    int error = 0;

    if (!side)
        return 0;
    if (b->how == TT_AT_HOME)
        error = tt_copy_now(side->on_device ? side->place : b->with.home, side->buf, b->stand_in, whole_extent(side));
    else if (b->how == TT_PACKED_HERE)
        error = tt_side_write(side, b->stand_in);
    else if (b->how == TT_PACKED)
        error = tt_side_unpack(side, b->stand_in);
    else if (b->how == TT_ON_GPU)
        error = gpu_copy(b, side, b->stand_in, false);
    else if (b->how == TT_IMAGE)
        error = image_copy(b, side, b->stand_in, false);
    return error ? explain(why, size, tt_fault()) : 0;
}

void tt_bound_end(struct tt_bound *b)
{
    for (int i = 0; i < b->nkept; i++) {
        const struct tt_kept *k = &b->kept[i];

        if (k->place)
            k->place->dev->give(k->place, k->block);
        else
            munmap(k->block, k->bytes);
    }
}
