/* SPDX-License-Identifier: BSD-3-Clause */
/* What must be equal on all ranks is a value each: of data the length and the hash of their signature, since datatypes
 * may differ where signatures do not. Where each pair of ranks has a count of its own, values could not be compared
 * with one another: there the sender adds a number made of the message to a sum, and the receiver takes away what it
 * expects, so that a sum that is not 0 shows that some pair does not agree, and sums over some of the pairs show which.
 */
#include "coll/fingerprint.h"

#include <stdio.h>
#include <string.h>

#include "coll/signature.h"

static bool has(const struct tt_job *job, unsigned trait)
{
    return job->row->traits & trait;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t chain(uint64_t h, struct tt_signature s)
{
    return mix(h * 31 + mix(s.n) + s.hash);
}

static uint64_t hash_of(const char *text)
{
    uint64_t h = 1;

    for (; *text; text++)
        h = mix(h + (unsigned char)*text);
    return h | 1;
}

/* ---- words ---- */

static void print_type(char *text, size_t size, MPI_Datatype type)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    const char *known = tt_mpi_type_name(type);
    int length;

    if (strncmp(known, "MPI", 3) && strncmp(known, "TUTTI", 5) &&
        (PMPI_Type_get_name(type, name, &length) != MPI_SUCCESS || !*name))
        known = "a derived type";
    snprintf(text, size, "%s", *name ? name : known);
}

static void print_block(char *text, size_t size, MPI_Count count, MPI_Datatype type)
{
    char name[48];

    print_type(name, sizeof name, type);
    snprintf(text, size, "%lld x %s", (long long)count, name);
}

static void print_call(char *text, size_t size, enum tt_coll coll, enum tt_call_form form)
{
    const char *name = tt_rows[coll].name;

    if (form == TT_CALL_NONBLOCKING)
        snprintf(text, size, "MPI_I%s", tt_coll_name(coll));
    else
        snprintf(text, size, "%s%s%s", form == TT_CALL_START ? "the start of " : "", name,
                 form == TT_CALL_BLOCKING ? "" : "_init");
}

/* ---- values ---- */

static void say_block(struct tt_record *r, MPI_Count count, MPI_Datatype type)
{
    const struct tt_signature s = tt_signature_of(type, (uint64_t)count);

    r->value[TT_CHECKED_count] = s.n + 1;
    r->value[TT_CHECKED_type] = s.hash | UINT64_C(1) << 63;
    print_block(r->block, sizeof r->block, count, type);
}

static bool same(struct tt_signature a, struct tt_signature b)
{
    return a.n == b.n && a.hash == b.hash;
}

/* Both sides of a rank: what it sends itself must be what it expects of itself. */
static void compare_sides(struct tt_record *r, const struct tt_job *job, MPI_Count count, MPI_Datatype type)
{
    const struct tt_call *c = job->call;
    char sent[72], expected[72];

    if (same(tt_signature_of(c->send.type, (uint64_t)c->send.count), tt_signature_of(type, (uint64_t)count)))
        return;
    print_block(sent, sizeof sent, c->send.count, c->send.type);
    print_block(expected, sizeof expected, count, type);
    snprintf(r->fault, sizeof r->fault, "it sends %s and expects %s of itself", sent, expected);
}

static void say_blocks(struct tt_record *r, const struct tt_job *job)
{
    const struct tt_call *c = job->call;

    if (job->send.significant)
        say_block(r, c->send.count, c->send.type);
    else if (job->recv.significant)
        say_block(r, c->recv.count, c->recv.type);
    if (job->send.significant && job->recv.significant && !has(job, TT_REDUCES))
        compare_sides(r, job, c->recv.count, c->recv.type);
}

static void print_counts(struct tt_record *r, const int64_t *counts, int n, MPI_Datatype type)
{
    char name[20];
    size_t used = 0;

    print_type(name, sizeof name, type);
    for (int i = 0; i < n && used + 32 < sizeof r->block; i++)
        used += (size_t)snprintf(r->block + used, sizeof r->block - used, "%s%lld", i ? "," : "", (long long)counts[i]);
    snprintf(r->block + used, sizeof r->block - used, " x %s", name);
}

