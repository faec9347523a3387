/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs, and sealing. A plan under construction carries a builder: the stack of scopes and the shape, from
 * which every place a verb names is resolved at once to a place in the call's own buffers. MPI_IN_PLACE is
 * resolved here too: a step of a sealed plan never names a buffer that the call does not have, so whoever
 * reads the plan (executor, prover, drawing) needs no rule about it. */
#include "coll/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SCOPES = 8 };

struct scope {
    int *ranks; /* of the communicator; NULL: the whole of it, from first on */
    int first, size, rank;
    struct tt_loc send, recv;
};

struct tt_builder {
    struct tt_shape shape; /* as the algorithm sees it: where blocks begin has been worked out */
    int64_t *starts;       /* counts_at and sends_at of it, in one */
    struct scope scopes[MAX_SCOPES];
    int depth; /* scopes[depth] is the one in force */
    int capacity;
    int error;
};

/* ---- names ---- */

static const struct {
    const char *name;
    enum tt_coll family;
    unsigned traits;
} colls[] = {
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args) {#id, TT_COLL_##family, traits},
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};

const char *tt_coll_name(enum tt_coll coll)
{
    return coll < TT_NCOLLS ? colls[coll].name : "any";
}

unsigned tt_coll_traits(enum tt_coll coll)
{
    return coll < TT_NCOLLS ? colls[coll].traits : 0;
}

bool tt_coll_lengths_local(enum tt_coll coll)
{
    const unsigned traits = tt_coll_traits(coll);

    return traits & TT_SEND_COUNTS || (traits & TT_RECV_COUNTS && traits & (TT_ROOTED | TT_NEIGHBOURS));
}

enum tt_coll tt_coll_family(enum tt_coll coll)
{
    return coll < TT_NCOLLS ? colls[coll].family : coll;
}

enum tt_coll tt_coll_find(const char *name, size_t length)
{
    for (int c = 0; c < TT_NCOLLS; c++)
        if (strlen(colls[c].name) == length && memcmp(colls[c].name, name, length) == 0)
            return (enum tt_coll)c;
    return TT_NCOLLS;
}

const char *tt_verb_name(enum tt_verb verb)
{
    static const char *const names[TT_NVERBS] = {
        [TT_SEND] = "send", [TT_RECV] = "recv",     [TT_RECV_REDUCE] = "recv_reduce",
        [TT_COPY] = "copy", [TT_REDUCE] = "reduce", [TT_FENCE] = "fence"};

    return names[verb];
}

const char *tt_buf_name(enum tt_buf buf)
{
    static const char *const names[TT_NBUFS] = {[SEND] = "SEND", [RECV] = "RECV", [TMP] = "TMP", [PIN] = "PIN"};

    return names[buf];
}

bool tt_alg_serves(const struct tt_alg *alg, enum tt_coll coll)
{
    return alg->coll == TT_COLL_any || alg->coll == tt_coll_family(coll);
}

const struct tt_alg *tt_alg_find(enum tt_coll coll, const char *name, size_t length)
{
    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], coll) && strlen(tt_algs[i]->name) == length &&
            memcmp(tt_algs[i]->name, name, length) == 0)
            return tt_algs[i];
    return NULL;
}

/* Every node has ranks that follow each other: then a fold node by node is in rank order. */
static bool in_blocks(const struct tt_nodes *nodes, int size)
{
    int r = 0;

    while (r < size && nodes->ranks[r] == r)
        r++;
    return r == size;
}

/* Of the shape alone: types, ops and the rest are for who knows them. */
static const char *nccl_lacks(enum tt_coll coll)
{
    if (coll == TT_COLL_scan || coll == TT_COLL_exscan)
        return "NCCL has no scan";
    if (tt_coll_traits(coll) & TT_NO_BUFFER)
        return "NCCL has no barrier";
    return tt_coll_traits(coll) & TT_NEIGHBOURS ? "NCCL knows of no neighbours" : NULL;
}

