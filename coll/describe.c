/* SPDX-License-Identifier: BSD-3-Clause */
/* From the arguments of a call to its shape and its two sides, for every collective by the traits of its row; and
 * the check that the arguments make sense. What does not is left to the MPI below, whose error the user expects, unless
 * it would touch device memory. */
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/gaps.h"
#include "coll/job.h"
#include "coll/watch.h"

static bool has(const struct tt_job *job, unsigned trait)
{
    return job->row->traits & trait;
}

/* ---- neighbours ---- */

/* How many ranks this one receives from and sends to in the communicator's topology. */
static int count_neighbours(MPI_Comm comm, int *from, int *to)
{
    int kind, rank, weighted, error = PMPI_Topo_test(comm, &kind);

    if (error != MPI_SUCCESS)
        return error;
    if (kind == MPI_DIST_GRAPH)
        return PMPI_Dist_graph_neighbors_count(comm, from, to, &weighted);
    if (kind == MPI_CART) {
        error = PMPI_Cartdim_get(comm, from);
        *from *= 2;
    } else if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        error = PMPI_Graph_neighbors_count(comm, rank, from);
    } else {
        return MPI_ERR_TOPOLOGY;
    }
    *to = *from;
    return error;
}

int tt_count_peers(const struct tt_call *c, const struct tt_comm *comm, int *senders, int *receivers)
{
    const unsigned traits = tt_rows[c->coll].traits;

    *senders = *receivers = traits & TT_REDUCES ? comm->size : comm->peers;
    return traits & TT_NEIGHBOURS ? count_neighbours(c->comm, senders, receivers) : MPI_SUCCESS;
}

/* ---- sides ---- */

