/* SPDX-License-Identifier: BSD-3-Clause */
/* Buckets of gradients: tutti_buckets_*. Nothing here communicates by itself: a bucket is a nonblocking call of
 * Tutti's, as the program could make it, on a communicator of its own, since nobody could say where among the program's
 * own calls it comes. What it costs beside the calls is a copy into the bucket and one out of it, where tensors do not
 * lie one behind the other already, and 32 bytes per step (buckets_agree.c). */
#include "coll/buckets.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/error.h"
#include "coll/init.h"
#include "coll/meet.h"
#include "coll/progress.h"
#include "coll/request.h"
#include "coll/ticks.h"

#define TT_PUBLIC __attribute__((visibility("default")))

static int refuse(const struct tutti_buckets *b, int class, const char *function, const char *why)
{
    tt_log(TT_ERROR, "rank %d: tutti_buckets_%s: %s", b->rank, function, why);
    tt_call_handler(b->user, class);
    return class;
}

/* ---- making ---- */

/* Of the same ranks, without running the program's attribute functions. Made when all are here, so that waiting for
 * them inside the MPI below keeps nobody. */
static int make_comm(MPI_Comm comm, MPI_Comm *made)
{
    MPI_Group group;
    int error;

    if (tt_is_on())
        tt_meet(comm);
    error = PMPI_Comm_group(comm, &group);
    if (error != MPI_SUCCESS)
        return error;
    error = PMPI_Comm_create(comm, group, made);
    PMPI_Group_free(&group);
    return error == MPI_SUCCESS ? PMPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN) : error;
}

static const char *what_is_wrong(MPI_Comm comm, MPI_Datatype type, MPI_Op op, enum tutti_share share, long long bytes)
{
    struct tt_layout layout;
    bool lasting;
    int inter = 0;

    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return "it takes an intracommunicator";
    if (op == MPI_OP_NULL || tt_layout_of(type, &layout, &lasting) != MPI_SUCCESS || !layout.plain || !lasting)
        return "it takes a predefined datatype, or one of tutti_type's, and an op";
    if (share != TUTTI_ALL && share != TUTTI_SHARDS)
        return "share is TUTTI_ALL or TUTTI_SHARDS";
    if (bytes < TUTTI_BUCKET_MEASURE)
        return "bucket_bytes is a number of bytes, TUTTI_BUCKET_MODEL or TUTTI_BUCKET_MEASURE";
    return NULL;
}

TT_PUBLIC int tutti_buckets_create(MPI_Comm comm, MPI_Datatype type, MPI_Op op, enum tutti_share share,
                                   long long bucket_bytes, struct tutti_buckets **buckets)
{
    const char *wrong =
        comm == MPI_COMM_NULL ? "there is no communicator" : what_is_wrong(comm, type, op, share, bucket_bytes);
    struct tutti_buckets *b = calloc(1, sizeof *b);
    int unit, error;

    *buckets = NULL;
    if (!b)
        return tt_raise(MPI_COMM_SELF, "tutti_buckets_create: out of host memory");
    *b = (struct tutti_buckets){.user = wrong ? MPI_COMM_SELF : comm, .comm = MPI_COMM_NULL, .type = type, .op = op};
    if (wrong) {
        error = refuse(b, MPI_ERR_ARG, "create", wrong);
        free(b);
        return error;
    }
    b->share = share;
    b->asked = bucket_bytes;
    b->wanted = bucket_bytes;
    error = make_comm(comm, &b->comm);
    if (error != MPI_SUCCESS) {
        free(b);
        return error;
    }
    PMPI_Comm_rank(comm, &b->rank);
    PMPI_Comm_size(comm, &b->size);
    PMPI_Type_size(type, &unit);
    b->unit = (size_t)unit;
    *buckets = b;
    return MPI_SUCCESS;
}

/* ---- adding ---- */

static int grow(struct tutti_buckets *b)
{
    const int room = b->room ? 2 * b->room : 64;
    struct tt_tensor *more = realloc(b->tensors, (size_t)room * sizeof *more);

    if (!more)
        return -1;
    b->tensors = more;
    b->room = room;
    return 0;
}