/* One array that all ranks give alike. */
static void say_counts(struct tt_record *r, const struct tt_job *job)
{
    const MPI_Datatype type = job->call->recv.type;
    const struct tt_signature s = tt_signature_of(type, 1);
    uint64_t h = 1;

    for (int i = 0; i < job->comm->size; i++)
        h = chain(h, tt_signature_repeat(s, (uint64_t)job->shape.counts[i]));
    r->value[TT_CHECKED_blocks] = h | 1;
    print_counts(r, job->shape.counts, job->comm->size, type);
}

static struct tt_signature block_signature(const struct tt_block *b)
{
    return tt_signature_of(b->type, (uint64_t)b->count);
}

/* The same of an allgatherv, in which what a rank sends is one of the blocks that it receives. */
static void say_received(struct tt_record *r, const struct tt_job *job)
{
    const struct tt_block *own = tt_block_of(&job->recv, job->comm->rank);
    int64_t counts[16];
    int n = 0;
    uint64_t h = 1;

    for (int i = 0; i < job->recv.nblocks; i++) {
        h = chain(h, block_signature(tt_block_of(&job->recv, i)));
        if (n < 16)
            counts[n++] = tt_block_of(&job->recv, i)->count;
    }
    r->value[TT_CHECKED_blocks] = h | 1;
    print_counts(r, counts, n, job->call->recv.type);
    if (job->send.significant)
        compare_sides(r, job, own->count, own->type);
}

static void say_op(struct tt_record *r, const struct tt_call *c)
{
    const char *name = tt_mpi_op_name(c->op);
    int commutes = 1;

    PMPI_Op_commutative(c->op, &commutes);
    if (strncmp(name, "MPI_", 4) == 0)
        snprintf(r->op, sizeof r->op, "%s", name);
    else
        snprintf(r->op, sizeof r->op, "a user's op%s", commutes ? "" : " that does not commute");
    r->value[TT_CHECKED_op] = hash_of(r->op);
}

/* Of an intercommunicator it is all that one group sends the other, for lengths one way need not be those of the other
 * way. */
static bool in_pairs(const struct tt_job *job)
{
    if (job->comm->inter)
        return !has(job, TT_REDUCES | TT_ONE_BUFFER);
    return has(job, TT_SEND_COUNTS) || (has(job, TT_RECV_COUNTS) && has(job, TT_ROOTED));
}

/* What each group of an intercommunicator scatters among its own ranks is in all as long as the other's. */
static void say_total(struct tt_record *r, const struct tt_job *job)
{
    const struct tt_call *c = job->call;
    MPI_Count total = 0;

    for (int i = 0; i < job->comm->size; i++)
        total += has(job, TT_COUNTS) ? job->shape.counts[i] : c->recv.count;
    say_block(r, total, c->recv.type);
}

static void say_data(struct tt_record *r, const struct tt_job *job, const struct tt_party *all)
{
    const struct tt_pairs every = {{0, all->size}, {0, all->size}};

    if (has(job, TT_NO_BUFFER | TT_NEIGHBOURS))
        return;
    if (job->comm->inter && has(job, TT_REDUCES) && has(job, TT_COUNTS | TT_SEND_BLOCKS))
        say_total(r, job);
    else if (has(job, TT_COUNTS))
        say_counts(r, job);
    else if (in_pairs(job))
        r->pairs = tt_pairs_sum(job, all, &every);
    else if (has(job, TT_RECV_COUNTS))
        say_received(r, job);
    else
        say_blocks(r, job);
}

void tt_fingerprint_call(struct tt_record *r, const struct tt_call *c, enum tt_call_form form)
{
    *r = (struct tt_record){
        .value = {[TT_CHECKED_collective] = 1 + (uint64_t)c->coll, [TT_CHECKED_form] = 1 + (uint64_t)form}};
    print_call(r->call, sizeof r->call, c->coll, form);
}

/* By its number in the party; -1: this rank is not told, being in the root's group of an intercommunicator. */
static int root_of(const struct tt_job *job, const struct tt_party *all)
{
    if (job->bystander)
        return -1;
    return job->comm->inter && job->is_root ? all->rank : all->there + job->call->root;
}