const char *tt_infeasible(const struct tt_alg *alg, const struct tt_shape *s)
{
    const char *lacks = alg->delegate == TT_TO_NCCL ? nccl_lacks(s->coll) : NULL;

    if (lacks)
        return lacks;
    if ((alg->needs & TT_COMMUTATIVE) && !s->commutes)
        return "it folds operands out of rank order and the op does not commute";
    if ((alg->needs & TT_POWER_OF_TWO) && (s->size & (s->size - 1)))
        return "it needs a power of two of ranks";
    if ((alg->needs & TT_TWO_LEVELS) && (!s->nodes || s->nodes->n == 1 || s->nodes->n == s->size))
        return "it needs several nodes, and several ranks on one";
    if ((alg->needs & TT_TWO_LEVELS) && !s->commutes && tt_coll_traits(s->coll) & TT_REDUCES &&
        !in_blocks(s->nodes, s->size))
        return "it folds node by node, which do not hold consecutive ranks, and the op does not commute";
    if (s->reproducible && !alg->canonical && tt_coll_traits(s->coll) & TT_REDUCES)
        return "it folds in an order that depends on the size or place, and TUTTI_REPRODUCIBLE=1";
    return NULL;
}

/* Where block i begins, of lengths n (all `even` long if NULL); summed up only where nobody has done so before. */
static int64_t block_start(const int64_t *starts, const int64_t *n, int64_t even, int i)
{
    int64_t at = 0;

    if (!n)
        return i * even;
    if (starts)
        return starts[i];
    for (int r = 0; r < i; r++)
        at += n[r];
    return at;
}

int64_t tt_offset(const struct tt_shape *s, int i)
{
    return block_start(s->counts_at, s->counts, s->count, i);
}

int64_t tt_send_block(const struct tt_shape *s, int i)
{
    return s->sends ? s->sends[i] : tt_block(s, i);
}

int64_t tt_send_offset(const struct tt_shape *s, int i)
{
    return s->sends ? block_start(s->sends_at, s->sends, 0, i) : tt_offset(s, i);
}

int64_t tt_shape_bytes(const struct tt_shape *s)
{
    return tt_coll_lengths_local(s->coll) ? 0 : (s->counts ? tt_offset(s, s->size) / s->size : s->count) * (int64_t)s->unit;
}

/* ---- scopes ---- */

static struct scope *current(const struct tt_plan *p)
{
    return &p->builder->scopes[p->builder->depth];
}

static void fault(struct tt_plan *p, int error)
{
    if (!p->builder->error)
        p->builder->error = error;
}

int tt_rank(const struct tt_plan *p)
{
    return current(p)->rank;
}

int tt_size(const struct tt_plan *p)
{
    return current(p)->size;
}

/* The communicator's number for a rank of the scope in force. */
static int absolute(struct tt_plan *p, int rank)
{
    const struct scope *s = current(p);

    if (rank < 0 || rank >= s->size) {
        fault(p, EINVAL);
        return 0;
    }
    return s->ranks ? s->ranks[rank] : rank;
}

/* A place named in the scope in force, as one in the call's buffers. */
static struct tt_loc resolve(const struct tt_plan *p, struct tt_loc loc)
{
    const struct scope *s = current(p);
    struct tt_loc base = loc.buf == SEND ? s->send : loc.buf == RECV ? s->recv : tt_at(loc.buf, 0);

    return tt_plus(base, loc.at);
}

/* Where the buffer that MPI_IN_PLACE stands for lies in the other one. */
static void alias_in_place(struct scope *whole, const struct tt_shape *s)
{
    switch (s->coll) {
    case TT_COLL_scatter:
    case TT_COLL_scatterv:
        whole->recv = tt_at(SEND, tt_offset(s, whole->rank));
        break;
    case TT_COLL_allgather:
    case TT_COLL_allgatherv:
    case TT_COLL_gather:
    case TT_COLL_gatherv:
        whole->send = tt_at(RECV, tt_offset(s, whole->rank));
        break;
    default:
        whole->send = tt_at(RECV, 0);
    }
}