TT_PUBLIC int tutti_buckets_add(struct tutti_buckets *b, const char *name, void *at, MPI_Count count)
{
    char numbered[32];
    char *copied;

    if (b->is_committed)
        return refuse(b, MPI_ERR_OTHER, "add", "tutti_buckets_commit has been called");
    if (count < 0 || count > INT_MAX)
        return refuse(b, MPI_ERR_COUNT, "add", "a tensor has 0 to 2147483647 elements");
    snprintf(numbered, sizeof numbered, "tensor %d", b->ntensors);
    copied = b->ntensors == b->room && grow(b) ? NULL : strdup(name ? name : numbered);
    if (!copied)
        return tt_raise(b->user, "tutti_buckets_add: out of host memory");
    b->tensors[b->ntensors++] = (struct tt_tensor){.name = copied, .at = at, .count = count};
    b->bytes += count * (int64_t)b->unit;
    return MPI_SUCCESS;
}

static struct tt_comm *state_of(const struct tutti_buckets *b)
{
    struct tt_comm *state = NULL;

    if (!tt_is_on())
        return NULL;
    tt_inside++;
    if (tt_comm_of(b->comm, TT_LOCATED, &state) != MPI_SUCCESS)
        state = NULL;
    tt_inside--;
    return state;
}

/* 0; or -1, on all ranks, with why. */
static int prepare(struct tutti_buckets *b, char *why, size_t size)
{
    char fault[TT_WORDS];
    bool failed;

    tt_buckets_size(b, state_of(b));
    if (tt_buckets_agree(b, why, size))
        return -1;
    tt_buckets_try(b);
    failed = tt_buckets_place(b, fault, sizeof fault) != 0;
    return tt_buckets_agree_on_fault(b, failed ? fault : NULL, why, size);
}

static void unprepare(struct tutti_buckets *b)
{
    if (b->flat)
        b->place->dev->give(b->place, b->flat);
    free(b->buckets);
    free(b->counts);
    b->flat = NULL;
    b->buckets = NULL;
    b->counts = NULL;
}

TT_PUBLIC int tutti_buckets_commit(struct tutti_buckets *b)
{
    char why[2 * TT_WORDS], words[3 * TT_WORDS];

    if (b->is_committed)
        return refuse(b, MPI_ERR_OTHER, "commit", "it has been called already");
    if (prepare(b, why, sizeof why)) {
        unprepare(b);
        snprintf(words, sizeof words, "tutti_buckets_commit: %s", why);
        return tt_raise_together(b->user, words);
    }
    tt_buckets_cut(b);
    b->is_committed = true;
    tt_log(TT_INFO, "buckets: %d of about %lld bytes (%s), %d tensors, %lld bytes in all, %s", b->nbuckets,
           (long long)b->wanted, b->chose, b->ntensors, (long long)b->bytes, b->flat ? "copied" : "in place");
    return MPI_SUCCESS;
}

/* ---- a step ---- */

static void begin_step(struct tutti_buckets *b)
{
    if (b->in_step)
        return;
    for (int i = 0; i < b->ntensors; i++)
        b->tensors[i].ready = false;
    for (int k = 0; k < b->nbuckets; k++) {
        b->buckets[k].unready = b->buckets[k].n;
        b->buckets[k].is_over = false;
    }
    b->nstarted = b->next = b->nready = 0;
    b->error = MPI_SUCCESS;
    b->begun = tt_nanoseconds(CLOCK_MONOTONIC);
    b->in_step = true;
}

static struct tt_bucket *bucket_of(const struct tutti_buckets *b, int tensor)
{
    int low = 0, high = b->nbuckets - 1;

    while (low < high) {
        const int middle = low + (high - low + 1) / 2;

        if (b->buckets[middle].first <= tensor)
            low = middle;
        else
            high = middle - 1;
    }
    return &b->buckets[low];
}

/* The first error of a step is what its end returns. */
static void note(struct tutti_buckets *b, int error)
{
    b->error = b->error == MPI_SUCCESS ? error : b->error;
}

static void fill(struct tutti_buckets *b, struct tt_bucket *k, int tensor)
{
    b->tensors[tensor].ready = true;
    k->unready--;
    if (tt_bucket_fill(b, k, tensor)) {
        tt_log(TT_ERROR, "rank %d: a bucket could not be filled: %s", b->rank, tt_fault());
        note(b, MPI_ERR_OTHER);
    }
}

