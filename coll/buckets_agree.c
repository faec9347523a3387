/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks tell each other of their buckets. Before the first step: that they have the same tensors in the same
 * order, by one number each, and only if these differ, in which; so what would be a hang in the first step, or wrong
 * sums, is an error before it. With each step: whether a rank lacks a tensor, how long the step before took, and by one
 * number whether tensors became ready in one order, in 32 bytes under way beside the last bucket. */
#include <stdio.h>
#include <string.h>

#include "coll/buckets.h"
#include "coll/config.h"
#include "coll/hash.h"
#include "coll/request.h"
#include "coll/types.h"

/* ---- calls ---- */

/* So that it can be negated. */
static int64_t mix(int64_t hash, const void *what, size_t bytes)
{
    return (int64_t)(tt_hash((uint64_t)hash, what, bytes) >> 1);
}

static int most(const struct tutti_buckets *b, const int64_t *mine, int64_t *all, int n)
{
    return tt_run(&(struct tt_call){.coll = TT_COLL_allreduce,
                                    .send = {mine, n, MPI_INT64_T},
                                    .recv = {all, n, MPI_INT64_T},
                                    .op = MPI_MAX,
                                    .comm = b->comm});
}

static int from(const struct tutti_buckets *b, int root, void *at, size_t bytes)
{
    return tt_run(&(struct tt_call){.coll = TT_COLL_bcast,
                                    .send = {at, 0, MPI_BYTE},
                                    .recv = {at, (MPI_Count)bytes, MPI_BYTE},
                                    .root = root,
                                    .comm = b->comm});
}

/* ---- before the first step ---- */

/* Of what create was told. */
static int64_t hash_of_settings(const struct tutti_buckets *b)
{
    const char *words[] = {tt_mpi_type_name(b->type), tt_mpi_op_name(b->op)};
    int64_t hash = mix(b->share, &b->asked, sizeof b->asked);

    for (int i = 0; i < 2; i++)
        hash = mix(hash, words[i], strlen(words[i]));
    return hash;
}

/* Of that and the first n tensors; who has fewer says so by not adding any. */
static int64_t hash_of_first(const struct tutti_buckets *b, int64_t n)
{
    int64_t hash = hash_of_settings(b);

    for (int i = 0; i < n && i < b->ntensors; i++) {
        const struct tt_tensor *t = &b->tensors[i];

        hash = mix(mix(hash, t->name, strlen(t->name)), &t->count, sizeof t->count);
    }
    return n <= b->ntensors ? hash : mix(hash, &b->ntensors, sizeof b->ntensors);
}

/* Is it the same number on all ranks? */
static int is_same(const struct tutti_buckets *b, int64_t mine, bool *same)
{
    const int64_t both[2] = {mine, -mine};
    int64_t all[2] = {0, 0};
    const int error = most(b, both, all, 2);

    *same = all[0] == -all[1];
    return error;
}

/* Something of which there is a list on each rank, which should be the same on all. */
struct list {
    int64_t (*hash_of_first)(const struct tutti_buckets *b, int64_t n);
    void (*describe)(const struct tutti_buckets *b, int64_t alike, char *text, size_t size); /* the one behind these */
    const char *differs, *verb;
};

/* How many are alike on all ranks, by halving, which takes no memory; -1: not even what create was told. */
static int count_alike(const struct tutti_buckets *b, const struct list *l, int64_t all, int64_t *alike)
{
    int64_t low = 0, high = all; /* the first `high` are not alike; the first `low` are, */
    bool same;
    int error = is_same(b, l->hash_of_first(b, 0), &same);

    *alike = -1;
    if (error != MPI_SUCCESS || !same) /* unless not even these */
        return error;
    while (high - low > 1 && error == MPI_SUCCESS) {
        const int64_t middle = low + (high - low) / 2;

        error = is_same(b, l->hash_of_first(b, middle), &same);
        *(same ? &low : &high) = middle;
    }
    *alike = low;
    return error;
}

/* This rank's view of the first thing that is not alike: what was added, */
static void describe(const struct tutti_buckets *b, int64_t alike, char *text, size_t size)
{
    if (alike < 0)
        snprintf(text, size, "%s, %s, %s, buckets of %lld bytes", tt_mpi_type_name(b->type), tt_mpi_op_name(b->op),
                 b->share == TUTTI_SHARDS ? "TUTTI_SHARDS" : "TUTTI_ALL", (long long)b->asked);
    else if (alike < b->ntensors)
        snprintf(text, size, "\"%.80s\" of %lld elements as tensor %lld", b->tensors[alike].name,
                 (long long)b->tensors[alike].count, (long long)alike);
    else
        snprintf(text, size, "no tensor %lld", (long long)alike);
}

static const struct list added = {hash_of_first, describe, "the ranks' buckets differ", "has"};

/* and what became ready in this step. */
static int64_t hash_of_order(const struct tutti_buckets *b, int64_t n)
{
    int64_t hash = 0;

    for (int i = 0; i < n && i < b->ntensors; i++)
        hash = mix(hash, &b->tensors[i].turn, sizeof b->tensors[i].turn);
    return hash;
}

