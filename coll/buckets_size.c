/* SPDX-License-Identifier: BSD-3-Clause */
/* How large a bucket is. All buckets of n bytes take bytes/n times what one takes, the less the larger they are, since
 * each pays its start; but the last begins when backward is over, and is waited for, whole. So the model's size is
 * where the time of all buckets and one more, T(n) (bytes/n + 1), is least: about sqrt(alpha bytes / beta). What the
 * model does not know (how fast gradients come, what cores are left) is measured: steps with some sizes about the
 * model's, and the one with the fastest step, on the slowest rank, stays. */
#include "coll/begin.h"
#include "coll/buckets.h"
#include "coll/config.h"
#include "selector/model.h"

enum { SMALLEST = 4096, ASSUMED = 4 << 20 };

/* The shape of a bucket's call. false: nobody knows, the MPI below has it. */
static bool shape_of(const struct tutti_buckets *b, struct tt_comm *state, enum tt_coll coll, struct tt_shape *s)
{
    const struct tt_call call = {.coll = coll,
                                 .send = {MPI_IN_PLACE, 1, b->type},
                                 .recv = {b->ntensors ? b->tensors[0].at : NULL, 1, b->type},
                                 .op = b->op,
                                 .comm = b->comm};
    struct tt_job job;

    if (!state || !state->net || tt_would_begin(&call, state, &job) != MPI_SUCCESS)
        return false;
    *s = job.shape;
    tt_job_end(&job);
    return true;
}

/* Seconds of one bucket; 0: not known. */
static double bucket_takes(enum tt_coll coll, struct tt_shape *s, int64_t bytes, const struct tt_net *net)
{
    struct tt_estimate best, next;

    s->count = bytes / (int64_t)s->unit / (coll == TT_COLL_allreduce ? 1 : s->size);
    tt_model_choose(coll, s, net, &best, &next);
    return best.alg ? best.seconds : 0;
}

static int64_t by_model(const struct tutti_buckets *b, struct tt_comm *state)
{
    const enum tt_coll coll = b->share == TUTTI_SHARDS ? TT_COLL_reduce_scatter_block : TT_COLL_allreduce;
    struct tt_shape s;
    double least = 0;
    int64_t best = ASSUMED;

    if (b->size == 1 || !shape_of(b, state, coll, &s))
        return ASSUMED;
    for (int64_t n = SMALLEST; n < 2 * b->bytes; n *= 2) {
        const double all = bucket_takes(coll, &s, n, state->net) * ((double)b->bytes / (double)n + 1);

        if (all > 0 && (least == 0 || all < least)) {
            least = all;
            best = n;
        }
    }
    return best;
}

static void try_size(struct tutti_buckets *b, int64_t bytes)
{
    if (b->ntried < TT_MAX_SIZES && bytes >= SMALLEST && (b->ntried == 0 || bytes > b->tried[b->ntried - 1].bytes))
        b->tried[b->ntried++] = (struct tt_size_tried){bytes, 0};
}

void tt_buckets_size(struct tutti_buckets *b, struct tt_comm *state)
{
    b->wanted = b->asked > 0 ? b->asked : by_model(b, state);
    b->chose = b->asked > 0 ? "given" : "the cost model's";
}

void tt_buckets_try(struct tutti_buckets *b)
{
    const int64_t about = b->wanted;

    if (b->asked != TUTTI_BUCKET_MEASURE)
        return;
    for (int64_t n = about / 16; n < b->bytes && n <= about * 16; n *= 4)
        try_size(b, n);
    try_size(b, b->bytes);
    b->wanted = b->ntried ? b->tried[0].bytes : b->wanted;
    b->chose = "being measured";
}

static void settle_on_best(struct tutti_buckets *b)
{
    const struct tt_size_tried *best = &b->tried[0];

    for (int i = 1; i < b->ntried; i++)
        if (b->tried[i].ns < best->ns)
            best = &b->tried[i];
    b->wanted = best->bytes;
    b->chose = "measured";
    tt_log(TT_INFO, "buckets: steps took least, %.3f ms, with buckets of %lld bytes", (double)best->ns * 1e-6,
           (long long)best->bytes);
    b->ntried = 0;
}

/* Sizes take turns, so that what disturbs some steps hits all of them alike. */
static int size_of_step(const struct tutti_buckets *b, int step)
{
    return step / TT_STEPS_PER_TURN % b->ntried;
}

/* The first step of a turn makes plans and so counts for nothing. A step's time is known to all at the end of the next
 * one. */
void tt_buckets_learn(struct tutti_buckets *b, int64_t slowest)
{
    const int before = b->nsteps - 2, all = b->ntried * TT_STEPS_PER_TURN * TT_TURNS; /* nsteps counts the last, too */
    struct tt_size_tried *t;

    if (b->ntried == 0)
        return;
    if (before >= 0 && before % TT_STEPS_PER_TURN > 0) {
        t = &b->tried[size_of_step(b, before)];
        t->ns = t->ns == 0 || slowest < t->ns ? slowest : t->ns;
    }
    if (before == all - 1)
        settle_on_best(b);
    else if (b->nsteps < all)
        b->wanted = b->tried[size_of_step(b, b->nsteps)].bytes;
}
