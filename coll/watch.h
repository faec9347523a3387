/* SPDX-License-Identifier: BSD-3-Clause */
/* Listening to what a rank calls: one place from which the recorder and all others who want to know are told when a
 * collective is entered, begins, moves and is left, and in which other calls of MPI the rank may be waiting. Who
 * listens is settled in MPI_Init; where nobody does, a call pays one branch that is never taken. */
#ifndef TT_WATCH_H
#define TT_WATCH_H

#include <stdatomic.h>

#include "coll/begin.h"
#include "coll/error.h"
#include "coll/ticks.h"

enum tt_listener_id {
#define TT_LISTENER(id) TT_LISTENER_##id,
#include "coll/watch.def"
#undef TT_LISTENER
    TT_NLISTENERS
};

/* A collective under way on this rank: of a blocking call it lies on the stack, so that nobody may keep its address
 * beyond `leave`; a user's error handler may also never come back, then `leave` has been told before. */
struct tt_event {
    const struct tt_call *call;
    const void *caller; /* in the program */
    enum tt_flavour flavour;
    struct tt_comm *comm;     /* NULL: not known */
    uint64_t number;          /* of the collectives on comm, from 0 up: the same on all ranks that meet in this one */
    uint64_t entered;         /* tt_ticks(): by the program; */
    uint64_t begun;           /* after what precedes the first message: making communicators, plans, agreement; */
    uint64_t moved;           /* when something of another rank's had come, noticed only by those who had to wait; */
    uint64_t left;            /* and when it was over here. 0: not yet */
    const struct tt_alg *alg; /* from `begin` on. NULL: it was refused */
    const struct tt_job *job; /* in `begin`: how many bytes, and where; its blocks may be gone. NULL: it was refused */
    uint64_t setup;           /* ticks of it that went into set-up; right from `begin` on */
    unsigned beat;            /* the last that it has heard of */
    bool handed;              /* a nonblocking one that the MPI below has: nobody hears of its end */
    int error;                /* in `leave`: MPI's, or TT_TASK_FAILED; */
    const char *why;          /* in words, where Tutti has some; */
    bool own_fault;           /* and did this rank fail by itself, not only because another did? */
    void *of[TT_NLISTENERS];  /* each listener's own */
};

/* What a request that is waited for is of. */
struct tt_awaited {
    const char *kind; /* of a message: "recv", as in MPI_Irecv; else NULL */
    MPI_Comm comm;
    int peer, tag;
    void *line; /* of a collective: the recorder's own of it; else NULL */
};

/* Another call of MPI in which a rank may wait. */
struct tt_spot {
    const char *name; /* "Recv", as in MPI_Recv */
    MPI_Comm comm;    /* or MPI_COMM_NULL */
    int peer, tag;    /* or TT_NOBODY, TT_SOMEBODY */
    const void *caller;
    uint64_t entered; /* tt_ticks() */
    struct tt_awaited awaited; /* of a wait for requests: the first that was not over as it began, */
    int more;                  /* and how many others there are */
    unsigned beat;             /* when that was looked at */
};
enum { TT_NOBODY = -32000, TT_SOMEBODY = -32001 }; /* nobody in particular; somebody, but MPI does not say whom */
#define TT_PROBE "probe"                           /* awaited.kind: a message that is looked for, again and again */

/* NULL for what is of no interest. */
struct tt_listener {
    bool (*open)(void);  /* in MPI_Init, on all ranks: does it want to listen? */
    void (*close)(void); /* in MPI_Finalize, on all ranks, while MPI still works */
    void (*end)(void);   /* after it */
    void (*made)(struct tt_comm *c, MPI_Comm comm);
    void (*named)(const struct tt_comm *c, MPI_Comm comm); /* it has got another name */
    void (*enter)(struct tt_event *e);
    void (*begin)(struct tt_event *e);
    void (*move)(struct tt_event *e);
    void (*beat)(struct tt_event *e, const struct tt_task *task); /* it still waits, when tt_beats has gone on */
    void (*leave)(struct tt_event *e);
    void (*enter_spot)(const struct tt_spot *s);
    void (*renew_spot)(const struct tt_spot *s); /* what it waits for is another by now */
    void (*leave_spot)(const struct tt_spot *s);
    void (*ask)(const struct tt_spot *s); /* a test of requests, or a look for a message, was in vain: now */
};
#define TT_LISTENER(id) extern const struct tt_listener tt_listen_##id;
#include "coll/watch.def"
#undef TT_LISTENER

/* How many listen. */
extern int tt_listening;

/* Goes on when those that wait are to look how long they have (watchdog.c). */
extern atomic_uint tt_beats;

/* A small number for this thread, from 0 up. */
unsigned tt_thread_number(void);

/* ---- set-up: what is made once, before a call can be one ---- */

enum tt_setup {
    TT_SETUP_SHARED, /* private communicators, where ranks are, plans: some of it may wait for other ranks */
    TT_SETUP_DEVICE  /* CUDA and NCCL, which may take seconds, whatever other ranks do */
};

