/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners, and telling them. */
#include "coll/watch.h"

#include <pthread.h>

#include "coll/caller.h"
#include "coll/hash.h"
#include "coll/world.h"

static const struct tt_listener *const all[] = {
#define TT_LISTENER(id) &tt_listen_##id,
#include "coll/watch.def"
#undef TT_LISTENER
};

int tt_listening;
atomic_uint tt_beats;
atomic_int tt_setups;
__thread uint64_t tt_setup_spent;
__thread int tt_setup_depth;
static const struct tt_listener *listening[TT_NLISTENERS];

/* In MPI_Init and MPI_Finalize, when no other thread calls. */
void tt_watch_open(void)
{
    int n = 0;

    tt_caller_open();
    for (int i = 0; i < TT_NLISTENERS; i++)
        if (all[i]->open())
            listening[n++] = all[i];
    tt_listening = n;
}

#define TELL(what, ...)                                                                                                \
    do {                                                                                                               \
        for (int i = 0; i < tt_listening; i++)                                                                         \
            if (listening[i]->what)                                                                                    \
                listening[i]->what(__VA_ARGS__);                                                                       \
    } while (0)

void tt_watch_close(void)
{
    TELL(close);
}

void tt_watch_end(void)
{
    TELL(end);
    tt_listening = 0;
}

unsigned tt_thread_number(void)
{
    static atomic_uint threads;
    static __thread unsigned number; /* from 1 */

    if (!number)
        number = atomic_fetch_add(&threads, 1) + 1;
    return number - 1;
}

/* ---- communicators ---- */

enum { MOST_GROUPS = 256 };

/* How many communicators of a group there have been, this one included. Beyond so many groups nobody counts: 0. */
static uint64_t count_made(uint64_t group)
{
    static struct {
        uint64_t group, made;
    } counts[MOST_GROUPS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t made = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_GROUPS && !made; i++)
        if (!counts[i].made || counts[i].group == group) {
            counts[i].group = group;
            made = ++counts[i].made;
        }
    pthread_mutex_unlock(&lock);
    return made;
}

/* Of the ranks of a group in MPI_COMM_WORLD. 0: some are from elsewhere. Frees it. */
static uint64_t hash_group(MPI_Group group)
{
    MPI_Group world;
    uint64_t h = TT_HASH_OF_NOTHING;
    int size;

    PMPI_Group_size(group, &size);
    PMPI_Comm_group(tt_world(), &world);
    for (int i = 0; i < size && h; i++) {
        int there;

        PMPI_Group_translate_ranks(group, 1, &i, world, &there);
        h = there == MPI_UNDEFINED ? 0 : tt_hash(h, &there, sizeof there);
    }
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return h;
}

/* Of an intercommunicator, of both groups, in an order that both know. */
static uint64_t hash_comm(struct tt_comm *c, MPI_Comm comm)
{
    MPI_Group group;
    uint64_t ours, theirs;

    PMPI_Comm_group(comm, &group);
    ours = hash_group(group);
    if (!c->inter)
        return ours;
    PMPI_Comm_remote_group(comm, &group);
    theirs = hash_group(group);
    c->second = ours > theirs;
    return !ours || !theirs ? 0
           : c->second      ? tt_hash(theirs, &ours, sizeof ours)
                            : tt_hash(ours, &theirs, sizeof theirs);
}

/* All ranks of a group make its communicators in the same order: so they know which one it is without having agreed on
 * a number, which they do only in its first call, where they may hang. late: in that order not as it was made, but as it
 * was used first. */
static void mark(struct tt_comm *c, MPI_Comm comm, bool late)
{
    const uint64_t ranks = c->inter || c->size > 1 ? hash_comm(c, comm) : 0, group = ranks ? ranks ^ late : 0;
    const uint64_t made = group ? count_made(group) : 0;

    c->mark = made ? tt_hash(group, &made, sizeof made) | 1 : 0;
}

void tt_watch_made(MPI_Comm comm)
{
    struct tt_comm *c;

    if (!tt_listening || comm == MPI_COMM_NULL || tt_comm_of(comm, TT_KNOWN, &c) != MPI_SUCCESS)
        return;
    mark(c, comm, false);
    TELL(made, c, comm);
}

void tt_watch_named(MPI_Comm comm)
{
    const struct tt_comm *c = tt_listening && comm != MPI_COMM_NULL ? tt_comm_known(comm) : NULL;

    if (c)
        TELL(named, c, comm);
}

/* ---- collectives ---- */

struct tt_event *tt_event_enter(struct tt_event *e, const struct tt_call *c, enum tt_flavour flavour)
{
    *e = (struct tt_event){.call = c,
                           .caller = tt_caller_of(c->caller),
                           .flavour = flavour,
                           .entered = tt_ticks(),
                           .setup = tt_setup_spent,
                           .beat = tt_beats};
    if (c->comm == MPI_COMM_NULL || tt_comm_of(c->comm, TT_KNOWN, &e->comm) != MPI_SUCCESS)
        e->comm = NULL;
    else
        e->number = e->comm->calls++;
    if (e->comm && e->number == 0 && !e->comm->mark && !e->comm->id) /* of MPI_Comm_idup, or of a session */
        mark(e->comm, c->comm, true);
    TELL(enter, e);
    return e;
}

void tt_event_begin(struct tt_event *e, const struct tt_alg *alg, const struct tt_job *job)
{
    e->begun = tt_ticks();
    e->setup = tt_setup_spent - e->setup;
    e->alg = alg;
    e->job = job;
    TELL(begin, e);
    e->job = NULL;
}

void tt_event_move(struct tt_event *e, uint64_t moved)
{
    e->moved = moved;
    TELL(move, e);
}

void tt_event_beat(struct tt_event *e, const struct tt_task *task)
{
    e->beat = tt_beats;
    TELL(beat, e, task);
}

void tt_event_leave(struct tt_event *e, int error, const struct tt_task *task)
{
    e->left = tt_ticks();
    e->error = error;
    if (error != MPI_SUCCESS && task && task->why[0]) {
        e->why = task->why;
        e->own_fault = !task->posted || !task->req.told;
    }
    TELL(leave, e);
}

/* ---- other calls ---- */

void tt_spot_enter(struct tt_spot *s)
{
    s->entered = tt_ticks();
    s->caller = tt_caller_of(s->caller);
    TELL(enter_spot, s);
}

void tt_spot_leave(const struct tt_spot *s)
{
    TELL(leave_spot, s);
}

void tt_spot_ask(struct tt_spot *s)
{
    s->entered = tt_ticks();
    s->caller = tt_caller_of(s->caller);
    TELL(ask, s);
}

void tt_spot_renew(const struct tt_spot *s)
{
    TELL(renew_spot, s);
}
