/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waited for whom. A rank cannot know by itself whether a call took long because data moved slowly or because
 * another rank came late. So each notes when it entered each call; for every STRETCH calls on a communicator the ranks
 * find the latest of these times, and the root's, by one nonblocking reduction on the private communicator, begun as
 * the next call is entered, at the same point of the program on all ranks, and looked at STRETCH calls later, when it
 * is long over. Nobody waits for it but MPI_Finalize. Then each rank divides its own times (report_sums.c) and keeps
 * sums only. Memory: some 70 KB for each communicator in use. Time: `bench/interpose`, and a reduction of 8 KB every
 * 256 calls. */
#include "coll/report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/agree.h"
#include "coll/clock.h"
#include "coll/config.h"
#include "coll/hook.h"
#include "coll/pause.h"
#include "coll/report_sums.h"
#include "coll/request.h"
#include "coll/topology.h"
#include "coll/watch.h"
#include "selector/model.h"

enum { STRETCH = 256, BOUNDS = 64, PATIENCE_S = 10 };

/* One call. Instants are ticks. */
struct entry {
    uint64_t entered, begun, left, blocked, freed, setup;
    struct stretch *stretch;
    short coll, size;      /* its class; coll is -1 until it is known */
    bool is_root, by_root; /* by_root: the one it waits for is the root */
    double bytes, moved, bound;
};

/* STRETCH calls, in their order on the communicator. */
struct stretch {
    struct stretch *next;
    struct entry entries[STRETCH];
    int n, open;                                /* that have been entered; and not left yet */
    bool full, shared;                          /* no more are added; shared: and the ranks find out who came last */
    int64_t mine[STRETCH][2], last[STRETCH][2]; /* entered: of any, of the root; nanoseconds of rank 0's clock */
    MPI_Request request;
};

struct tt_arrivals {
    struct tt_arrivals *next; /* of all */
    struct tt_comm *comm;     /* held */
    struct stretch *first, *filling;
};

bool tt_report_runs;

static struct tt_arrivals *all;
static bool short_of_memory;  /* some call is missing, so this rank no longer counts like the others */
static uint64_t bubble, made; /* ticks: in point-to-point calls; in what is made once */
static struct tt_sums sums[TT_NCOLLS][TT_NSIZES];
static struct tt_moment begun;                           /* of the job */
static struct tt_clock_offset offset;                    /* to rank 0's clock, at the beginning */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all of these */

/* Under the lock the MPI is called, and must not from its own progress call those who would end calls here. */
static void lock_all(void)
{
    tt_hook_held++;
    pthread_mutex_lock(&lock);
}

static void unlock_all(void)
{
    pthread_mutex_unlock(&lock);
    tt_hook_held--;
}

/* In which wait this thread is: since when, or since the last collective that ended in it. */
static __thread struct {
    bool collects; /* one in which collectives may end */
    uint64_t since;
} spot;

/* ---- instants ---- */

static int64_t ns_of(uint64_t ticks, const struct tt_moment *now)
{
    return tt_ticks_ns(ticks, &begun, now) + offset.ns;
}

static double seconds(uint64_t from, uint64_t to, const struct tt_moment *now)
{
    return (double)(ns_of(to, now) - ns_of(from, now)) * 1e-9;
}

/* ---- summing up ---- */

/* Without the others' times all waiting counts as communication. */
static void sum_up(const struct entry *e, const int64_t *last, const struct tt_moment *now)
{
    struct tt_sums *s = &sums[e->coll][e->size];
    const struct tt_call_times t = {.entered = ns_of(e->entered, now),
                                    .begun = ns_of(e->begun, now),
                                    .setup = ns_of(e->begun, now) - ns_of(e->begun - e->setup, now),
                                    .left = ns_of(e->left, now),
                                    .blocked = ns_of(e->blocked, now),
                                    .freed = ns_of(e->freed, now),
                                    .last = last ? last[e->by_root] : INT64_MIN};

    tt_sums_add(s, &t);
    s->bytes += e->bytes;
    s->moved += e->moved;
    s->bound += e->bound;
}

