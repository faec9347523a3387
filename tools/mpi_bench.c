/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call begins after a barrier, as in the OSU micro-benchmarks, so that a broadcast's calls do not run into each
 * other; and what counts is, of each call, the rank that took longest, and of a batch the median, so that what disturbs
 * one call spoils no figure. Waiting polls, and yields where ranks outnumber cores. */
#include "tools/mpi_bench.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/call.h"
#include "coll/config.h"
#include "coll/tutti.h"
#include "tools/mpi_tools.h"
#include "tools/tools.h"

enum { MOST_CALLS = 256, TAG = 1, CROWDED_POLLS = 50, POLLS = 100000 };

/* ---- waiting ---- */

/* Polls before a core is yielded. Where each rank has its own that is late, for somebody else's work would have it for
 * milliseconds. */
static int patience = POLLS;

static void learn_patience(void)
{
    MPI_Comm node;
    cpu_set_t mine, all;
    int ranks;

    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    PMPI_Comm_size(node, &ranks);
    PMPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, node);
    PMPI_Comm_free(&node);
    patience = ranks > CPU_COUNT(&all) ? CROWDED_POLLS : POLLS;
}

static void wait_for(MPI_Request *request)
{
    int done = 0;

    for (int polls = 0; PMPI_Test(request, &done, MPI_STATUS_IGNORE), !done; polls++)
        if (polls >= patience)
            sched_yield();
}

static void meet(MPI_Comm comm)
{
    MPI_Request request;

    PMPI_Ibarrier(comm, &request);
    wait_for(&request);
}

/* ---- the calls ---- */

