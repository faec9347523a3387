/* SPDX-License-Identifier: BSD-3-Clause */
/* From the arguments of a call to its shape and its two sides, for every collective by the traits of its row; and
 * the check that the arguments make sense. What does not is left to the MPI below, whose error the user expects, unless
 * it would touch device memory. */
#include "coll/config.h"
#include "coll/job.h"

static bool has(const struct tt_job *job, unsigned trait)
{
    return job->row->traits & trait;
}

/* ---- sides ---- */

static int side_fill(struct tt_side *side, const void *buf, MPI_Count count, MPI_Datatype type, const char **what)
{
    side->buf = (char *)buf;
    side->count = count;
    side->type = type;
    if (!side->significant)
        return MPI_SUCCESS;
    *what = "the datatype is null";
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    *what = "a count is negative";
    if (count < 0)
        return MPI_ERR_COUNT;
    *what = "the datatype is not valid";
    if (tt_layout_of(type, &side->layout, &side->lasting) != MPI_SUCCESS)
        return MPI_ERR_TYPE;
    *what = "a buffer is null";
    if (!buf && side->layout.true_lb == 0 && count > 0)
        return MPI_ERR_BUFFER;
    return MPI_SUCCESS;
}

/* The sum of the counts of a v-collective, which also go to comm->counts; -1 if one is negative. */
static int64_t read_counts(const struct tt_job *job)
{
    const struct tt_call *c = job->call;
    int64_t total = 0;

    for (int i = 0; i < job->comm->size; i++) {
        const int64_t n = c->wide ? (int64_t)((const MPI_Count *)c->recv.counts)[i] : ((const int *)c->recv.counts)[i];

        if (n < 0)
            return -1;
        job->comm->counts[i] = n;
        total += n;
    }
    return total;
}

/* How many elements of the datatype each side holds. */
static int count_sides(const struct tt_job *job, MPI_Count *send, MPI_Count *recv)
{
    const struct tt_call *c = job->call;

    *send = c->send.count * (has(job, TT_SEND_BLOCKS) ? job->comm->size : 1);
    *recv = c->recv.count * (has(job, TT_RECV_BLOCKS) ? job->comm->size : 1);
    if (has(job, TT_COUNTS)) {
        *send = c->recv.counts ? read_counts(job) : -1;
        *recv = *send < 0 ? -1 : job->comm->counts[job->comm->rank];
    }
    /* in place, the receive buffer of a reduce_scatter holds what is sent */
    if (job->inplace && has(job, TT_REDUCES))
        *recv = *send > *recv ? *send : *recv;
    return *send < 0 && *recv < 0 ? MPI_ERR_COUNT : MPI_SUCCESS;
}

static int fill_sides(struct tt_job *job, const char **what)
{
    const struct tt_call *c = job->call;
    const bool scatter = has(job, TT_SEND_AT_ROOT);
    MPI_Count send, recv;
    int class;

    job->send.significant = !has(job, TT_NO_BUFFER | TT_ONE_BUFFER) && (!has(job, TT_SEND_AT_ROOT) || job->is_root) &&
                            (!job->inplace || scatter);
    job->recv.significant =
        !has(job, TT_NO_BUFFER) && (!has(job, TT_RECV_AT_ROOT) || job->is_root) && !(job->inplace && scatter);
    *what = "a count is negative, or the array of counts is null";
    class = count_sides(job, &send, &recv);
    if (class == MPI_SUCCESS)
        class = side_fill(&job->send, c->send.buf, send, c->send.type, what);
    if (class == MPI_SUCCESS)
        class = side_fill(&job->recv, c->recv.out, recv, c->recv.type, what);
    return class;
}

/* ---- arguments that the sides do not tell ---- */

static int check_root(struct tt_job *job, const char **what)
{
    const int root = job->call->root;

    job->is_root = !has(job, TT_ROOTED) || root == job->comm->rank;
    *what = "the root is not a rank of the communicator";
    return has(job, TT_ROOTED) && (root < 0 || root >= job->comm->size) ? MPI_ERR_ROOT : MPI_SUCCESS;
}

static int check_in_place(struct tt_job *job, const char **what)
{
    const bool scatter = has(job, TT_SEND_AT_ROOT);
    const void *may = scatter ? job->call->recv.out : job->call->send.buf;
    const void *may_not = scatter ? job->call->send.buf : job->call->recv.out;

    *what = "MPI_IN_PLACE where it has no meaning";
    if (!has(job, TT_INPLACE_ALL | TT_INPLACE_ROOT))
        return job->call->recv.out == MPI_IN_PLACE && !has(job, TT_NO_BUFFER) ? MPI_ERR_BUFFER : MPI_SUCCESS;
    job->inplace = may == MPI_IN_PLACE;
    if (job->inplace && !has(job, TT_INPLACE_ALL) && !job->is_root)
        return MPI_ERR_BUFFER;
    return may_not == MPI_IN_PLACE && (!has(job, TT_SEND_AT_ROOT | TT_RECV_AT_ROOT) || job->is_root) ? MPI_ERR_BUFFER
                                                                                                     : MPI_SUCCESS;
}

