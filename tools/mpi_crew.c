/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call begins after a barrier, as in the OSU micro-benchmarks, so that a broadcast's calls do not run into each
 * other; and what counts is, of each call, the rank that took longest, and of a batch the median, so that what disturbs
 * one call spoils no figure. Waiting polls, and yields where ranks outnumber cores. */
#include "tools/mpi_crew.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "coll/config.h"
#include "coll/sizes.h"
#include "cuda/dev.h"
#include "tools/mpi_tools.h"
#include "tools/mpi_tutti.h"
#include "tools/tools.h"

enum { TAG = 1, CROWDED_POLLS = 50, POLLS = 100000 };

/* ---- waiting ---- */

/* Polls before a core is yielded. Where each rank has its own that is late, for somebody else's work would have it for
 * milliseconds. */
static int patience = POLLS;

/* Where ranks outnumber cores the scheduler puts them, and the threads that work for them, wherever there is room, and
 * leaves them there for seconds or for a whole run: one algorithm takes twice as long in one run as in the next,
 * because three ranks are on one core, or the thread of a simulated GPU is not on its rank's. So each is kept on one,
 * the next rank on the next, as by `mpiexec -bind-to core`. A thread inherits that from who starts it. Who is bound
 * already stays where he is. */
static void keep_to_a_core(const cpu_set_t *all, int turn)
{
    const int wanted = turn % CPU_COUNT(all);
    cpu_set_t one;

    CPU_ZERO(&one);
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, all) && seen++ == wanted)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void settle(struct tool_crew *b)
{
    MPI_Comm node;
    cpu_set_t mine, all;
    int turn;

    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    PMPI_Comm_rank(node, &turn);
    PMPI_Comm_size(node, &b->on_node);
    PMPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, node);
    PMPI_Comm_free(&node);
    patience = POLLS;
    if (CPU_COUNT(&all) == 0 || b->on_node <= CPU_COUNT(&all)) /* 0: more cores than a cpu_set_t has room for */
        return;
    patience = CROWDED_POLLS;
    b->settled = CPU_EQUAL(&mine, &all);
    if (b->settled)
        keep_to_a_core(&all, turn);
}