/* MPI_Allreduce and so on from a struct tt_call: through Tutti, as a program's. */
#define N int
#define D int
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    static void call_##id(const struct tt_call *c)                                                                     \
    {                                                                                                                  \
        MPI_##Name args;                                                                                               \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE
#undef N
#undef D

static void (*const calls[TT_NCOLLS])(const struct tt_call *) = {
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args) [TT_COLL_##id] = call_##id,
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};

/* Rank 0 is the root. Where there is a count for each block, all blocks are alike. */
static struct tt_call call_of(struct tool_bench *b, enum tt_coll coll, int64_t bytes)
{
    const int n = (int)(bytes / tt_tune_unit(coll));
    const MPI_Datatype type = tt_coll_traits(coll) & TT_REDUCES ? MPI_FLOAT : MPI_BYTE;

    for (int i = 0; i < b->size; i++) {
        b->counts[i] = n;
        b->displs[i] = i * n;
    }
    return (struct tt_call){.coll = coll,
                            .send = {b->send, n, type, b->counts, b->displs, NULL},
                            .recv = {b->recv, n, type, b->counts, b->displs, NULL},
                            .op = MPI_SUM,
                            .comm = MPI_COMM_WORLD};
}

static void set(enum tt_coll coll, const char *value)
{
    char name[64];

    if (tutti_set(tt_config_pin_name(coll, name, sizeof name), value) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, TOOL_FAILED);
}

/* True if that is another than before: then the first call has a plan to build. */
static bool pin(struct tool_bench *b, const struct tool_order *o)
{
    char value[96];

    if (b->pinned == o->coll && b->pinned_alg == o->alg && b->pinned_segment == o->segment)
        return false;
    if (b->pinned >= 0 && b->pinned != o->coll)
        set((enum tt_coll)b->pinned, NULL);
    if (o->alg >= 0)
        snprintf(value, sizeof value, o->segment ? "%s/%lld" : "%s", tt_algs[o->alg]->name, (long long)o->segment);
    set((enum tt_coll)o->coll, o->alg >= 0 ? value : NULL);
    b->pinned = o->coll;
    b->pinned_alg = o->alg;
    b->pinned_segment = o->segment;
    return true;
}

static void time_calls(struct tool_bench *b, const struct tool_order *o, double *times)
{
    const struct tt_call call = call_of(b, (enum tt_coll)o->coll, o->bytes);

    if (pin(b, o))
        calls[o->coll](&call);
    for (int i = 0; i < o->calls; i++) {
        meet(b->control);
        times[i] = MPI_Wtime();
        calls[o->coll](&call);
        times[i] = MPI_Wtime() - times[i];
    }
}

/* ---- links ---- */

static void send_to(struct tool_bench *b, int peer, int64_t bytes)
{
    MPI_Request request;

    MPI_Isend(b->send, (int)bytes, MPI_BYTE, peer, TAG, b->control, &request);
    wait_for(&request);
}

static void receive_from(struct tool_bench *b, int peer, int64_t bytes)
{
    MPI_Request request;

    MPI_Irecv(b->recv, (int)bytes, MPI_BYTE, peer, TAG, b->control, &request);
    wait_for(&request);
}

static void ping_pong(struct tool_bench *b, const struct tool_order *o, int peer)
{
    if (b->rank == o->a)
        send_to(b, peer, o->bytes);
    receive_from(b, peer, o->bytes);
    if (b->rank == o->b)
        send_to(b, peer, o->bytes);
}

static void exchange(struct tool_bench *b, const struct tool_order *o, int peer)
{
    MPI_Request requests[2];

    MPI_Irecv(b->recv, (int)o->bytes, MPI_BYTE, peer, TAG, b->control, &requests[0]);
    MPI_Isend(b->send, (int)o->bytes, MPI_BYTE, peer, TAG, b->control, &requests[1]);
    wait_for(&requests[0]);
    wait_for(&requests[1]);
}

/* A first one, whose buffers are new to the MPI, does not count. Times are the first rank's. */
static void time_link(struct tool_bench *b, const struct tool_order *o, double *times)
{
    const int peer = b->rank == o->a ? o->b : o->a;
    const bool both = o->what == TOOL_EXCHANGE;

    if (b->rank != o->a && b->rank != o->b)
        return;
    for (int i = -1; i < o->calls; i++) {
        const double start = MPI_Wtime();
        double seconds;

        (both ? exchange : ping_pong)(b, o, peer);
        seconds = MPI_Wtime() - start;
        if (i >= 0 && b->rank == o->a)
            times[i] = both ? seconds : seconds / 2;
    }
}

static void time_posts(struct tool_bench *b, const struct tool_order *o, double *times)
{
    MPI_Request requests[MOST_CALLS];

    for (int i = 0; i < o->calls && b->rank == o->b; i++)
        MPI_Irecv(b->recv, (int)o->bytes, MPI_BYTE, o->a, TAG, b->control, &requests[i]);
    meet(b->control);
    for (int i = 0; i < o->calls && b->rank == o->a; i++) {
        times[i] = MPI_Wtime();
        MPI_Isend(b->send, (int)o->bytes, MPI_BYTE, o->b, TAG, b->control, &requests[i]);
        times[i] = MPI_Wtime() - times[i];
    }
    for (int i = 0; i < o->calls && (b->rank == o->a || b->rank == o->b); i++)
        wait_for(&requests[i]);
}

/* ---- at each rank alone ---- */

static void time_alone(struct tool_bench *b, const struct tool_order *o, double *times)
{
    for (int i = -1; i < o->calls; i++) {
        const double start = MPI_Wtime();

        if (o->what == TOOL_REDUCE)
            MPI_Reduce_local(b->send, b->recv, (int)(o->bytes / 4), MPI_FLOAT, MPI_SUM);
        else
            tool_memory_copy(&b->memory, b->recv, b->send, (size_t)o->bytes);
        if (i >= 0)
            times[i] = MPI_Wtime() - start;
    }
}

/* ---- orders ---- */

static void carry_out(struct tool_bench *b, const struct tool_order *o, double *times)
{
    static void (*const how[])(struct tool_bench *, const struct tool_order *, double *) = {
        [TOOL_CALLS] = time_calls, [TOOL_PING_PONG] = time_link, [TOOL_EXCHANGE] = time_link,
        [TOOL_POST] = time_posts,  [TOOL_REDUCE] = time_alone,   [TOOL_COPY] = time_alone};

    memset(times, 0, (size_t)o->calls * sizeof *times);
    how[o->what](b, o, times);
}

static void tell(struct tool_bench *b, struct tool_order *order)
{
    MPI_Request request;

    PMPI_Ibcast(order, sizeof *order, MPI_BYTE, 0, b->control, &request);
    wait_for(&request);
}

/* Of each call, the slowest rank's. */
static void gather(struct tool_bench *b, const double *times, double *slowest, int n)
{
    MPI_Request request;

    PMPI_Ireduce(times, slowest, n, MPI_DOUBLE, MPI_MAX, 0, b->control, &request);
    wait_for(&request);
}

void tool_bench_serve(struct tool_bench *b)
{
    double times[MOST_CALLS];
    struct tool_order order;

    for (tell(b, &order); order.what != TOOL_END; tell(b, &order)) {
        carry_out(b, &order, times);
        gather(b, times, NULL, order.calls);
    }
}

static volatile sig_atomic_t asked_to_end;

double tool_bench_do(struct tool_bench *b, struct tool_order order)
{
    double times[MOST_CALLS], slowest[MOST_CALLS];

    if (asked_to_end && order.what != TOOL_END)
        return -1;
    order.calls = order.calls > MOST_CALLS ? MOST_CALLS : order.calls;
    tell(b, &order);
    if (order.what == TOOL_END)
        return 0;
    carry_out(b, &order, times);
    gather(b, times, slowest, order.calls);
    return asked_to_end ? -1 : tt_figure_of(slowest, order.calls).seconds;
}

/* ---- as struct tt_bench ---- */

static int place_of(const struct tt_alg *alg)
{
    for (int i = 0; tt_algs[i]; i++)
        if (tt_algs[i] == alg)
            return i;
    return -1;
}

static double measure(struct tt_bench *bench, const struct tt_point *point, const struct tt_candidate *c, int n)
{
    return tool_bench_do((struct tool_bench *)bench, (struct tool_order){.what = TOOL_CALLS,
                                                                         .coll = (int32_t)point->coll,
                                                                         .alg = place_of(c->alg),
                                                                         .calls = n,
                                                                         .bytes = point->bytes,
                                                                         .segment = c->segment});
}

static double now(struct tt_bench *bench)
{
    return MPI_Wtime() - ((struct tool_bench *)bench)->began;
}

/* ---- opening ---- */

static int take_memory(struct tool_bench *b, char *why, size_t size)
{
    b->counts = malloc(2 * (size_t)b->size * sizeof *b->counts);
    b->displs = b->counts + b->size;
    b->send = tool_memory_take(&b->memory, b->room);
    b->recv = tool_memory_take(&b->memory, b->room);
    if (b->counts && b->send && b->recv)
        return 0;
    snprintf(why, size, "no two buffers of %zu bytes in %s", b->room, b->memory.words);
    return -1;
}

int tool_bench_open(struct tool_bench *b, bool device, size_t room, char *why, size_t size)
{
    int good, all, leader;

    *b = (struct tool_bench){.is = {.measure = measure, .now = now}, .room = room, .pinned = -1};
    MPI_Comm_rank(MPI_COMM_WORLD, &b->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b->size);
    good = tool_memory_open(&b->memory, device, tool_turn_on_node(b->rank, &leader), why, size) == 0 &&
           take_memory(b, why, size) == 0;
    PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    PMPI_Comm_dup(MPI_COMM_WORLD, &b->control);
    learn_patience();
    b->began = MPI_Wtime();
    return all ? 0 : -1;
}

void tool_bench_close(struct tool_bench *b)
{
    if (b->pinned >= 0)
        set((enum tt_coll)b->pinned, NULL);
    tool_memory_give(&b->memory, b->send);
    tool_memory_give(&b->memory, b->recv);
    free(b->counts);
    PMPI_Comm_free(&b->control);
}

/* Launchers hand a signal on to all ranks, and the others must live until rank 0 has told them of the end. */
static void note(int signal_number)
{
    (void)signal_number;
    asked_to_end = 1;
}

void tool_bench_catch_signals(void)
{
    const struct sigaction once = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};

    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
}