static struct scope *push(struct tt_plan *p)
{
    if (p->builder->depth + 1 == MAX_SCOPES) {
        fault(p, EINVAL);
        free(current(p)->ranks); /* about to be overwritten */
        return current(p);
    }
    return &p->builder->scopes[++p->builder->depth];
}

bool tt_enter(struct tt_plan *p, const struct tt_scope *scope)
{
    struct scope new = {
        .size = scope->size, .rank = -1, .send = resolve(p, scope->send), .recv = resolve(p, scope->recv)};

    new.ranks = malloc((size_t)scope->size * sizeof *new.ranks);
    if (!new.ranks) {
        fault(p, ENOMEM);
        return false;
    }
    for (int i = 0; i < scope->size; i++) {
        new.ranks[i] = absolute(p, scope->ranks[i]);
        if (scope->ranks[i] == tt_rank(p))
            new.rank = i;
    }
    if (new.rank < 0) {
        free(new.ranks);
        return false;
    }
    *push(p) = new;
    return true;
}

/* Of all ranks from `first` on, around, without the first `skipped`. */
static bool enter_around(struct tt_plan *p, int first, int skipped)
{
    const int size = tt_size(p);
    int *ranks = malloc((size_t)size * sizeof *ranks);
    bool entered;

    if (!ranks) {
        struct scope same = *current(p); /* the builder goes on, and leaves what it entered */

        fault(p, ENOMEM);
        same.ranks = NULL;
        *push(p) = same;
        return true;
    }
    for (int i = 0; i < size; i++)
        ranks[i] = tt_mod(first + i, size);
    entered = tt_enter(p, &(struct tt_scope){ranks + skipped, size - skipped, tt_at(SEND, 0), tt_at(RECV, 0)});
    free(ranks);
    return entered;
}

void tt_enter_rotated(struct tt_plan *p, int first)
{
    enter_around(p, first, 0);
}

bool tt_enter_others(struct tt_plan *p, int first)
{
    return enter_around(p, first, 1);
}

void tt_leave(struct tt_plan *p)
{
    free(current(p)->ranks);
    current(p)->ranks = NULL;
    if (p->builder->depth > 0)
        p->builder->depth--;
}

/* ---- verbs ---- */

bool tt_plan_append(struct tt_plan *p, int *capacity, struct tt_step step)
{
    if (p->nsteps == *capacity) {
        const int more = *capacity ? 2 * *capacity : 64;
        struct tt_step *steps = realloc(p->steps, (size_t)more * sizeof *steps);

        if (!steps)
            return false;
        p->steps = steps;
        *capacity = more;
    }
    p->steps[p->nsteps++] = step;
    return true;
}

static void append(struct tt_plan *p, struct tt_step step)
{
    if (tt_plan_append(p, &p->builder->capacity, step))
        p->lanes[p->nlanes - 1].count++;
    else
        fault(p, ENOMEM);
}

static bool same_place(struct tt_loc a, struct tt_loc b)
{
    return a.buf == b.buf && a.at == b.at;
}

void tt_send(struct tt_plan *p, int peer, struct tt_loc src, int64_t n)
{
    if (n > 0)
        append(p, (struct tt_step){.verb = TT_SEND, .peer = absolute(p, peer), .a = resolve(p, src), .n = n});
}

void tt_recv(struct tt_plan *p, int peer, struct tt_loc dst, int64_t n)
{
    dst = resolve(p, dst);
    if (dst.buf == SEND)
        fault(p, EINVAL);
    if (n > 0)
        append(p, (struct tt_step){.verb = TT_RECV, .peer = absolute(p, peer), .dst = dst, .n = n});
}

void tt_copy(struct tt_plan *p, struct tt_loc dst, struct tt_loc src, int64_t n)
{
    dst = resolve(p, dst);
    src = resolve(p, src);
    if (n <= 0 || same_place(dst, src))
        return;
    if (dst.buf == SEND)
        fault(p, EINVAL);
    append(p, (struct tt_step){.verb = TT_COPY, .dst = dst, .a = src, .n = n});
}

