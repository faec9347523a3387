/* SPDX-License-Identifier: BSD-3-Clause */
/* A wait has up to three stages: polling without a pause, which notices at once; yielding the core before each poll, so
 * that a rank which shares it can send what this one waits for; and, after so long a wait that it makes no difference,
 * sleeps, so that a rank far ahead of the others does not burn a core. Who is of this node and sends ends them
 * (node_park.h). They are bounded all the same, since what is waited for may come from the MPI below, or a GPU, which
 * wake nobody: short at first, and then longer, as far as they make no difference to how long it has taken, and only
 * while the MPI below has nothing to do when it is asked.
 *
 * Where ranks of a node share memory, their messages do not pass through the MPI below, which moves on only what it is
 * called about: so it is called now and then. And a rank that was killed raises no flag: after long waits it is looked
 * whether all are alive. */
#include "coll/pause.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "coll/config.h"
#include "coll/node.h"
#include "coll/progress.h"
#include "coll/ticks.h"
#include "coll/world.h"

enum {
    SPINS = 1000,     /* polls before the first yield */
    GLANCES = 250,    /* which have a breath between them: some microseconds where the processor has one */
    PATIENCE_MS = 10, /* before the first sleep */
    VAIN_MS = 100,    /* from one look after ranks to the next, of who tests */
    SLEEP_NS = 50000, /* and the kernel takes as much again; */
    MOST_SLEEP_NS = 1000000,
    SHARE = 32,          /* what part of the time so far a sleep may be */
    MOVES_NS = 4000,     /* a call of the MPI below that takes longer has moved something */
    POLLS_PER_CALL = 128 /* of the MPI below, and look at the clock */
};

/* The words of TUTTI_WAIT. */
enum { AUTO, SPIN, YIELD };

static unsigned spins = SPINS;
static atomic_int waiting; /* threads, for the thread of progress to know; where it does not run nobody asks */

void tt_wait_open(bool crowded)
{
    if (tt_config.wait == YIELD || (tt_config.wait == AUTO && crowded))
        spins = 0; /* who waits must let others run at once */
}

/* How far a wait has come. */
struct wait {
    unsigned polls;
    int64_t start, since; /* milliseconds; 0: nobody has looked; since then, or since when ranks were looked after */
    bool is_long;
    int64_t nap; /* how long the next sleep is to be, in nanoseconds */
};

static int64_t milliseconds(void)
{
    return tt_nanoseconds(CLOCK_MONOTONIC_COARSE) / 1000000;
}

/* A yield may take as long as others run, so that it is time that tells, and not how often. */
static void look_at_clock(struct wait *w)
{
    const int64_t now = milliseconds();

    if (w->since == 0)
        w->start = w->since = now;
    w->is_long |= now - w->since >= PATIENCE_MS;
    if (!w->is_long || now - w->since < PATIENCE_MS)
        return;
    w->since = now;
    tt_node_look_after();
}

static bool sleeps(const struct wait *w)
{
    return w->is_long && tt_config.wait != SPIN;
}

/* Counted over all waits: a program whose waits are short has messages of its own under way, too. */
static bool is_time(void)
{
    static _Thread_local unsigned polls;

    return ++polls % POLLS_PER_CALL == 0;
}

/* The MPI below is asked for what there is not, since it may not move on when it has found something; and of others,
 * since MPICH 4.0 does not when it is asked of this rank alone. */
static void call_mpi(void)
{
    enum { NOBODYS = 32767 - 18 }; /* a tag, below what all MPIs allow */
    MPI_Status status;
    int flag;

    PMPI_Iprobe(MPI_ANY_SOURCE, NOBODYS, tt_world(), &flag, &status);
}

/* Who is in the middle of a message of many steps is not to wait for each of them. */
static void ask_mpi(struct wait *w)
{
    const int64_t start = w->is_long ? tt_nanoseconds(CLOCK_MONOTONIC) : 0;

    call_mpi();
    if (w->is_long && tt_nanoseconds(CLOCK_MONOTONIC) - start > MOVES_NS)
        w->nap = SLEEP_NS;
}

static bool nap(struct wait *w, bool (*done)(void *), void *what)
{
    const int64_t fair = (w->since - w->start) * (1000000 / SHARE);
    const bool over = tt_node_sleep(done, what, w->nap);

    if (tt_node_wakes() && 2 * w->nap <= MOST_SLEEP_NS && 2 * w->nap <= fair)
        w->nap *= 2;
    return over;
}

/* Between two polls. True: it is done. */
static bool pause_in(struct wait *w, bool (*done)(void *), void *what)
{
    if (is_time() || sleeps(w)) { /* before each sleep: another's call may take many steps of this rank's MPI */
        ask_mpi(w);
        look_at_clock(w);
    }
    if (tt_config.wait == SPIN || w->polls++ < spins)
        return false;
    if (sleeps(w))
        return nap(w, done, what);
    sched_yield();
    return false;
}

unsigned tt_wait_glances(void)
{
    return spins ? GLANCES : 0;
}

void tt_wait_in_passing(void)
{
    if (is_time())
        call_mpi();
}

void tt_wait_in_vain(void)
{
    static _Thread_local unsigned asked;
    static _Thread_local int64_t since;
    const int64_t now = ++asked % POLLS_PER_CALL == 0 ? milliseconds() : since;

    if (now - since < VAIN_MS)
        return;
    since = now;
    tt_node_look_after();
}

void tt_wait(bool (*done)(void *), void *what)
{
    const bool counts = tt_progress_thread_runs();
    struct wait w = {.nap = SLEEP_NS};

    if (counts) {
        atomic_fetch_add(&waiting, 1);
        tt_progress_thread_note_wait();
    }
    while (!pause_in(&w, done, what) && !done(what))
        ;
    if (!counts)
        return;
    atomic_fetch_sub(&waiting, 1);
    tt_progress_thread_call();
}

bool tt_is_waiting(void)
{
    return atomic_load_explicit(&waiting, memory_order_relaxed) > 0;
}
