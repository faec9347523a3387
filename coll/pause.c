/* SPDX-License-Identifier: BSD-3-Clause */
/* A wait has up to three stages: polling without a pause, which notices at once; yielding the core before each poll, so that
 * a rank which shares it can send what this one waits for; and, after so long a wait that it makes no difference, short
 * sleeps, so that a rank far ahead of the others does not burn a core. Sleeps are bounded, not ended by whoever sends: what
 * is waited for may come from the MPI below, or a GPU, which wake nobody.
 *
 * Where ranks of a node share memory, their messages do not pass through the MPI below, which moves on only what it is
 * called about: so it is called now and then. And a rank that was killed raises no flag: after long waits it is looked
 * whether all are alive. */
#include "coll/pause.h"

#include <mpi.h>
#include <sched.h>
#include <time.h>

#include "coll/config.h"
#include "coll/node.h"
#include "coll/types.h"

enum {
    SPINS = 1000,         /* polls before the first yield */
    YIELDS = 20000,       /* before the first sleep: some milliseconds, more where others run meanwhile */
    SLEEP_NS = 50000,     /* and the kernel takes as much again */
    POLLS_PER_CALL = 128, /* of the MPI below */
    SLEEPS_PER_LOOK = 100,
    SPINS_PER_LOOK = 1 << 20
};

/* The words of TUTTI_WAIT. */
enum { AUTO, SPIN, YIELD };

static unsigned spins = SPINS;

void tt_wait_open(bool crowded)
{
    if (tt_config.wait == YIELD || (tt_config.wait == AUTO && crowded))
        spins = 0; /* who waits must let others run at once */
}

static void call_mpi(void)
{
    static _Thread_local unsigned polls;
    MPI_Status status;
    int flag;

    if (++polls % POLLS_PER_CALL == 0)
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, tt_quiet_self(), &flag, &status);
}

static void rest(unsigned polls)
{
    if (polls - spins < YIELDS) {
        sched_yield();
        return;
    }
    nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    if (polls % SLEEPS_PER_LOOK == 0)
        tt_node_look_after();
}

static void pause_after(unsigned polls)
{
    call_mpi();
    if (tt_config.wait != SPIN && polls >= spins)
        rest(polls);
    else if (polls % SPINS_PER_LOOK == SPINS_PER_LOOK - 1)
        tt_node_look_after();
}

void tt_wait(bool (*done)(void *), void *what)
{
    for (unsigned polls = 0;; polls++) {
        pause_after(polls);
        if (done(what))
            return;
    }
}