void tt_reduce(struct tt_plan *p, struct tt_loc dst, struct tt_loc a, struct tt_loc b, int64_t n)
{
    dst = resolve(p, dst);
    if (dst.buf == SEND)
        fault(p, EINVAL);
    if (n > 0)
        append(p, (struct tt_step){.verb = TT_REDUCE,
                                   .dst = dst,
                                   .a = resolve(p, a),
                                   .b = resolve(p, b),
                                   .n = n,
                                   .order = TT_LEFT_TO_RIGHT});
}

/* A fence that has nothing before it, or follows another, says nothing and is not written. */
void tt_fence(struct tt_plan *p)
{
    struct tt_lane *lane = &p->lanes[p->nlanes - 1];

    if (lane->count > 0 && p->steps[p->nsteps - 1].verb != TT_FENCE)
        append(p, (struct tt_step){.verb = TT_FENCE});
}

static void end_lane(struct tt_plan *p)
{
    struct tt_lane *lane = &p->lanes[p->nlanes - 1];

    if (lane->count > 0 && p->steps[p->nsteps - 1].verb == TT_FENCE) {
        lane->count--;
        p->nsteps--;
    }
}

void tt_lane(struct tt_plan *p)
{
    end_lane(p);
    if (p->nlanes == TT_MAX_LANES)
        fault(p, EINVAL);
    else
        p->lanes[p->nlanes++] = (struct tt_lane){p->nsteps, 0};
}

struct tt_loc tt_tmp(struct tt_plan *p, int64_t n)
{
    struct tt_loc loc = tt_at(TMP, p->tmp);

    p->tmp += n;
    return loc;
}

/* ---- making and sealing ---- */

static struct tt_plan *plan_new(int rank, int size, size_t unit)
{
    struct tt_plan *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->builder = calloc(1, sizeof *p->builder);
    if (!p->builder) {
        free(p);
        return NULL;
    }
    p->rank = rank;
    p->size = size;
    p->unit = unit;
    p->nlanes = 1;
    p->builder->scopes[0] = (struct scope){.size = size, .rank = rank, .send = {SEND, 0}, .recv = {RECV, 0}};
    return p;
}

/* Numbers each message among those of its lane to, or from, the same peer: both sides count alike, so the number
 * (which becomes part of the tag) identifies the message whatever order its parts travel in. */
static int number_messages(struct tt_plan *p)
{
    int *sent = calloc((size_t)p->size * 2, sizeof *sent), *received = sent + p->size;

    if (!sent)
        return ENOMEM;
    for (int l = 0; l < p->nlanes; l++) {
        memset(sent, 0, (size_t)p->size * 2 * sizeof *sent);
        for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++) {
            struct tt_step *s = &p->steps[i];

            if (s->verb == TT_SEND)
                s->message = sent[s->peer]++;
            else if (s->verb == TT_RECV)
                s->message = received[s->peer]++;
        }
    }
    free(sent);
    return 0;
}

int tt_round_end(const struct tt_plan *p, int i, int end)
{
    while (i < end && p->steps[i].verb != TT_FENCE)
        i++;
    return i;
}

/* A stretch that grows. */
struct reach {
    int64_t from, end;
};

static void reach_for(struct reach *r, struct tt_loc loc, int64_t n)
{
    r += loc.buf;
    r->from = r->end == 0 || loc.at < r->from ? loc.at : r->from;
    r->end = loc.at + n > r->end ? loc.at + n : r->end;
}

/* Where a receive lands that reduces is not counted: that need not be touched. */
static int64_t count_touched(const struct tt_plan *p)
{
    struct reach of[TT_NBUFS] = {{0, 0}};
    struct tt_loc sources[TT_MAX_SOURCES];
    int64_t sum = 0;

    for (int i = 0; i < p->nsteps; i++) {
        const struct tt_step *s = &p->steps[i];

        for (int k = tt_step_sources(p, s, sources); k-- > 0;)
            reach_for(of, sources[k], s->n);
        if (s->verb != TT_FENCE && s->verb != TT_SEND)
            reach_for(of, s->dst, s->n);
    }
    for (int buf = 0; buf < TT_NBUFS; buf++)
        sum += buf == PIN ? 0 : of[buf].end - of[buf].from;
    return sum;
}