void tool_crew_tell_settled(const struct tool_crew *b, const char *command)
{
    if (b->settled && b->rank == 0)
        fprintf(stderr, "%s: %d ranks outnumber the cores here: each is kept on one, the next rank on the next\n",
                command, b->on_node);
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

static MPI_Datatype type_of(const struct tool_crew *b, enum tt_coll coll)
{
    if (b->manner.given)
        return b->manner.datatype;
    return tt_coll_traits(coll) & TT_REDUCES ? MPI_FLOAT : MPI_BYTE;
}

static int unit_of(const struct tool_crew *b, enum tt_coll coll)
{
    return b->manner.given ? (int)tt_type_size(b->manner.type) : tt_tune_unit(coll);
}

/* MPI_IN_PLACE: for all ranks, or for the root, which gives it in the place of what it would receive, of a scatter. */
static bool in_place(const struct tool_crew *b, enum tt_coll coll)
{
    const unsigned traits = tt_coll_traits(coll);

    return b->manner.inplace && (traits & TT_INPLACE_ALL || (traits & TT_INPLACE_ROOT && b->rank == b->manner.root));
}

/* Where there is a count for each block, all blocks are alike. */
static struct tt_call call_of(struct tool_crew *b, enum tt_coll coll, int64_t bytes)
{
    const int unit = unit_of(b, coll), n = (int)(bytes / unit), step = tt_coll_traits(coll) & TT_TYPES ? n * unit : n;
    const MPI_Datatype type = type_of(b, coll);
    struct tt_call call = {.coll = coll,
                           .send = {b->send, n, type, b->counts, b->displs, b->types},
                           .recv = {b->recv, n, type, b->counts, b->displs, b->types},
                           .op = b->manner.given ? b->manner.mpi_op : MPI_SUM,
                           .root = b->manner.root,
                           .comm = MPI_COMM_WORLD};

    for (int i = 0; i < b->size; i++) {
        b->counts[i] = n;
        b->displs[i] = i * step;
        b->types[i] = type;
    }
    if (in_place(b, coll) && tt_coll_traits(coll) & TT_SEND_AT_ROOT)
        call.recv.out = MPI_IN_PLACE;
    else if (in_place(b, coll))
        call.send.buf = MPI_IN_PLACE;
    return call;
}

static void set(const struct tool_crew *b, enum tt_coll coll, const char *value)
{
    char name[64];

    if (!value && b->manner.given)
        value = b->before[coll];
    if (tool_tutti_set(tt_config_pin_name(coll, name, sizeof name), value) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, TOOL_FAILED);
}

/* True if that is another than before: then the first call has a plan to build. */
static bool pin(struct tool_crew *b, const struct tool_order *o)
{
    char value[96];

    if (o->alg == TOOL_BELOW)
        return false;
    if (b->pinned == o->coll && b->pinned_alg == o->alg && b->pinned_segment == o->segment)
        return false;
    if (b->pinned >= 0 && b->pinned != o->coll)
        set(b, (enum tt_coll)b->pinned, NULL);
    if (o->alg >= 0)
        snprintf(value, sizeof value, o->segment ? "%s/%lld" : "%s", tt_algs[o->alg]->name, (long long)o->segment);
    set(b, (enum tt_coll)o->coll, o->alg >= 0 ? value : NULL);
    b->pinned = o->coll;
    b->pinned_alg = o->alg;
    b->pinned_segment = o->segment;
    return true;
}

bool tool_is_choice(int alg)
{
    return alg == TOOL_CHOSEN || alg == TOOL_THREADED || alg == TOOL_CORE_FREE;
}

/* Not within what is timed. */
static void have_thread(bool wanted)
{
    static bool there;

    if (wanted != there && tool_tutti_progress(wanted) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, TOOL_FAILED);
    there = wanted;
}

/* Work that a compiler cannot leave out, for so long. How much of it was done. */
static long work(double seconds)
{
    const double start = MPI_Wtime();
    volatile double sum = 0;
    long done = 0;

    for (; MPI_Wtime() - start < seconds; done++)
        for (int i = 0; i < 64; i++)
            sum = sum + i;
    return done;
}

/* As much as this rank does in so long with nothing under way; what disturbs it only makes it less. */
static long work_alone(double seconds)
{
    enum { TRIES = 3 };
    long most = 1;

    for (int i = 0; i < TRIES; i++) {
        const long done = work(seconds);

        most = done > most ? done : most;
    }
    return most;
}

/* Somebody else does it, and wakes this rank when it is done: how late that is counts. */
static void leave_core_alone(double seconds)
{
    prctl(PR_SET_TIMERSLACK, 1000); /* ns: the kernel's 50 us would be a short collective's time */
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)}, NULL);
}

static void work_meanwhile(struct tool_crew *b, const struct tool_order *o)
{
    if (o->alg == TOOL_CORE_FREE)
        leave_core_alone(o->compute);
    else
        b->worked += work(o->compute);
}

/* One call in the form that was asked for, started and ended as programs do. */
static void do_call(struct tool_crew *b, const struct tool_order *o, const struct tt_call *call,
                    MPI_Request *persistent)
{
    const bool below = o->alg == TOOL_BELOW;
    const struct tool_calls *way = &(below ? tool_calls_below : tool_calls)[o->coll];
    MPI_Request request, *waited = persistent;

    switch (b->manner.form) {
    case TOOL_BLOCKING:
        way->call(call);
        return;
    case TOOL_NONBLOCKING:
        way->start(call, &request);
        waited = &request;
        break;
    case TOOL_PERSISTENT:
        (below ? PMPI_Start : MPI_Start)(persistent);
        break;
    case TOOL_NFORMS:
        break;
    }
    if (o->compute > 0)
        work_meanwhile(b, o);
    (below ? PMPI_Wait : MPI_Wait)(waited, MPI_STATUS_IGNORE);
}