static bool is_told(struct stretch *b)
{
    int flag = 1;

    if (b->request != MPI_REQUEST_NULL)
        PMPI_Test(&b->request, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static void close_stretch(struct stretch *b, bool told)
{
    const struct tt_moment now = tt_moment_now();

    for (int i = 0; i < b->n; i++)
        if (b->entries[i].coll >= 0 && b->entries[i].left)
            sum_up(&b->entries[i], told && b->shared ? b->last[i] : NULL, &now);
    free(b);
}

/* Those at the head that are over. */
static void sweep(struct tt_arrivals *a)
{
    while (a->first && a->first->full && a->first->open == 0 && is_told(a->first)) {
        struct stretch *b = a->first;

        a->first = b->next;
        a->filling = a->first ? a->filling : NULL;
        close_stretch(b, true);
    }
}

/* Can the ranks of c compare? The same on all of them. Under TUTTI_CHECK they meet before, and the MPI below gets calls
 * on the private communicator in another order. */
static bool is_shared(const struct tt_comm *c)
{
    return c->usable && c->size > 1 && !tt_config.check;
}

/* No call is added any more: has the ranks find out who came last. As many numbers whatever is in it: who lost count
 * does no harm. */
static void fill_up(struct tt_arrivals *a, struct stretch *b)
{
    const struct tt_moment now = tt_moment_now();

    b->full = true;
    for (int i = 0; i < STRETCH; i++) {
        b->mine[i][0] = i < b->n ? ns_of(b->entries[i].entered, &now) : INT64_MIN;
        b->mine[i][1] = i < b->n && b->entries[i].is_root ? b->mine[i][0] : INT64_MIN;
    }
    b->shared = is_shared(a->comm) && PMPI_Iallreduce(b->mine, b->last, 2 * STRETCH, MPI_INT64_T, MPI_MAX,
                                                      a->comm->wire_comm, &b->request) == MPI_SUCCESS;
}

/* ---- calls ---- */

static struct stretch *stretch_new(struct tt_arrivals *a)
{
    struct stretch *b = calloc(1, sizeof *b);

    short_of_memory |= !b;
    if (!b)
        return NULL;
    b->request = MPI_REQUEST_NULL;
    if (a->first)
        a->filling->next = b;
    else
        a->first = b;
    a->filling = b;
    return b;
}

static struct tt_arrivals *arrivals_of(struct tt_comm *c)
{
    struct tt_arrivals *a = c->arrivals;

    if (a)
        return a;
    a = c->arrivals = calloc(1, sizeof *a);
    short_of_memory |= !a;
    if (a) {
        a->comm = tt_comm_hold(c);
        a->next = all;
        all = a;
    }
    return a;
}

/* Where the call is noted: at the same place on all ranks. */
static struct entry *entry_new(struct tt_comm *c)
{
    struct tt_arrivals *a = arrivals_of(c);
    struct stretch *b = a ? a->filling : NULL;

    if (!a)
        return NULL;
    if (b && b->n == STRETCH) {
        fill_up(a, b);
        sweep(a);
        b = NULL;
    }
    b = b ? b : stretch_new(a);
    if (!b)
        return NULL;
    b->open++;
    b->entries[b->n] = (struct entry){.stretch = b, .coll = -1};
    return &b->entries[b->n++];
}

static void enter(struct tt_event *e)
{
    const bool rooted = tt_rows[e->call->coll].traits & TT_ROOTED;
    struct entry *entry;

    if (!e->comm || short_of_memory)
        return;
    lock_all();
    entry = entry_new(e->comm);
    if (entry) {
        entry->entered = e->entered;
        entry->is_root = rooted && e->call->root == e->comm->rank;
        entry->by_root = rooted && !entry->is_root;
    }
    unlock_all();
    e->of[TT_LISTENER_report] = entry;
}

/* ---- what a call is ---- */

/* The least time that the model knows for it: looked up where a call like it has been before. */
static double bound_of(const struct tt_job *job)
{
    static struct {
        uint64_t comm;
        int64_t bytes;
        enum tt_coll coll;
        double seconds;
    } known[BOUNDS];
    const int64_t bytes = tt_shape_bytes(&job->shape);
    const enum tt_coll coll = job->call->coll;
    const unsigned at =
        (unsigned)((job->comm->id ^ (uint64_t)bytes * 31 ^ (uint64_t)coll) * UINT64_C(0x9E3779B97F4A7C15) >> 58);
    struct tt_estimate best = {0}, next;

    if (known[at].seconds > 0 && known[at].comm == job->comm->id && known[at].bytes == bytes && known[at].coll == coll)
        return known[at].seconds;
    tt_model_choose(coll, &job->shape, job->comm->net, &best, &next);
    known[at].comm = job->comm->id;
    known[at].bytes = bytes;
    known[at].coll = coll;
    known[at].seconds = best.alg ? best.seconds : 0;
    return known[at].seconds;
}

/* Lengths that each rank has of its own tell of this rank alone. */
static void measure(struct entry *entry, const struct tt_job *job)
{
    const unsigned traits = job->row->traits;
    const bool local = tt_coll_lengths_local(job->call->coll) || (traits & TT_NEIGHBOURS);
    const size_t most = job->send.bytes > job->recv.bytes ? job->send.bytes : job->recv.bytes;
    const int blocks = job->send.nblocks > job->recv.nblocks ? job->send.nblocks : job->recv.nblocks;

    entry->bytes = local ? (double)most / (blocks > 0 ? blocks : 1) : (double)tt_shape_bytes(&job->shape);
    entry->moved = local                                        ? (double)most
                   : traits & (TT_SEND_BLOCKS | TT_RECV_BLOCKS) ? entry->bytes * job->comm->size
                                                                : entry->bytes;
    entry->bound = local || !job->comm->net || job->comm->size == 1 ? 0 : bound_of(job);
    entry->coll = (short)job->call->coll;
    entry->size = (short)tt_size_class((int64_t)entry->bytes);
}

static void begin(struct tt_event *e)
{
    struct entry *entry = e->of[TT_LISTENER_report];

    if (!entry || !e->job)
        return;
    lock_all();
    entry->begun = e->begun;
    entry->setup = e->setup;
    measure(entry, e->job);
    unlock_all();
}

/* A nonblocking call holds this thread up from when it began to wait, or from the end of the call that it waited for
 * before; unless it waits for something else. */
static void leave(struct tt_event *e)
{
    struct entry *entry = e->of[TT_LISTENER_report];
    const bool waits = spot.collects && spot.since;

    if (!entry)
        return;
    lock_all();
    entry->left = entry->freed = e->left;
    entry->blocked = e->flavour == TT_BLOCKING ? entry->entered : e->left;
    if (e->flavour != TT_BLOCKING && waits && !e->handed) {
        entry->blocked = spot.since > entry->begun ? spot.since : entry->begun;
        spot.since = e->left;
    }
    entry->stretch->open--;
    unlock_all();
}

/* ---- other calls in which a rank may wait ---- */

static bool is_wait(const struct tt_spot *s)
{
    return strncmp(s->name, "Wait", 4) == 0;
}

static void enter_spot(const struct tt_spot *s)
{
    spot.collects = is_wait(s);
    spot.since = s->entered;
}

static void leave_spot(const struct tt_spot *s)
{
    const uint64_t now = tt_ticks();

    lock_all();
    *(is_wait(s) || s->peer != TT_NOBODY ? &bubble : &made) += now - spot.since;
    unlock_all();
    spot.since = 0;
}

/* ---- communicators that go ---- */

static void remove_from_all(struct tt_arrivals *a)
{
    struct tt_arrivals **at = &all;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
}

/* What is over of all that have been freed. */
static void sweep_freed(void)
{
    for (struct tt_arrivals *a = all, *next; a; a = next) {
        next = a->next;
        if (!a->comm->freed)
            continue;
        sweep(a);
        if (a->first)
            continue;
        remove_from_all(a);
        a->comm->arrivals = NULL;
        tt_comm_release(a->comm);
        free(a);
    }
}

void tt_report_freed(struct tt_comm *c)
{
    struct tt_arrivals *a = c->arrivals;

    if (!tt_report_runs || !a)
        return;
    lock_all();
    if (a->filling && !a->filling->full && !short_of_memory)
        fill_up(a, a->filling);
    sweep_freed();
    unlock_all();
}

/* ---- the end of the job ---- */

static bool is_over_or_late(void *deadline)
{
    bool over = true;

    tt_progress();
    for (struct tt_arrivals *a = all; a; a = a->next) {
        sweep(a);
        over = over && !a->first;
    }
    return over || tt_nanoseconds(CLOCK_MONOTONIC) > *(int64_t *)deadline;
}

/* Ranks that have lost count of one another may ask in vain: that is not worth a hang. */
static void sum_up_all(void)
{
    int64_t deadline = tt_nanoseconds(CLOCK_MONOTONIC) + PATIENCE_S * INT64_C(1000000000);

    for (struct tt_arrivals *a = all; a && !short_of_memory; a = a->next)
        if (a->filling && !a->filling->full)
            fill_up(a, a->filling);
    tt_wait(is_over_or_late, &deadline);
}

static void add_up(struct tt_rank_sums *own, const struct tt_moment *now)
{
    const double second = seconds(begun.ticks, now->ticks, now) / (double)(now->ticks - begun.ticks); /* of a tick */
    double others = 0;

    own->seconds = seconds(begun.ticks, now->ticks, now);
    for (int c = 0; c < TT_NCOLLS; c++)
        for (int z = 0; z < TT_NSIZES; z++) {
            own->part[TT_PART_exposed] += sums[c][z].exposed;
            own->part[TT_PART_imbalance] += sums[c][z].imbalance;
            own->part[TT_PART_setup] += sums[c][z].setup;
            own->overlapped += sums[c][z].overlapped;
            own->calls += sums[c][z].calls;
        }
    own->part[TT_PART_bubble] = (double)bubble * second;
    own->part[TT_PART_setup] += (double)made * second;
    for (int p = TT_PART_compute + 1; p < TT_NPARTS; p++)
        others += own->part[p];
    own->part[TT_PART_compute] = own->seconds > others ? own->seconds - others : 0;
    gethostname(own->host, sizeof own->host - 1);
}

/* What holds for all ranks; how wrong clocks may be, by what they say now. */
enum { GPUS, SIMULATED, NFACTS };

static void finish(MPI_Request *request, int error)
{
    if (error == MPI_SUCCESS)
        tt_wait_for(request, MPI_STATUS_IGNORE);
}

static void collect(struct tt_report *r, MPI_Comm comm, struct tt_rank_sums *own, double drift)
{
    struct tt_gpu gpu = {0};
    const int n = (int)(sizeof sums / sizeof(double));
    MPI_Request request;
    int facts[NFACTS], of_all[NFACTS] = {0};

    tt_gpu_here(&gpu);
    facts[GPUS] = gpu.there;
    facts[SIMULATED] = gpu.there && tt_driver_look().simulated;
    finish(&request, PMPI_Ireduce(facts, of_all, NFACTS, MPI_INT, MPI_MIN, 0, comm, &request));
    finish(&request, PMPI_Ireduce(&drift, &r->clock_error, 1, MPI_DOUBLE, MPI_MAX, 0, comm, &request));
    finish(&request, PMPI_Ireduce(sums, r->sums, n, MPI_DOUBLE, MPI_SUM, 0, comm, &request));
    finish(&request, PMPI_Ireduce(sums, r->most, n, MPI_DOUBLE, MPI_MAX, 0, comm, &request));
    finish(&request, PMPI_Igather(own, sizeof *own, MPI_BYTE, r->rank, sizeof *own, MPI_BYTE, 0, comm, &request));
    r->gpus = of_all[GPUS];
    r->simulated = of_all[SIMULATED];
    r->aligned = !tt_config.check;
}

static void tell(const struct tt_report *r)
{
    const char *file = getenv("TUTTI_REPORT");
    FILE *out = file && tt_config.report > 1 ? fopen(file, "w") : NULL;
    bool written = out;

    if (out)
        tt_report_write(out, r);
    if (out && fclose(out))
        written = false;
    if (file && tt_config.report > 1 && !written)
        tt_log(TT_ERROR, "TUTTI_REPORT=%s cannot be written; the report is here", file);
    if (!written)
        tt_report_print(stderr, r);
}

static struct tt_report *report_new(int ranks)
{
    struct tt_report *r = calloc(1, sizeof *r);

    if (r)
        r->rank = calloc((size_t)ranks, sizeof *r->rank);
    if (r && r->rank)
        return r;
    free(r);
    return NULL;
}

static void report_job(void)
{
    const struct tt_comm *world = tt_comm_known(MPI_COMM_WORLD);
    const MPI_Comm comm = world && world->usable && world->size > 1 ? world->wire_comm : MPI_COMM_WORLD;
    const struct tt_moment now = tt_moment_now();
    const struct tt_clock_offset then = offset, end = tt_clock_align();
    const double drift = (double)(llabs(end.ns - then.ns) + (end.error_ns > 0 ? end.error_ns : 0)) * 1e-9;
    struct tt_rank_sums own = {0};
    struct tt_report *r;
    int rank, ranks;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    r = report_new(ranks);
    if (!tt_all_have(comm, r))
        return;
    r->ranks = ranks;
    add_up(&own, &now);
    collect(r, comm, &own, drift);
    if (rank == 0)
        tell(r);
    free(r->rank);
    free(r);
}

/* ---- listening ---- */

static bool open_report(void)
{
    if (!tt_config.report)
        return false;
    offset = tt_clock_align();
    begun = tt_moment_now();
    tt_report_runs = true;
    return true;
}

static void close_report(void)
{
    sum_up_all();
    report_job();
    tt_report_runs = false;
}

const struct tt_listener tt_listen_report = {.open = open_report,
                                             .close = close_report,
                                             .enter = enter,
                                             .begin = begin,
                                             .leave = leave,
                                             .enter_spot = enter_spot,
                                             .leave_spot = leave_spot};