/* Bytes of a message from which on it pays to send it on as it comes. */
enum { ONWARD_LEAST = 4 << 10 };

/* The first send from there on, or end. */
static int first_send(const struct tt_plan *p, int from, int end)
{
    while (from < end && p->steps[from].verb != TT_SEND)
        from++;
    return from;
}

static bool sends_all_of(const struct tt_step *send, const struct tt_step *s)
{
    return tt_step_receives(s) && send->a.buf == s->dst.buf && send->a.at == s->dst.at && send->n == s->n;
}

/* Does what waits for the round's receives write there? Other steps of the round may not. */
static bool is_overwritten(const struct tt_plan *p, int from, int next, struct tt_loc at, int64_t n)
{
    for (int i = from; i < next; i++) {
        const struct tt_step *s = &p->steps[i];

        if (s->after && s->dst.buf == at.buf && s->dst.at < at.at + n && at.at < s->dst.at + s->n)
            return true;
    }
    return false;
}

/* From one round, which begins there, to the next. */
static void find_onward(struct tt_plan *p, int from, int next, int end)
{
    const int to = tt_round_end(p, next, end), send = first_send(p, next, to);
    const bool may = send < to && (size_t)p->steps[send].n * p->unit >= ONWARD_LEAST &&
                     !is_overwritten(p, from, next, p->steps[send].a, p->steps[send].n);

    for (int i = from; i < next; i++) {
        const bool is_sent = may && sends_all_of(&p->steps[send], &p->steps[i]);

        p->steps[i].onward = is_sent ? send : 0;
        p->passes_on |= is_sent;
    }
}

static void find_all_onward(struct tt_plan *p)
{
    p->passes_on = false;
    for (int l = 0; l < p->nlanes; l++) {
        const int end = p->lanes[l].first + p->lanes[l].count;

        for (int from = p->lanes[l].first, next; from < end; from = next) {
            next = tt_round_end(p, from, end) + 1;
            find_onward(p, from, next < end ? next : end, end);
        }
    }
}

void tt_plan_measure(struct tt_plan *p)
{
    p->touched = count_touched(p);
    find_all_onward(p);
    p->max_round = 0;
    for (int l = 0; l < p->nlanes; l++) {
        int in_round = 0;

        for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++) {
            const struct tt_step *s = &p->steps[i];

            in_round = s->verb == TT_FENCE ? 0 : in_round + tt_step_is_message(s);
            if (in_round > p->max_round)
                p->max_round = in_round;
        }
    }
}

static void builder_free(struct tt_plan *p)
{
    while (p->builder && p->builder->depth > 0)
        tt_leave(p);
    free(p->builder ? p->builder->starts : NULL);
    free(p->builder);
    p->builder = NULL;
}

/* Returns p sealed, or NULL with errno, having freed it. */
static struct tt_plan *seal(struct tt_plan *p)
{
    int error = p->builder->error;

    end_lane(p);
    builder_free(p);
    if (error) {
        tt_plan_free(p);
        errno = error;
        return NULL;
    }
    tt_plan_measure(p);
    p->sealed = true;
    return p;
}

/* The sums of n[0 .. i) for i up to size, into starts. */
static const int64_t *sum_up(int64_t *starts, const int64_t *n, int size)
{
    starts[0] = 0;
    for (int i = 0; n && i < size; i++)
        starts[i + 1] = starts[i] + n[i];
    return starts;
}