/* Only what is wrong for certain may be refused, since a rank that is refused is alone: datatypes with gaps can share
 * an address and no byte. */
static int check_alias(const struct tt_job *job, const char **what)
{
    *what = "the send and the receive buffer are the same: MPI_IN_PLACE says that";
    return job->send.significant && job->recv.significant && job->send.buf == job->recv.buf && job->send.buf &&
                   (has(job, TT_REDUCES) || (job->send.layout.plain && job->recv.layout.plain)) &&
                   tt_side_bytes(&job->send) && tt_side_bytes(&job->recv)
               ? MPI_ERR_BUFFER
               : MPI_SUCCESS;
}

static int check_op(struct tt_job *job, const char **what)
{
    if (!has(job, TT_REDUCES))
        return MPI_SUCCESS;
    *what = "the op is null";
    if (job->call->op == MPI_OP_NULL)
        return MPI_ERR_OP;
    job->cell = tt_cell_of(job->call->recv.type, job->call->op, &job->foreign, &job->ours);
    if (job->cell)
        job->foreign = NULL;
    *what = "the op has no meaning for the type";
    return job->ours && !job->cell ? MPI_ERR_OP : MPI_SUCCESS;
}

/* ---- shape ---- */

/* The element of a collective that only moves data: the largest power of two up to 16 bytes that divides the bytes. A
 * fact that all ranks share, while the datatypes are not. */
static size_t unit_of(size_t bytes)
{
    const size_t lowest = bytes & -bytes;

    return lowest == 0 ? 1 : lowest > 16 ? 16 : lowest;
}

/* Bytes of a side's block, or of all of it where it is one. */
static size_t block_bytes(const struct tt_job *job, const struct tt_side *side)
{
    const bool blocks = has(job, side == &job->send ? TT_SEND_BLOCKS : TT_RECV_BLOCKS);

    return tt_side_bytes(side) / (size_t)(blocks ? job->comm->size : 1);
}

static void shape_fill(struct tt_job *job)
{
    struct tt_shape *s = &job->shape;
    const struct tt_side *stated = has(job, TT_RECV_AT_ROOT) && !job->is_root  ? &job->send
                                   : has(job, TT_SEND_AT_ROOT) && job->is_root ? &job->send
                                                                               : &job->recv;
    const size_t bytes = block_bytes(job, stated);

    *s = (struct tt_shape){.coll = tt_coll_family(job->call->coll), .size = job->comm->size, .inplace = job->inplace};
    s->root = has(job, TT_ROOTED) ? job->call->root : 0;
    s->commutes = true; /* as all predefined ops are; others go to the MPI below */
    s->counts = has(job, TT_COUNTS) ? job->comm->counts : NULL;
    s->unit = job->cell ? job->cell->size : unit_of(bytes);
    s->count = job->cell ? job->call->recv.count : (int64_t)(bytes / s->unit);
    job->uneven = !has(job, TT_REDUCES) && job->send.significant && job->recv.significant &&
                  block_bytes(job, &job->send) != block_bytes(job, &job->recv);
    s->segment = tt_config.segment > (int64_t)s->unit ? tt_config.segment / (int64_t)s->unit : 1;
}

int tt_job_describe(struct tt_job *job, const char **what)
{
    int class = check_root(job, what);

    if (class == MPI_SUCCESS)
        class = check_in_place(job, what);
    if (class == MPI_SUCCESS)
        class = fill_sides(job, what);
    if (class == MPI_SUCCESS)
        class = check_alias(job, what);
    if (class == MPI_SUCCESS)
        class = check_op(job, what);
    if (class == MPI_SUCCESS)
        shape_fill(job);
    return class;
}

static int side_look(struct tt_side *side)
{
    if (!side->significant || tt_side_bytes(side) == 0)
        return 0;
    if (tt_mem_where(tt_away(side->buf, side->layout.true_lb), &side->mem))
        return -1;
    side->on_device = tt_mem_on_device(&side->mem);
    if (side->on_device)
        side->place = tt_place_of(&side->mem);
    return side->place ? 0 : -1;
}

int tt_job_look(struct tt_job *job)
{
    job->send.on_device = job->recv.on_device = false;
    job->send.place = job->recv.place = tt_host_place();
    if (!tt_driver_present())
        return 0;
    return side_look(&job->send) || side_look(&job->recv) ? -1 : 0;
}
