/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners, and telling them. */
#include "coll/watch.h"

#include "coll/caller.h"

static const struct tt_listener *const all[] = {
#define TT_LISTENER(id) &tt_listen_##id,
#include "coll/watch.def"
#undef TT_LISTENER
};

int tt_listening;
atomic_uint tt_beats;
atomic_int tt_setups;
__thread uint64_t tt_setup_spent;
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
    TELL(enter, e);
    return e;
}

void tt_event_begin(struct tt_event *e, const struct tt_task *task)
{
    e->begun = tt_ticks();
    e->setup = tt_setup_spent - e->setup;
    e->alg = task->alg;
    e->job = task->job;
    TELL(begin, e);
    e->job = NULL;
}

void tt_event_move(struct tt_event *e)
{
    e->moved = tt_ticks();
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