static void start(struct tutti_buckets *b, struct tt_bucket *k)
{
    struct tt_call call = {.coll = k->counts ? TT_COLL_reduce_scatter : TT_COLL_allreduce,
                           .send = {MPI_IN_PLACE, k->counts ? 0 : k->count, b->type},
                           .recv = {k->at, k->counts ? 0 : k->count, b->type, k->counts},
                           .op = b->op,
                           .comm = b->comm};

    if (tt_buckets_settle(b)) {
        tt_log(TT_ERROR, "rank %d: a bucket could not be filled: %s", b->rank, tt_fault());
        note(b, MPI_ERR_OTHER);
    }
    note(b, tt_run_nonblocking(&call, &k->request));
}

/* Whoever is full, as far as its turn has come. */
static void start_full(struct tutti_buckets *b)
{
    while (b->nstarted < b->nbuckets && b->buckets[b->nstarted].unready == 0)
        start(b, &b->buckets[b->nstarted++]);
}

TT_PUBLIC int tutti_buckets_ready(struct tutti_buckets *b, int tensor)
{
    struct tt_bucket *k;

    if (!b->is_committed)
        return refuse(b, MPI_ERR_OTHER, "ready", "tutti_buckets_commit has not been called");
    if (tensor < 0 || tensor >= b->ntensors)
        return refuse(b, MPI_ERR_ARG, "ready", "there is no tensor of this number");
    if (b->in_step && b->tensors[tensor].ready)
        return refuse(b, MPI_ERR_ARG, "ready", "the tensor is ready already in this step: tutti_buckets_wait ends it");
    begin_step(b);
    k = bucket_of(b, tensor);
    b->out_of_order += tensor != b->next;
    b->next = tensor + 1;
    b->tensors[b->nready++].turn = tensor;
    fill(b, k, tensor);
    start_full(b);
    tt_progress_in_passing();
    return MPI_SUCCESS;
}

/* ---- its end ---- */