static void begin_persistent(const struct tool_crew *b, const struct tool_order *o, const struct tt_call *call,
                             MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    if (b->manner.form == TOOL_PERSISTENT)
        (o->alg == TOOL_BELOW ? tool_inits_below : tool_inits)[o->coll](call, request);
}

static void end_persistent(const struct tool_order *o, MPI_Request *request)
{
    if (*request != MPI_REQUEST_NULL)
        (o->alg == TOOL_BELOW ? PMPI_Request_free : MPI_Request_free)(request);
}

/* What reading the clock twice finds, with nothing between: the least of many. */
static double reading_takes(void)
{
    enum { TRIES = 1000 };
    double least = INFINITY;

    for (int i = 0; i < TRIES; i++) {
        const double start = MPI_Wtime(), seconds = MPI_Wtime() - start;

        least = seconds < least ? seconds : least;
    }
    return least;
}

/* Seconds, without that: it is a fifth of a short barrier. Never none at all, since rates are made of it. */
static double since(const struct tool_crew *b, double start)
{
    return fmax(MPI_Wtime() - start - b->reading, 1e-9);
}

/* Not on the same processor time as what is measured: the rank has arrived late, as after work of its own. */
static void come_late(struct tool_crew *b)
{
    const struct tool_manner *m = &b->manner;

    if (m->skew <= 0)
        return;
    if (m->late < 0)
        work(m->skew * (double)rand() / RAND_MAX);
    else if (m->late == b->rank)
        work(m->skew);
}

/* The clock starts behind the barrier, before those who are late have come: so they are waited for. */
static double time_call(struct tool_crew *b, const struct tool_order *o, const struct tt_call *call,
                        MPI_Request *persistent)
{
    double start;

    if (b->checked)
        tool_check_restore(&b->check);
    meet(b->control);
    start = MPI_Wtime();
    come_late(b);
    do_call(b, o, call, persistent);
    return since(b, start);
}

static void time_calls(struct tool_crew *b, const struct tool_order *o, double *times)
{
    const struct tt_call call = call_of(b, (enum tt_coll)o->coll, o->bytes);
    MPI_Request persistent;

    have_thread(o->alg == TOOL_THREADED || o->alg == TOOL_CORE_FREE);
    if (pin(b, o))
        tool_calls[o->coll].call(&call);
    if (b->checked)
        tool_check_spoil(&b->check);
    begin_persistent(b, o, &call, &persistent);
    b->worked = 0;
    for (int i = 0; i < o->calls; i++)
        times[i] = time_call(b, o, &call, &persistent);
    end_persistent(o, &persistent);
    if (o->compute > 0)
        b->kept =
            o->alg == TOOL_CORE_FREE ? 1 : (double)b->worked / ((double)o->calls * (double)work_alone(o->compute));
}

/* With what a form has to set up. A nonblocking one is preceded by a blocking one, for Tutti needs that once. */
static void time_first(struct tool_crew *b, const struct tool_order *o, double *times)
{
    const struct tt_call call = call_of(b, (enum tt_coll)o->coll, o->bytes);
    MPI_Request persistent;
    double start;

    have_thread(o->alg == TOOL_THREADED || o->alg == TOOL_CORE_FREE);
    pin(b, o);
    tool_check_spoil(&b->check);
    tool_check_restore(&b->check);
    meet(b->control);
    start = MPI_Wtime();
    if (b->manner.form == TOOL_NONBLOCKING)
        (o->alg == TOOL_BELOW ? tool_calls_below : tool_calls)[o->coll].call(&call);
    tool_check_restore(&b->check);
    begin_persistent(b, o, &call, &persistent);
    do_call(b, o, &call, &persistent);
    times[0] = since(b, start);
    end_persistent(o, &persistent);
}

/* ---- data that is checked ---- */