void tt_fingerprint(struct tt_record *r, const struct tt_job *job, const struct tt_party *all, enum tt_call_form form)
{
    const struct tt_call *c = job->call;

    tt_fingerprint_call(r, c, form);
    if (has(job, TT_ROOTED) && !job->bystander) {
        r->value[TT_CHECKED_root] = 1 + (uint64_t)root_of(job, all);
        snprintf(r->root, sizeof r->root, "%d", root_of(job, all));
    }
    if (has(job, TT_INPLACE_ALL)) {
        r->value[TT_CHECKED_in_place] = 1 + (uint64_t)job->inplace;
        snprintf(r->place, sizeof r->place, job->inplace ? "in place" : "not in place");
    }
    if (has(job, TT_REDUCES) && !job->bystander)
        say_op(r, c);
    say_data(r, job, all);
}

/* ---- a count for each pair of ranks ---- */

/* What this rank sends to another, or expects of it. count 0: nothing. */
struct part {
    MPI_Count count;
    MPI_Datatype type;
};

static const struct part nothing = {0, MPI_BYTE};

/* Of the i-th rank that this one deals with; one that it does not deal with gets nothing. */
static struct part part_of(const struct tt_job *job, const struct tt_side *side, int i)
{
    const bool blocks = !side->many && has(job, side == &job->send ? TT_SEND_BLOCKS : TT_RECV_BLOCKS);
    const struct tt_block *b = tt_block_of(side, side->many ? i : 0);

    if (i < 0 || i >= job->comm->peers)
        return nothing;
    return (struct part){blocks ? b->count / job->comm->peers : b->count, b->type};
}

/* Who takes part in the messages of a gatherv or scatterv is told by the root. In place the root has none with itself;
 * an alltoallv in place sends what it has room for. */
static struct part sent_to(const struct tt_job *job, const struct tt_party *all, int to)
{
    const struct tt_side *side = job->send.significant ? &job->send : &job->recv;

    if (!has(job, TT_ROOTED))
        return part_of(job, side, to - all->there);
    if (!job->send.significant || (has(job, TT_RECV_AT_ROOT) && to != root_of(job, all)) ||
        (job->inplace && to == all->rank))
        return nothing;
    return part_of(job, &job->send, to - all->there);
}

static struct part expected_of(const struct tt_job *job, const struct tt_party *all, int from)
{
    if (!has(job, TT_ROOTED))
        return part_of(job, &job->recv, from - all->there);
    if (!job->recv.significant || (has(job, TT_SEND_AT_ROOT) && from != root_of(job, all)) ||
        (job->inplace && from == all->rank))
        return nothing;
    return part_of(job, &job->recv, from - all->there);
}

static uint64_t number_of(int from, int to, struct part p)
{
    const struct tt_signature s = tt_signature_of(p.type, (uint64_t)p.count);

    return s.n ? mix(chain(mix((uint64_t)from + 1), s) + mix((uint64_t)to + 1) * 3) : 0;
}

static bool holds(const int *range, int rank)
{
    return rank >= range[0] && rank < range[1];
}

uint64_t tt_pairs_sum(const struct tt_job *job, const struct tt_party *all, const struct tt_pairs *p)
{
    const int me = all->rank;
    uint64_t sum = 0;

    for (int to = p->to[0]; to < p->to[1] && holds(p->from, me); to++)
        sum += number_of(me, to, sent_to(job, all, to));
    for (int from = p->from[0]; from < p->from[1] && holds(p->to, me); from++)
        sum -= number_of(from, me, expected_of(job, all, from));
    return sum;
}

void tt_pair_print(char *text, size_t size, const struct tt_job *job, const struct tt_party *all, int from, int to,
                   bool sends)
{
    const int me = all->rank;
    struct part p;

    *text = '\0';
    if (me != (sends ? from : to))
        return;
    p = sends ? sent_to(job, all, to) : expected_of(job, all, from);
    if (p.count)
        print_block(text, size, p.count, p.type);
    else
        snprintf(text, size, "nothing");
}