/* Works out where blocks begin, once, so that algorithms may ask at every step. 0 or ENOMEM. */
static int find_starts(struct tt_builder *b, const struct tt_shape *s)
{
    const size_t n = (size_t)s->size + 1;

    b->shape = *s;
    if (!s->counts && !s->sends)
        return 0;
    b->starts = malloc(2 * n * sizeof *b->starts);
    if (!b->starts)
        return ENOMEM;
    b->shape.counts_at = sum_up(b->starts, s->counts, s->size);
    b->shape.sends_at = sum_up(b->starts + n, s->sends, s->size);
    return 0;
}

struct tt_plan *tt_plan_build(const struct tt_alg *alg, const struct tt_shape *s, int rank)
{
    struct tt_plan *p = plan_new(rank, s->size, s->unit);
    int error;

    if (!p)
        return NULL;
    p->coll = s->coll;
    p->algorithm = alg->name;
    p->in_segments = alg->segmented && s->segment < s->count;
    error = find_starts(p->builder, s);
    if (s->inplace)
        alias_in_place(&p->builder->scopes[0], &p->builder->shape);
    if (!error)
        error = alg->build(p, &p->builder->shape);
    if (error)
        fault(p, error);
    error = number_messages(p);
    if (error)
        fault(p, error);
    return seal(p);
}

static void *duplicate(const void *from, size_t bytes)
{
    void *copy = malloc(bytes + 1);

    if (copy && bytes)
        memcpy(copy, from, bytes);
    return copy;
}

struct tt_plan *tt_plan_like(const struct tt_plan *from, bool steps)
{
    struct tt_plan *p = malloc(sizeof *p);

    if (!p)
        return NULL;
    *p = *from;
    atomic_init(&p->holders, 0);
    p->nsteps = steps ? from->nsteps : 0;
    p->steps = duplicate(from->steps, (size_t)p->nsteps * sizeof *p->steps);
    p->rest = duplicate(from->rest, (size_t)p->nrest * sizeof *p->rest);
    if (p->steps && p->rest)
        return p;
    tt_plan_free(p);
    errno = ENOMEM;
    return NULL;
}

struct tt_plan *tt_plan_hold(struct tt_plan *p)
{
    atomic_fetch_add(&p->holders, 1);
    return p;
}

size_t tt_plan_bytes(const struct tt_plan *p)
{
    return p ? sizeof *p + (size_t)p->nsteps * sizeof *p->steps + (size_t)p->nrest * sizeof *p->rest : 0;
}

void tt_plan_free(struct tt_plan *p)
{
    if (!p || atomic_fetch_sub(&p->holders, 1) > 0)
        return;
    builder_free(p);
    free(p->steps);
    free(p->rest);
    free(p);
}

int tt_step_sources(const struct tt_plan *p, const struct tt_step *s, struct tt_loc out[TT_MAX_SOURCES])
{
    int k = 0;

    if (s->verb == TT_RECV || s->verb == TT_FENCE)
        return 0;
    if (s->verb != TT_RECV_REDUCE || s->lands != 0)
        out[k++] = s->a;
    if (s->verb == TT_REDUCE || (s->verb == TT_RECV_REDUCE && s->lands != 1))
        out[k++] = s->b;
    for (int i = 0; i < s->more; i++)
        out[k++] = p->rest[s->rest + i];
    return k;
}

struct tt_totals tt_plan_totals(const struct tt_plan *p)
{
    struct tt_totals t = {0};

    for (int l = 0; l < p->nlanes; l++) {
        int rounds = p->lanes[l].count > 0;

        for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++) {
            const struct tt_step *s = &p->steps[i];

            rounds += s->verb == TT_FENCE;
            t.messages += s->verb == TT_SEND;
            t.sent += s->verb == TT_SEND ? s->n : 0;
            t.received += tt_step_receives(s) ? s->n : 0;
            t.copied += s->verb == TT_COPY ? s->n : 0;
            t.reduced += tt_step_reduces(s) ? s->n * (1 + s->more) : 0;
            t.reductions += tt_step_reduces(s);
        }
        if (rounds > t.rounds)
            t.rounds = rounds;
    }
    return t;
}