static void prepare(struct tool_crew *b, const struct tool_order *o, double *times)
{
    const enum tt_coll coll = (enum tt_coll)o->coll;
    const struct tool_part part = {coll,    b->manner.type, b->manner.op,     b->rank,
                                   b->size, b->manner.root, in_place(b, coll)};

    (void)times;
    if (b->checked && b->checked_coll != o->coll) {
        tool_check_close(&b->check);
        b->checked = false;
    }
    if (!b->checked && tool_check_open(&b->check, &part, &b->memory, b->send, b->recv)) {
        fprintf(stderr, "tutti bench: rank %d: out of memory\n", b->rank);
        MPI_Abort(MPI_COMM_WORLD, TOOL_FAILED);
    }
    b->checked = true;
    b->checked_coll = o->coll;
    tool_check_prepare(&b->check, o->bytes / unit_of(b, coll));
}

/* Each rank says itself where its result is wrong, the first few times. */
static int64_t count_wrong(struct tool_crew *b, const struct tool_order *o)
{
    static int said;
    const bool gives = o->what == TOOL_CALLS || o->what == TOOL_FIRST;
    const int64_t wrong = gives ? tool_check_count(&b->check) : 0;

    if (wrong && said++ < 3)
        fprintf(stderr, "tutti bench: rank %d: %s of %lld bytes by %s: %lld elements wrong, the first is number %lld\n",
                b->rank, tt_coll_name((enum tt_coll)o->coll), (long long)o->bytes,
                o->alg == TOOL_BELOW     ? "the MPI below"
                : tool_is_choice(o->alg) ? "what was chosen"
                                         : tt_algs[o->alg]->name,
                (long long)wrong, (long long)b->check.first);
    return wrong;
}

/* ---- buffers ---- */

/* Memory that nobody has written is, on Linux, one page of zeros that never leaves the cache: who reads much of it
 * would seem faster than he is. Any byte will do that makes a number of every type. */
static void *take_buffer(const struct tool_crew *b)
{
    enum { FILL = 0x3c };
    void *block = tool_memory_take(&b->memory, b->room);

    if (!block || tool_memory_set(&b->memory, block, FILL, b->room) == 0)
        return block;
    tool_memory_give(&b->memory, block);
    return NULL;
}

/* The new one first, so that its pages are others. */
static void renew_buffer(const struct tool_crew *b, char **buffer)
{
    char *fresh = take_buffer(b);

    if (!fresh)
        return;
    tool_memory_give(&b->memory, *buffer);
    *buffer = fresh;
}

static void renew(struct tool_crew *b, const struct tool_order *o, double *times)
{
    (void)o;
    (void)times;
    renew_buffer(b, &b->send);
    renew_buffer(b, &b->recv);
}

/* ---- links ---- */

static void send_to(struct tool_crew *b, int peer, int64_t bytes)
{
    MPI_Request request;

    MPI_Isend(b->send, (int)bytes, MPI_BYTE, peer, TAG, b->control, &request);
    wait_for(&request);
}

static void receive_from(struct tool_crew *b, int peer, int64_t bytes)
{
    MPI_Request request;

    MPI_Irecv(b->recv, (int)bytes, MPI_BYTE, peer, TAG, b->control, &request);
    wait_for(&request);
}

static void ping_pong(struct tool_crew *b, const struct tool_order *o, int peer)
{
    if (b->rank == o->a)
        send_to(b, peer, o->bytes);
    receive_from(b, peer, o->bytes);
    if (b->rank == o->b)
        send_to(b, peer, o->bytes);
}

static void exchange(struct tool_crew *b, const struct tool_order *o, int peer)
{
    MPI_Request requests[2];

    MPI_Irecv(b->recv, (int)o->bytes, MPI_BYTE, peer, TAG, b->control, &requests[0]);
    MPI_Isend(b->send, (int)o->bytes, MPI_BYTE, peer, TAG, b->control, &requests[1]);
    wait_for(&requests[0]);
    wait_for(&requests[1]);
}