/* Who is asked for does not change by being asked. */
static bool is_over(const struct tt_bucket *k)
{
    int flag = 0;

    return PMPI_Request_get_status(k->request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
}

/* How far communication has come when there is nothing left to hide it behind. */
static void look_back(struct tutti_buckets *b)
{
    struct tutti_overlap *o = &b->overlap;
    int64_t over = 0;

    tt_progress();
    *o = (struct tutti_overlap){.buckets = b->nbuckets, .bucket_bytes = b->wanted, .bytes = b->bytes};
    for (int k = 0; k < b->nbuckets; k++) {
        const int64_t bytes = b->buckets[k].count * (int64_t)b->unit;
        const bool done = k < b->nstarted && is_over(&b->buckets[k]);

        over += done ? bytes : 0;
        o->late += !done;
        o->last_bytes = bytes;
    }
    o->overlap = b->bytes ? (double)over / (double)b->bytes : 1;
    o->out_of_order = b->out_of_order;
}

/* What is not ready goes as it is, for the others count on it. */
static int fill_up(struct tutti_buckets *b, int *first)
{
    int unready = 0;

    for (int i = b->ntensors - 1; i >= 0; i--) {
        if (b->tensors[i].ready)
            continue;
        *first = i;
        unready++;
    }
    for (int i = 0; unready && i < b->ntensors; i++)
        if (!b->tensors[i].ready) {
            fill(b, bucket_of(b, i), i);
            b->tensors[i].ready = false;
        }
    start_full(b);
    return unready;
}

/* Results are copied out while later buckets are under way. */
static void take_results(struct tutti_buckets *b)
{
    for (int k = 0; k < b->nbuckets; k++) {
        struct tt_bucket *bucket = &b->buckets[k];

        if (bucket->request != MPI_REQUEST_NULL)
            note(b, tt_wait_for(&bucket->request, MPI_STATUS_IGNORE));
        if (b->error == MPI_SUCCESS && tt_bucket_empty(b, bucket))
            note(b, MPI_ERR_OTHER);
    }
    if (tt_buckets_settle(b))
        note(b, MPI_ERR_OTHER);
}

/* The tensors that this rank lacks, by name. */
static void name_unready(const struct tutti_buckets *b, int unready, char *why, size_t size)
{
    size_t at =
        (size_t)snprintf(why, size, "rank %d was not ready with %d of %d tensors:", b->rank, unready, b->ntensors);
    int named = 0;

    for (int i = 0; i < b->ntensors && at + 120 < size; i++)
        if (!b->tensors[i].ready)
            at += (size_t)snprintf(why + at, size - at, "%s \"%.80s\"", named++ ? "," : "", b->tensors[i].name);
    if (named < unready)
        snprintf(why + at, size - at, " and %d more", unready - named);
}

static const char *progress_hint(const struct tutti_buckets *b)
{
    enum { CALLS };

    return b->overlap.late == b->nbuckets && tt_config.progress == CALLS
               ? ". Between calls nobody moves messages: TUTTI_PROGRESS=thread has a thread do it"
               : "";
}

static void say_why(struct tutti_buckets *b)
{
    struct tutti_overlap *o = &b->overlap;

    if (b->nbuckets == 0)
        snprintf(o->why, sizeof o->why, "there are no tensors");
    else if (b->nbuckets == 1)
        snprintf(o->why, sizeof o->why,
                 "one bucket (size %s) has all tensors: it can start only when the last is ready", b->chose);
    else if (o->late == 0)
        snprintf(o->why, sizeof o->why, "all had been reduced when wait was called");
    else if (o->late == 1)
        snprintf(
            o->why, sizeof o->why,
            "the last bucket, %lld bytes from \"%.80s\" on, can start only when the last gradient is ready, and then "
            "there is nothing left to hide it behind; the %d before it had been reduced",
            o->last_bytes, b->tensors[b->buckets[b->nbuckets - 1].first].name, b->nbuckets - 1);
    else
        snprintf(
            o->why, sizeof o->why,
            "%d of %d buckets were not reduced when the last gradient was ready: the last could not have been, and "
            "before it communication is slower than the gradients come%s",
            o->late, b->nbuckets, progress_hint(b));
}

static void end_step(struct tutti_buckets *b, int64_t waited, int64_t slowest)
{
    const int64_t now = tt_nanoseconds(CLOCK_MONOTONIC), before = b->wanted;

    b->in_step = false;
    b->nsteps++;
    b->last_ns = now - b->begun;
    b->overlap.step = (double)b->last_ns * 1e-9;
    b->overlap.exposed = (double)(now - waited) * 1e-9;
    b->overlap.differed = b->differed;
    memcpy(b->overlap.order, b->order, sizeof b->order);
    say_why(b);
    tt_buckets_learn(b, slowest);
    if (b->wanted != before)
        tt_buckets_cut(b);
}

TT_PUBLIC int tutti_buckets_wait(struct tutti_buckets *b)
{
    const int64_t waited = tt_nanoseconds(CLOCK_MONOTONIC);
    char why[2 * TT_WORDS], words[3 * TT_WORDS];
    struct tt_step_end end;
    int64_t slowest = 0;
    int unready, first = 0;
    bool failed;

    if (!b->is_committed)
        return refuse(b, MPI_ERR_OTHER, "wait", "tutti_buckets_commit has not been called");
    begin_step(b);
    look_back(b);
    unready = fill_up(b, &first);
    note(b, tt_step_end_start(b, &end, unready, first));
    take_results(b);
    failed = tt_step_end_wait(b, &end, &slowest, why, sizeof why) != 0;
    if (!failed)
        tt_step_end_compare_order(b, &end);
    if (unready)
        name_unready(b, unready, why, sizeof why);
    end_step(b, waited, slowest);
    if (!failed && b->error == MPI_SUCCESS)
        return MPI_SUCCESS;
    snprintf(words, sizeof words, "tutti_buckets_wait: %s", failed ? why : "a bucket could not be reduced");
    return tt_raise(b->user, words);
}

TT_PUBLIC int tutti_buckets_overlap(const struct tutti_buckets *b, struct tutti_overlap *overlap)
{
    if (b->nsteps == 0)
        return refuse(b, MPI_ERR_OTHER, "overlap", "no step has ended yet");
    *overlap = b->overlap;
    return MPI_SUCCESS;
}

TT_PUBLIC int tutti_buckets_free(struct tutti_buckets **buckets)
{
    struct tutti_buckets *b = *buckets;

    if (!b)
        return MPI_SUCCESS;
    if (b->in_step)
        return refuse(b, MPI_ERR_OTHER, "free", "a step is under way: tutti_buckets_wait ends it");
    unprepare(b);
    for (int i = 0; i < b->ntensors; i++)
        free(b->tensors[i].name);
    free(b->tensors);
    PMPI_Comm_free(&b->comm);
    free(b);
    *buckets = NULL;
    return MPI_SUCCESS;
}