static void describe_turn(const struct tutti_buckets *b, int64_t alike, char *text, size_t size)
{
    snprintf(text, size, "\"%.60s\"", b->tensors[b->tensors[alike].turn].name);
}

static const struct list order = {hash_of_order, describe_turn, "tensors became ready in different orders", "had"};

/* Rank 0 and the first rank that is not as it, each in its own words. */
static int tell(const struct tutti_buckets *b, const struct list *l, int64_t alike, char *why, size_t size)
{
    char first[TT_WORDS / 2], other[TT_WORDS / 2];
    int64_t hash = l->hash_of_first(b, alike + 1), whom = 0, mine;
    int error = from(b, 0, &hash, sizeof hash);

    mine = hash == l->hash_of_first(b, alike + 1) ? 0 : b->size - b->rank;
    if (error == MPI_SUCCESS)
        error = most(b, &mine, &whom, 1);
    whom = b->size - whom;
    l->describe(b, alike, first, sizeof first);
    l->describe(b, alike, other, sizeof other);
    if (error == MPI_SUCCESS)
        error = from(b, 0, first, sizeof first);
    if (error == MPI_SUCCESS)
        error = from(b, (int)whom, other, sizeof other);
    snprintf(why, size, "%s: rank 0 %s %s, rank %lld %s %s", l->differs, l->verb, first, (long long)whom, l->verb,
             other);
    return error;
}

static int explain(const struct tutti_buckets *b, const struct list *l, int64_t all, char *why, size_t size)
{
    int64_t alike;
    const int error = count_alike(b, l, all, &alike);

    return error == MPI_SUCCESS ? tell(b, l, alike, why, size) : error;
}

int tt_buckets_agree(struct tutti_buckets *b, char *why, size_t size)
{
    const int64_t hash = hash_of_first(b, b->ntensors), mine[4] = {hash, -hash, b->ntensors, b->wanted};
    int64_t all[4] = {0};
    int error = most(b, mine, all, 4);

    b->wanted = all[3];
    if (error == MPI_SUCCESS && all[0] == -all[1])
        return 0;
    if (error == MPI_SUCCESS)
        error = explain(b, &added, all[2], why, size);
    if (error != MPI_SUCCESS)
        snprintf(why, size, "the ranks could not compare what they add");
    return -1;
}

int tt_buckets_agree_on_fault(struct tutti_buckets *b, const char *fault, char *why, size_t size)
{
    const int64_t mine = fault ? b->size - b->rank : 0;
    int64_t whose = 0;

    if (most(b, &mine, &whose, 1) != MPI_SUCCESS)
        snprintf(why, size, "the ranks could not tell each other that they are prepared");
    else if (fault)
        snprintf(why, size, "rank %d: %s", b->rank, fault);
    else if (whose)
        snprintf(why, size, "rank %lld could not be prepared", (long long)(b->size - whose));
    else
        return 0;
    return -1;
}

/* ---- with each step ---- */

/* For MPI_MAX: the first rank that lacks any, how many, and the first of them. */
enum { BITS = 20 };
#define LOW ((INT64_C(1) << BITS) - 1)

static int64_t at_most(int64_t n)
{
    return n < LOW ? n : LOW;
}

int tt_step_end_start(struct tutti_buckets *b, struct tt_step_end *e, int unready, int first)
{
    e->mine[0] = unready ? (int64_t)(b->size - b->rank) << 2 * BITS | at_most(unready) << BITS | at_most(first) : 0;
    e->mine[1] = b->last_ns;
    e->mine[2] = hash_of_order(b, b->nready);
    e->mine[3] = -e->mine[2];
    e->request = MPI_REQUEST_NULL;
    return tt_run_nonblocking(&(struct tt_call){.coll = TT_COLL_allreduce,
                                                .send = {e->mine, 4, MPI_INT64_T},
                                                .recv = {e->all, 4, MPI_INT64_T},
                                                .op = MPI_MAX,
                                                .comm = b->comm},
                              &e->request);
}

int tt_step_end_wait(struct tutti_buckets *b, struct tt_step_end *e, int64_t *slowest, char *why, size_t size)
{
    const int error = tt_wait_for(&e->request, MPI_STATUS_IGNORE);
    const int64_t first = e->all[0] & LOW;

    *slowest = e->all[1];
    if (error == MPI_SUCCESS && e->all[0] == 0)
        return 0;
    if (error == MPI_SUCCESS)
        snprintf(why, size, "rank %lld was not ready with %lld of %d tensors, the first of which is \"%.80s\"",
                 (long long)(b->size - (e->all[0] >> 2 * BITS)), (long long)(e->all[0] >> BITS & LOW), b->ntensors,
                 first < b->ntensors ? b->tensors[first].name : "");
    else
        snprintf(why, size, "the ranks could not agree on the end of a step");
    return -1;
}

void tt_step_end_compare_order(struct tutti_buckets *b, const struct tt_step_end *e)
{
    if (e->all[2] == -e->all[3] || b->differed++)
        return;
    if (explain(b, &order, b->ntensors, b->order, sizeof b->order) == MPI_SUCCESS && b->rank == 0)
        tt_log(TT_INFO, "buckets: %s: right all the same, but a bucket starts only when its last tensor is ready",
               b->order);
}