/* A first one, whose buffers are new to the MPI, does not count. Times are the first rank's. */
static void time_link(struct tool_crew *b, const struct tool_order *o, double *times)
{
    const int peer = b->rank == o->a ? o->b : o->a;
    const bool both = o->what == TOOL_EXCHANGE;

    if (b->rank != o->a && b->rank != o->b)
        return;
    for (int i = -1; i < o->calls; i++) {
        const double start = MPI_Wtime();
        double seconds;

        (both ? exchange : ping_pong)(b, o, peer);
        seconds = since(b, start);
        if (i >= 0 && b->rank == o->a)
            times[i] = both ? seconds : seconds / 2;
    }
}

static void time_posts(struct tool_crew *b, const struct tool_order *o, double *times)
{
    MPI_Request requests[TOOL_MOST_CALLS];

    for (int i = 0; i < o->calls && b->rank == o->b; i++)
        MPI_Irecv(b->recv, (int)o->bytes, MPI_BYTE, o->a, TAG, b->control, &requests[i]);
    meet(b->control);
    for (int i = 0; i < o->calls && b->rank == o->a; i++) {
        times[i] = MPI_Wtime();
        MPI_Isend(b->send, (int)o->bytes, MPI_BYTE, o->b, TAG, b->control, &requests[i]);
        times[i] = since(b, times[i]);
    }
    for (int i = 0; i < o->calls && (b->rank == o->a || b->rank == o->b); i++)
        wait_for(&requests[i]);
}

/* ---- bare cores ---- */

static void time_flags(struct tool_crew *b, const struct tool_order *o, double *times)
{
    for (int i = 0; i < o->calls; i++) {
        double start;

        meet(b->control);
        start = MPI_Wtime();
        tool_bare_exchange(&b->bare);
        times[i] = since(b, start);
    }
}

static void time_copies(struct tool_crew *b, const struct tool_order *o, double *times)
{
    for (int i = 0; i < o->calls; i++) {
        double start;

        tool_bare_exchange(&b->bare);
        start = MPI_Wtime();
        tool_bare_copy(&b->bare);
        times[i] = since(b, start);
    }
}

/* ---- at each rank alone ---- */

static void time_alone(struct tool_crew *b, const struct tool_order *o, double *times)
{
    for (int i = -1; i < o->calls; i++) {
        const double start = MPI_Wtime();

        if (o->what == TOOL_REDUCE)
            MPI_Reduce_local(b->send, b->recv, (int)(o->bytes / 4), MPI_FLOAT, MPI_SUM);
        else
            tool_memory_copy(&b->memory, b->recv, b->send, (size_t)o->bytes);
        if (i >= 0)
            times[i] = since(b, start);
    }
}

/* ---- orders ---- */

static void carry_out(struct tool_crew *b, const struct tool_order *o, double *times)
{
    static void (*const how[])(struct tool_crew *, const struct tool_order *, double *) = {
        [TOOL_CALLS] = time_calls, [TOOL_FIRST] = time_first,    [TOOL_PREPARE] = prepare,
        [TOOL_RENEW] = renew,      [TOOL_PING_PONG] = time_link, [TOOL_EXCHANGE] = time_link,
        [TOOL_POST] = time_posts,  [TOOL_REDUCE] = time_alone,   [TOOL_COPY] = time_alone,
        [TOOL_FLAGS] = time_flags, [TOOL_COPIES] = time_copies};

    memset(times, 0, (size_t)o->calls * sizeof *times);
    how[o->what](b, o, times);
}

static void tell(struct tool_crew *b, struct tool_order *order)
{
    MPI_Request request;

    PMPI_Ibcast(order, sizeof *order, MPI_BYTE, 0, b->control, &request);
    wait_for(&request);
}

static void reduce(struct tool_crew *b, const double *ours, double *all, int n, MPI_Op op)
{
    MPI_Request request;

    PMPI_Ireduce(ours, all, n, MPI_DOUBLE, op, 0, b->control, &request);
    wait_for(&request);
}