static int block_fill(struct tt_block *b, MPI_Count count, MPI_Datatype type, bool *lasting, const char **what)
{
    bool its_own;
    int error;

    b->count = count;
    b->type = type;
    *what = "the datatype is null";
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    *what = "a count is negative";
    if (count < 0)
        return MPI_ERR_COUNT;
    *what = "the datatype is not valid";
    error = tt_layout_of(type, &b->layout, &its_own);
    *lasting &= its_own;
    return error == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int64_t entry_of(const void *array, int i, bool wide)
{
    return wide ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(int64_t), "entry_of reads both");

/* What a call says of a side that has a block for each of n ranks. */
struct listed {
    const void *counts, *displs;
    const MPI_Datatype *types;
    MPI_Datatype type;
    int n;
};

/* Programs leave MPI_DATATYPE_NULL, or a freed type, where an alltoallw passes nothing: nobody is to look at it. */
static MPI_Datatype type_of(const struct listed *from, int i, int64_t n)
{
    return !from->types ? from->type : n == 0 ? MPI_BYTE : from->types[i];
}

static int blocks_fill(const struct tt_job *job, struct tt_side *side, const struct listed *from, const char **what)
{
    const bool wide = job->call->wide, wide_displs = wide || has(job, TT_WIDE_DISPLS);

    side->nblocks = from->n;
    side->lasting = true;
    *what = "an array of counts, displacements or datatypes is null";
    if (from->n > 0 && (!from->counts || !from->displs || (has(job, TT_TYPES) && !from->types)))
        return MPI_ERR_ARG;
    for (int i = 0; i < from->n; i++) {
        struct tt_block *b = &side->many[i];
        const int64_t n = entry_of(from->counts, i, wide);
        const int class = block_fill(b, n, type_of(from, i, n), &side->lasting, what);

        if (class != MPI_SUCCESS)
            return class;
        b->at = entry_of(from->displs, i, wide_displs) * (has(job, TT_TYPES) ? 1 : b->layout.extent);
    }
    return MPI_SUCCESS;
}

/* Sums up what the blocks hold and whether they leave gaps; a null address is no buffer, unless the types say where. */
static int side_close(struct tt_side *side, const char **what)
{
    side->plain = true;
    *what = "a buffer is null";
    for (int i = 0; i < side->nblocks; i++) {
        const struct tt_block *b = tt_block_of(side, i);

        if (b->count == 0 || b->layout.size == 0)
            continue;
        if (!side->buf && b->at == 0 && b->layout.true_lb == 0)
            return MPI_ERR_BUFFER;
        side->plain &= b->layout.plain && b->at == (MPI_Aint)side->bytes;
        side->bytes += (size_t)b->count * b->layout.size;
    }
    return MPI_SUCCESS;
}

static int side_fill(struct tt_side *side, MPI_Count count, MPI_Datatype type, const char **what)
{
    side->nblocks = 1;
    side->lasting = true;
    return block_fill(&side->only, count, type, &side->lasting, what);
}

/* How many elements a side that is one block holds. In place, the receive buffer of a reduce_scatter holds what is
 * sent. */
static MPI_Count elements_of(const struct tt_job *job, bool sends, int peers, MPI_Count count)
{
    int64_t total = 0;

    if (!has(job, TT_COUNTS))
        return count * (has(job, sends ? TT_SEND_BLOCKS : TT_RECV_BLOCKS) ||
                                (job->inplace && has(job, TT_SEND_BLOCKS) && has(job, TT_REDUCES))
                            ? peers
                            : 1);
    if (!sends && !job->inplace)
        return job->shape.counts[job->comm->rank];
    for (int i = 0; i < peers; i++)
        total += job->shape.counts[i];
    return total;
}

/* Has this rank a part in a side that is the root's, or, in an intercommunicator, everybody's but the root's? */
static bool has_part(const struct tt_job *job, unsigned at_root)
{
    if (job->bystander)
        return false;
    if (has(job, at_root))
        return job->is_root;
    return !(job->comm->inter && has(job, TT_ROOTED) && !has(job, TT_ONE_BUFFER) && job->is_root);
}

static int fill_send(struct tt_job *job, int peers, const char **what)
{
    const struct tt_call *c = job->call;
    const struct listed listed = {c->send.counts, c->send.displs, c->send.types, c->send.type, peers};
    int class;

    job->send.buf = (char *)c->send.buf;
    job->send.significant = !has(job, TT_NO_BUFFER | TT_ONE_BUFFER) && has_part(job, TT_SEND_AT_ROOT) &&
                            (!job->inplace || has(job, TT_SEND_AT_ROOT));
    if (!job->send.significant)
        return MPI_SUCCESS;
    class = has(job, TT_SEND_COUNTS)
                ? blocks_fill(job, &job->send, &listed, what)
                : side_fill(&job->send, elements_of(job, true, peers, c->send.count), c->send.type, what);
    return class == MPI_SUCCESS ? side_close(&job->send, what) : class;
}

static int fill_recv(struct tt_job *job, int peers, const char **what)
{
    const struct tt_call *c = job->call;
    const struct listed listed = {c->recv.counts, c->recv.displs, c->recv.types, c->recv.type, peers};
    const bool nothing_comes = has(job, TT_RECV_NOT_FIRST) && job->comm->rank == 0 && !job->inplace;
    int class;

    job->recv.buf = c->recv.out;
    job->recv.significant = !has(job, TT_NO_BUFFER) && has_part(job, TT_RECV_AT_ROOT) &&
                            !(job->inplace && has(job, TT_SEND_AT_ROOT)) && !nothing_comes;
    if (!job->recv.significant)
        return MPI_SUCCESS;
    class = has(job, TT_RECV_COUNTS)
                ? blocks_fill(job, &job->recv, &listed, what)
                : side_fill(&job->recv, elements_of(job, false, peers, c->recv.count), c->recv.type, what);
    return class == MPI_SUCCESS ? side_close(&job->recv, what) : class;
}

/* The counts of a reduce_scatter, which it shares with all ranks. */
static int read_counts(struct tt_job *job, int64_t *counts, const char **what)
{
    const struct tt_call *c = job->call;

    *what = "a count is negative, or the array of counts is null";
    if (!c->recv.counts)
        return MPI_ERR_COUNT;
    for (int i = 0; i < job->comm->size; i++) {
        counts[i] = entry_of(c->recv.counts, i, c->wide);
        if (counts[i] < 0)
            return MPI_ERR_COUNT;
    }
    job->shape.counts = counts;
    return MPI_SUCCESS;
}

/* Room for what has an entry per rank: blocks of both sides, and lengths for the shape. */
static int make_room(struct tt_job *job, int senders, int receivers)
{
    const size_t blocks = (size_t)senders + (size_t)receivers, lengths = 2 * (size_t)job->comm->size;

    if (!has(job, TT_COUNTS | TT_SEND_COUNTS | TT_RECV_COUNTS))
        return MPI_SUCCESS;
    job->room = calloc(1, blocks * sizeof(struct tt_block) + lengths * sizeof(int64_t) + 1);
    if (!job->room)
        return MPI_ERR_NO_MEM;
    if (has(job, TT_SEND_COUNTS))
        job->send.many = job->room;
    if (has(job, TT_RECV_COUNTS))
        job->recv.many = (struct tt_block *)job->room + receivers;
    return MPI_SUCCESS;
}

/* In the room: where the shape's lengths are, behind the blocks of this many peers. */
static int64_t *lengths_of(const struct tt_job *job, int peers)
{
    return (int64_t *)((struct tt_block *)job->room + peers);
}

static int fill_sides(struct tt_job *job, int *peers, const char **what)
{
    int senders, receivers, class;

    *what = "the communicator has no topology, so there are no neighbours";
    class = tt_count_peers(job->call, job->comm, &senders, &receivers);
    *what = "out of host memory";
    *peers = senders + receivers;
    if (class == MPI_SUCCESS)
        class = make_room(job, senders, receivers);
    if (class == MPI_SUCCESS && has(job, TT_COUNTS))
        class = read_counts(job, lengths_of(job, *peers), what);
    if (class == MPI_SUCCESS)
        class = fill_send(job, receivers, what);
    if (class == MPI_SUCCESS)
        class = fill_recv(job, senders, what);
    return class;
}

/* ---- arguments that the sides do not tell ---- */

static int check_root(struct tt_job *job, const char **what)
{
    const int root = job->call->root;

    job->is_root = !has(job, TT_ROOTED) || root == (job->comm->inter ? MPI_ROOT : job->comm->rank);
    job->bystander = has(job, TT_ROOTED) && job->comm->inter && root == MPI_PROC_NULL;
    *what = "the root is not a rank of the communicator";
    return !job->is_root && !job->bystander && (root < 0 || root >= job->comm->peers) ? MPI_ERR_ROOT : MPI_SUCCESS;
}

static int check_in_place(struct tt_job *job, const char **what)
{
    const bool scatter = has(job, TT_SEND_AT_ROOT);
    const void *may = scatter ? job->call->recv.out : job->call->send.buf;
    const void *may_not = scatter ? job->call->send.buf : job->call->recv.out;

    *what = "MPI_IN_PLACE where it has no meaning";
    if (!has(job, TT_INPLACE_ALL | TT_INPLACE_ROOT) || job->comm->inter)
        return (job->call->recv.out == MPI_IN_PLACE || (!has(job, TT_ONE_BUFFER) && may == MPI_IN_PLACE)) &&
                       !has(job, TT_NO_BUFFER)
                   ? MPI_ERR_BUFFER
                   : MPI_SUCCESS;
    job->inplace = may == MPI_IN_PLACE;
    if (job->inplace && !has(job, TT_INPLACE_ALL) && !job->is_root)
        return MPI_ERR_BUFFER;
    return may_not == MPI_IN_PLACE && (!has(job, TT_SEND_AT_ROOT | TT_RECV_AT_ROOT) || job->is_root) ? MPI_ERR_BUFFER
                                                                                                     : MPI_SUCCESS;
}

/* One buffer for both sides is forbidden, and an MPI may refuse it or not care. This rank may be the only one that
 * gives one, so a refusal would leave the others waiting, as the going on of an MPI that does not care would leave
 * those that Tutti serves: a copy is sent instead. Alone, a rank leaves it to the MPI below. Datatypes with gaps can
 * share an address and no byte. */
static int check_alias(struct tt_job *job, const char **what)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const bool same = job->send.significant && job->recv.significant && job->send.buf == job->recv.buf &&
                      job->send.buf && (has(job, TT_REDUCES) || (job->send.plain && job->recv.plain)) &&
                      job->send.bytes && job->recv.bytes;

    *what = "the send and the receive buffer are the same: MPI_IN_PLACE says that";
    job->aliased = same && (job->comm->size > 1 || job->comm->inter);
    if (job->aliased && !atomic_flag_test_and_set(&said))
        tt_log(TT_WARN, "rank %d: %s: %s", job->comm->rank, job->row->name, *what);
    return same && !job->aliased ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

/* An op without a cell, in a call that may not be left to the MPI below: applied by a plan, unless one element is
 * longer than a message may be. */
static void apply_op(struct tt_job *job, bool *commutes)
{
    int yes = 1;

    job->applies = tt_config.reproducible && !job->cell && !job->comm->inter &&
                   tt_op_is_applicable(job->call->recv.type, job->call->op) && tt_job_element(job)->size <= INT_MAX;
    if (!job->applies)
        return;
    job->foreign = NULL;
    PMPI_Op_commutative(job->call->op, &yes);
    *commutes = yes;
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
    apply_op(job, &job->shape.commutes);
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

    return side->bytes / (size_t)(blocks ? job->comm->size : 1);
}

/* The bytes of each block of a side, to lengths. */
static const int64_t *lengths_fill(const struct tt_side *side, int64_t *lengths)
{
    for (int i = 0; i < side->nblocks; i++) {
        const struct tt_block *b = tt_block_of(side, i);

        lengths[i] = (int64_t)b->count * (int64_t)b->layout.size;
    }
    return lengths;
}

/* A shape whose blocks differ. What goes to and comes from each rank are local facts, but for allgatherv's; these are
 * in bytes, since nothing longer is known to divide them everywhere. */
static void shape_listed(struct tt_job *job, int64_t *lengths)
{
    struct tt_shape *s = &job->shape;
    const int rank = job->comm->rank;
    const struct tt_side *own = has(job, TT_SEND_AT_ROOT) ? &job->recv : &job->send;

    s->unit = 1;
    if (has(job, TT_RECV_COUNTS) && job->recv.significant)
        s->counts = lengths_fill(&job->recv, lengths);
    if (has(job, TT_SEND_AT_ROOT) && job->send.significant)
        s->counts = lengths_fill(&job->send, lengths);
    else if (has(job, TT_SEND_COUNTS) && job->send.significant)
        s->sends = lengths_fill(&job->send, lengths + job->comm->size);
    if (s->sends)
        job->uneven = s->sends[rank] != s->counts[rank];
    else if (own->significant && s->counts)
        job->uneven = (int64_t)own->bytes != s->counts[rank];
    if (has(job, TT_ROOTED))
        s->count = own->significant ? (int64_t)own->bytes : s->counts[rank];
}

/* allgatherv's blocks are known to all, and so is what divides them. */
static void shape_widen(struct tt_shape *s, int64_t *lengths)
{
    size_t all = 0;

    for (int i = 0; i < s->size; i++)
        all |= (size_t)lengths[i];
    s->unit = unit_of(all);
    for (int i = 0; i < s->size; i++)
        lengths[i] /= (int64_t)s->unit;
}

/* The element of a reduction: one of the datatype, as the cell has it, or packed. Those without data need not travel.
 */
static void shape_reduced(struct tt_job *job, int64_t *counts)
{
    const size_t size = job->cell ? job->cell->size : tt_job_element(job)->size;

    job->shape.unit = size ? size : 1;
    job->shape.count = size ? job->call->recv.count : 0;
    if (size == 0 && job->shape.counts)
        memset(counts, 0, (size_t)job->comm->size * sizeof *counts);
}

/* A shape whose blocks are alike, or one vector. */
static void shape_even(struct tt_job *job)
{
    struct tt_shape *s = &job->shape;
    const struct tt_side *stated = has(job, TT_RECV_AT_ROOT) && !job->is_root  ? &job->send
                                   : has(job, TT_SEND_AT_ROOT) && job->is_root ? &job->send
                                                                               : &job->recv;
    const size_t bytes = block_bytes(job, stated);

    s->unit = unit_of(bytes);
    s->count = (int64_t)(bytes / s->unit);
    job->uneven = !has(job, TT_REDUCES) && job->send.significant && job->recv.significant &&
                  block_bytes(job, &job->send) != block_bytes(job, &job->recv);
}

static void shape_fill(struct tt_job *job, int peers)
{
    struct tt_shape *s = &job->shape;

    s->coll = tt_coll_family(job->call->coll);
    s->size = job->comm->size;
    s->nodes = job->comm->topo ? &job->comm->topo->nodes : NULL;
    s->inplace = job->inplace;
    s->root = has(job, TT_ROOTED) && !job->comm->inter ? job->call->root : 0;
    s->reproducible = has(job, TT_REDUCES) && tt_config.reproducible;
    if (has(job, TT_NEIGHBOURS) || job->comm->inter) {
        s->unit = 1; /* no plan is made for these: the MPI below sees to them */
    } else if (has(job, TT_SEND_COUNTS | TT_RECV_COUNTS)) {
        shape_listed(job, lengths_of(job, peers));
        if (s->coll == TT_COLL_allgatherv)
            shape_widen(s, lengths_of(job, peers));
    } else if (job->cell || job->applies) {
        shape_reduced(job, lengths_of(job, peers));
    } else {
        shape_even(job);
    }
    s->segment = tt_config.segment / (int64_t)s->unit;
    if (tt_config.segment && s->segment == 0)
        s->segment = 1;
}

int tt_job_describe(struct tt_job *job, const char **what)
{
    int peers = 0, class = check_root(job, what);

    job->shape.commutes = true; /* as all predefined ops are */
    if (class == MPI_SUCCESS)
        class = check_in_place(job, what);
    if (class == MPI_SUCCESS)
        class = fill_sides(job, &peers, what);
    if (class == MPI_SUCCESS)
        class = check_alias(job, what);
    if (class == MPI_SUCCESS)
        class = check_op(job, what);
    if (class == MPI_SUCCESS)
        shape_fill(job, peers);
    return class;
}

void tt_job_end(struct tt_job *job)
{
    free(job->room);
    job->room = NULL;
}

/* The types last. */
static int side_arrays(const struct tt_job *job, const struct tt_side *side, const void *const of[3], bool wide,
                       struct tt_array *list)
{
    const size_t n = (size_t)side->nblocks, narrow = sizeof(int);

    list[0] = (struct tt_array){of[0], n * (wide ? sizeof(MPI_Count) : narrow)};
    list[1] = (struct tt_array){of[1], n * (wide || has(job, TT_WIDE_DISPLS) ? sizeof(MPI_Aint) : narrow)};
    list[2] = (struct tt_array){of[2], n * sizeof(MPI_Datatype)};
    return has(job, TT_TYPES) ? 3 : 2;
}

int tt_job_arrays(const struct tt_job *job, const struct tt_call *c, struct tt_array list[TT_MOST_ARRAYS])
{
    const void *const sent[] = {c->send.counts, c->send.displs, c->send.types};
    const void *const received[] = {c->recv.counts, c->recv.displs, c->recv.types};
    const size_t count = c->wide ? sizeof(MPI_Count) : sizeof(int);
    int n = 0;

    if (has(job, TT_COUNTS))
        list[n++] = (struct tt_array){c->recv.counts, (size_t)job->comm->size * count};
    if (has(job, TT_SEND_COUNTS) && job->send.significant)
        n += side_arrays(job, &job->send, sent, c->wide, list + n);
    if (has(job, TT_RECV_COUNTS) && job->recv.significant)
        n += side_arrays(job, &job->recv, received, c->wide, list + n);
    return n;
}

void tt_memos_free(struct tt_memo *memos)
{
    for (int coll = 0; memos && coll < TT_NCOLLS; coll++) {
        tt_job_end(&memos[coll].job);
        free(memos[coll].arrays);
    }
    free(memos);
}

/* ---- where the sides are ---- */

/* The first time that memory of a GPU is met, this starts what works there. */
static struct tt_place *place_of(const struct tt_mem *mem)
{
    const uint64_t begun = tt_setup_begin(TT_SETUP_DEVICE);
    struct tt_place *place = tt_place_of(mem);

    tt_setup_end(TT_SETUP_DEVICE, begun);
    return place;
}

static int side_look(struct tt_side *side)
{
    const struct tt_block *b = NULL;

    if (!side->significant || side->bytes == 0)
        return 0;
    for (int i = 0; i < side->nblocks && (!b || b->count == 0 || b->layout.size == 0); i++)
        b = tt_block_of(side, i);
    if (tt_mem_where(tt_away(side->buf, b->at + b->layout.true_lb), &side->mem))
        return -1;
    side->on_device = tt_mem_on_device(&side->mem);
    if (side->on_device)
        side->place = place_of(&side->mem);
    if (!side->place)
        return -1;
    return side->buf ? 0 : tt_side_scan(side);
}

int tt_job_look(struct tt_job *job)
{
    job->send.on_device = job->recv.on_device = false;
    job->send.place = job->recv.place = tt_host_place();
    if (!tt_driver_present())
        return 0;
    return side_look(&job->send) || side_look(&job->recv) ? -1 : 0;
}