extern __thread uint64_t tt_setup_spent; /* ticks, by this thread */
extern __thread int tt_setup_depth;
extern atomic_int tt_setups; /* of devices, under way in this process */

static inline uint64_t tt_setup_begin(enum tt_setup kind)
{
    if (kind == TT_SETUP_DEVICE)
        atomic_fetch_add(&tt_setups, 1);
    return tt_setup_depth++ ? 0 : tt_ticks();
}

/* One within another counts once. */
static inline void tt_setup_end(enum tt_setup kind, uint64_t begun)
{
    if (--tt_setup_depth == 0)
        tt_setup_spent += tt_ticks() - begun;
    if (kind == TT_SETUP_DEVICE)
        atomic_fetch_sub(&tt_setups, 1);
}

void tt_watch_open(void);
void tt_watch_close(void);
void tt_watch_end(void);

/* ---- for those who carry calls out ---- */

struct tt_event *tt_event_enter(struct tt_event *e, const struct tt_call *c, enum tt_flavour flavour);
void tt_event_begin(struct tt_event *e, const struct tt_alg *alg, const struct tt_job *job);
void tt_event_move(struct tt_event *e, uint64_t moved);
void tt_event_beat(struct tt_event *e, const struct tt_task *task);
void tt_event_leave(struct tt_event *e, int error, const struct tt_task *task);

/* e, or NULL where nobody listens; the others take NULL. */
static inline struct tt_event *tt_watch_enter(struct tt_event *e, const struct tt_call *c, enum tt_flavour flavour)
{
    return __builtin_expect(tt_listening, 0) ? tt_event_enter(e, c, flavour) : NULL;
}

/* After tt_begin. */
static inline void tt_watch_begin(struct tt_event *e, const struct tt_task *task)
{
    if (e)
        tt_event_begin(e, task->alg, task->job);
}

/* After a poll in vain. */
static inline void tt_watch_poll(struct tt_event *e, const struct tt_task *task)
{
    if (!e)
        return;
    if (!e->moved && tt_task_has_moved(task))
        tt_event_move(e, tt_ticks());
    if (e->beat != atomic_load_explicit(&tt_beats, memory_order_relaxed))
        tt_event_beat(e, task);
}

/* Told once: what comes later is not heard. task: has why it failed, or NULL. */
static inline void tt_watch_leave(struct tt_event *e, int error, const struct tt_task *task)
{
    if (e && !e->left)
        tt_event_leave(e, error, task);
}

/* The MPI below has a nonblocking call as it stands. */
static inline void tt_watch_hand_over(struct tt_event *e, int error)
{
    if (e)
        e->handed = true;
    tt_watch_leave(e, error, NULL);
}

/* A constructor of communicators has returned this one. */
void tt_watch_made(MPI_Comm comm);
void tt_watch_named(MPI_Comm comm);

void tt_spot_enter(struct tt_spot *s);
void tt_spot_leave(const struct tt_spot *s);
void tt_spot_ask(struct tt_spot *s);
void tt_spot_renew(const struct tt_spot *s);

/* Around a call of the program's, not of Tutti's own. Returns s, or NULL where nobody listens, which unwatch takes. */
static inline struct tt_spot *tt_watch_spot(struct tt_spot *s, const char *name, MPI_Comm comm, int peer, int tag,
                                            const void *caller)
{
    if (__builtin_expect(!tt_listening, 1) || tt_inside)
        return NULL;
    *s = (struct tt_spot){.name = name, .comm = comm, .peer = peer, .tag = tag, .caller = caller};
    tt_spot_enter(s);
    return s;
}

/* A look for a message was in vain. */
static inline void tt_watch_look(MPI_Comm comm, int peer, int tag, const void *caller)
{
    if (__builtin_expect(!tt_listening, 1) || tt_inside)
        return;
    tt_spot_ask(&(struct tt_spot){.name = "Iprobe",
                                  .comm = comm,
                                  .peer = peer,
                                  .tag = tag,
                                  .caller = caller,
                                  .awaited = {.kind = TT_PROBE, .comm = comm, .peer = peer, .tag = tag}});
}

static inline void tt_unwatch_spot(const struct tt_spot *s)
{
    if (s)
        tt_spot_leave(s);
}

/* The same for a wrapper that is one expression: of a call that waits for nobody in particular. */
#define TT_WATCHED(name, call) TT_WATCHED_WITH(name, MPI_COMM_NULL, TT_NOBODY, TT_NOBODY, call)
#define TT_WATCHED_WITH(name, comm, peer, tag, call)                                                                   \
    struct tt_spot room, *spot = tt_watch_spot(&room, name, comm, peer, tag, __builtin_return_address(0));             \
    const int error = call;                                                                                            \
                                                                                                                       \
    tt_unwatch_spot(spot);                                                                                             \
    return error

#endif