static void gather_checked(struct tool_crew *b, const struct tool_order *o, const double *times)
{
    double mean = 0, sums[3], extremes[2], wrong = (double)count_wrong(b, o);

    for (int i = 0; i < o->calls; i++)
        mean += times[i] / o->calls;
    reduce(b, (double[3]){mean, wrong, b->kept}, sums, 3, MPI_SUM);
    reduce(b, (double[2]){mean, -mean}, extremes, 2, MPI_MAX);
    if (b->rank == 0) {
        b->last.mean = sums[0] / b->size;
        b->last.wrong = (int64_t)sums[1];
        b->last.kept = sums[2] / b->size;
        b->last.mean_most = extremes[0];
        b->last.mean_least = -extremes[1];
    }
}

/* Of each call, the slowest rank's. */
static void gather(struct tool_crew *b, const struct tool_order *o, const double *times)
{
    reduce(b, times, b->last.slowest, o->calls, MPI_MAX);
    b->last.n = o->calls;
    if (b->checked && o->calls > 0)
        gather_checked(b, o, times);
}

void tool_crew_serve(struct tool_crew *b)
{
    double times[TOOL_MOST_CALLS];
    struct tool_order order;

    for (tell(b, &order); order.what != TOOL_END; tell(b, &order)) {
        carry_out(b, &order, times);
        gather(b, &order, times);
    }
}

static volatile sig_atomic_t asked_to_end;

double tool_crew_do(struct tool_crew *b, struct tool_order order)
{
    double times[TOOL_MOST_CALLS], sorted[TOOL_MOST_CALLS];

    if (asked_to_end && order.what != TOOL_END)
        return -1;
    order.calls = order.calls > TOOL_MOST_CALLS ? TOOL_MOST_CALLS : order.calls;
    tell(b, &order);
    if (order.what == TOOL_END)
        return 0;
    carry_out(b, &order, times);
    gather(b, &order, times);
    memcpy(sorted, b->last.slowest, sizeof sorted);
    return asked_to_end ? -1 : tt_figure_of(sorted, order.calls).seconds;
}

/* ---- as struct tt_bench ---- */

static int place_of(const struct tt_alg *alg)
{
    for (int i = 0; tt_algs[i]; i++)
        if (tt_algs[i] == alg)
            return i;
    return -1;
}

/* A pin that cannot be followed is passed over. */
static bool is_what_ran(const struct tt_candidate *c, enum tt_coll coll)
{
    const char *choice = c->alg && !c->below ? tool_tutti_choice(MPI_COMM_WORLD, tt_coll_name(coll)) : NULL;
    const size_t length = choice ? strcspn(choice, " ") : 0;

    return !choice || (strlen(c->alg->name) == length && memcmp(choice, c->alg->name, length) == 0);
}

static double measure(struct tt_bench *bench, const struct tt_point *point, const struct tt_candidate *c, int n)
{
    const double seconds =
        tool_crew_do((struct tool_crew *)bench, (struct tool_order){.what = TOOL_CALLS,
                                                                    .coll = (int32_t)point->coll,
                                                                    .alg = c->below ? TOOL_BELOW : place_of(c->alg),
                                                                    .calls = n,
                                                                    .bytes = point->bytes,
                                                                    .segment = c->segment});

    return seconds < 0 || is_what_ran(c, point->coll) ? seconds : INFINITY;
}

static bool renew_all(struct tt_bench *bench)
{
    return tool_crew_do((struct tool_crew *)bench, (struct tool_order){.what = TOOL_RENEW}) >= 0;
}

static double now(struct tt_bench *bench)
{
    return MPI_Wtime() - ((struct tool_crew *)bench)->began;
}

/* ---- opening ---- */

enum tool_where tool_crew_where(void)
{
    const int there = tool_tutti_is_on() && tt_driver_look().devices > 0;
    int all;

    PMPI_Allreduce(&there, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all ? TOOL_DEVICE : TOOL_HOST;
}

/* Before anything is taken: systems promise more memory than they have, and end who believes them. Beside the two
 * buffers a call needs about as much as one of them: what algorithms fold in, or the MPI's copies. */
static int look_for_room(const struct tool_crew *b, char *why, size_t size)
{
    const int sharing =
        b->memory.device ? (b->on_node - b->memory.gpu + b->memory.gpus - 1) / b->memory.gpus : b->on_node;
    const size_t left = tool_memory_left(&b->memory), each = 3 * b->room;
    char wanted[32], there[32], best[32];

    if (each / 3 == b->room && each <= left / (size_t)sharing)
        return 0;
    snprintf(
        why, size,
        "buffers of %s in %s do not fit: with what a call needs beside its two, %d rank%s here would take three times "
        "that each, and %s are free: up to %s a buffer would do",
        tt_size_print(wanted, sizeof wanted, (int64_t)b->room), b->memory.words, sharing, sharing == 1 ? "" : "s",
        tt_size_print(there, sizeof there, (int64_t)left),
        tt_size_print(best, sizeof best, (int64_t)(left / (size_t)sharing / 3)));
    return -1;
}

static int take_memory(struct tool_crew *b, char *why, size_t size)
{
    b->counts = malloc(2 * (size_t)b->size * sizeof *b->counts);
    b->displs = b->counts + b->size;
    b->types = malloc((size_t)b->size * sizeof *b->types);
    b->send = take_buffer(b);
    b->recv = take_buffer(b);
    if (b->counts && b->types && b->send && b->recv)
        return 0;
    snprintf(why, size, "no two buffers of %zu bytes in %s", b->room, b->memory.words);
    return -1;
}

static void remember_pins(struct tool_crew *b)
{
    char name[64];

    for (int c = 0; c < TT_NCOLLS; c++) {
        const char *pin = getenv(tt_config_pin_name((enum tt_coll)c, name, sizeof name));

        b->before[c] = pin ? strdup(pin) : NULL;
    }
}

int tool_crew_open(struct tool_crew *b, enum tool_where where, size_t room, char *why, size_t size)
{
    int good, all, leader;

    *b = (struct tool_crew){.is = {.measure = measure, .now = now, .renew = renew_all},
                            .bare = {.window = MPI_WIN_NULL},
                            .room = room,
                            .pinned = -1};
    MPI_Comm_rank(MPI_COMM_WORLD, &b->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b->size);
    settle(b);
    good = tool_memory_open(&b->memory, where, tool_turn_on_node(b->rank, &leader), why, size) == 0 &&
           look_for_room(b, why, size) == 0;
    PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    good = all && take_memory(b, why, size) == 0;
    PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    PMPI_Comm_dup(MPI_COMM_WORLD, &b->control);
    remember_pins(b);
    b->reading = reading_takes();
    b->began = MPI_Wtime();
    return all ? 0 : -1;
}

int tool_crew_open_bare(struct tool_crew *b, char *why, size_t size)
{
    if (b->on_node < b->size)
        snprintf(why, size, "--bare: it is what cores of one node do, and the %d ranks are on several", b->size);
    else if (tool_bare_open(&b->bare, b->control, patience))
        snprintf(why, size, "--bare: there is no memory for two buffers of %d MiB a rank", TOOL_BARE_BYTES >> 20);
    else
        return 0;
    return -1;
}

void tool_crew_close(struct tool_crew *b)
{
    tool_bare_close(&b->bare);
    if (b->pinned >= 0)
        set(b, (enum tt_coll)b->pinned, NULL);
    tool_memory_give(&b->memory, b->send);
    tool_memory_give(&b->memory, b->recv);
    free(b->counts);
    free(b->types);
    for (int c = 0; c < TT_NCOLLS; c++)
        free(b->before[c]);
    if (b->checked)
        tool_check_close(&b->check);
    PMPI_Comm_free(&b->control);
}

/* Launchers hand a signal on to all ranks, and the others must live until rank 0 has told them of the end. */
static void note(int signal_number)
{
    (void)signal_number;
    asked_to_end = 1;
}

void tool_crew_catch_signals(void)
{
    const struct sigaction once = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};

    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
}
