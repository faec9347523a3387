/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives in the order of a CUDA stream: tutti_<collective>_enqueue. The call leaves an event and a gate in the
 * stream and returns. When the event has been reached, the progress thread starts a nonblocking collective, as the
 * program could have; when that is over, it opens the gate, and the stream goes on. So the collective itself is served
 * by the same algorithms, staging and checks as any other. It costs a nap of the progress thread's, some 20 us. Where
 * the driver has no gates (gates.h), a host function waits in their place, and while it does, CUDA's thread for those:
 * host functions of other streams may have to wait, too.
 *
 * All that the thread starts begins in the order in which it was enqueued, in all streams: so ranks that enqueue in one
 * order start in one order. A call that is NCCL's is none of that (enqueue_nccl.c), but for this: it waits for what was
 * enqueued before it on its communicator. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/comm.h"
#include "coll/config.h"
#include "coll/enqueue.h"
#include "coll/error.h"
#include "coll/init.h"
#include "coll/job.h"
#include "coll/progress.h"
#include "coll/request.h"
#include "coll/tutti.h"
#include "coll/wrap.h"
#include "cuda/dev.h"
#include "cuda/driver.h"
#include "cuda/gates.h"

struct queued {
    struct queued *next, *later; /* later: enqueued after it, whether begun or not */
    struct tt_call call;
    struct tt_comm *comm;
    void *arrays; /* copies of those that the call points to */
    CUstream stream;
    CUcontext context;       /* of the stream */
    CUevent reached, passed; /* passed: behind it; NULL where no call of NCCL's may have to follow it */
    MPI_Request request;
    bool has_gate;
    struct tt_gate gate; /* or else: */
    atomic_bool over;
    atomic_int holders; /* the queue; and the host function, if there is one */
};

static struct {
    pthread_mutex_t lock; /* of what is enqueued; what has been started is the poller's alone */
    struct queued *first, **last, *started, *alive;
    bool is_polled;
    int error; /* the first that nobody has been told of */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first, .error = MPI_SUCCESS};

/* ---- what is enqueued ---- */

static void release(struct queued *q)
{
    if (atomic_fetch_sub(&q->holders, 1) > 1)
        return;
    free(q->arrays);
    free(q);
}

/* In the stream's order, by a thread of CUDA's. */
static void wait_in_stream(void *data)
{
    struct queued *q = data;

    while (!atomic_load(&q->over))
        sched_yield();
    release(q);
}

static const void *copy_array(char **room, const void *from, int n, size_t each)
{
    char *copy = *room;

    if (!from)
        return NULL;
    memcpy(copy, from, (size_t)n * each);
    *room += ((size_t)n * each + 7) / 8 * 8;
    return copy;
}

/* Arrays may be changed as soon as the call returns, though the collective starts later. */
static int copy_arrays(struct queued *q, const struct tt_comm *comm)
{
    const size_t displ = tt_rows[q->call.coll].traits & TT_WIDE_DISPLS ? sizeof(MPI_Aint) : sizeof(int);
    int senders = 0, receivers = 0;
    char *room;

    if (tt_count_peers(&q->call, comm, &senders, &receivers) != MPI_SUCCESS)
        return -1;
    room = q->arrays =
        malloc(((size_t)senders + (size_t)receivers) * (2 * sizeof(int64_t) + sizeof(MPI_Datatype)) + 64);
    if (!room)
        return -1;
    q->call.send.counts = copy_array(&room, q->call.send.counts, receivers, sizeof(int));
    q->call.send.displs = copy_array(&room, q->call.send.displs, receivers, displ);
    q->call.send.types = copy_array(&room, q->call.send.types, receivers, sizeof(MPI_Datatype));
    q->call.recv.counts = copy_array(&room, q->call.recv.counts, senders, sizeof(int));
    q->call.recv.displs = copy_array(&room, q->call.recv.displs, senders, displ);
    q->call.recv.types = copy_array(&room, q->call.recv.types, senders, sizeof(MPI_Datatype));
    return 0;
}

/* ---- moving it on ---- */

/* A stream that has failed never reaches anything: the other ranks count on this one all the same. */
static bool is_reached(const struct queued *q)
{
    const struct tt_driver *d = tt_driver_find();
    CUcontext before;
    bool reached;

    if (d->cuCtxPushCurrent(q->context) != CUDA_SUCCESS)
        return true;
    reached = d->cuEventQuery(q->reached) != CUDA_ERROR_NOT_READY;
    if (reached)
        d->cuEventDestroy(q->reached);
    d->cuCtxPopCurrent(&before);
    return reached;
}

/* The first, if its stream has come to it. */
static struct queued *take_reached(void)
{
    struct queued *q;

    pthread_mutex_lock(&queue.lock);
    q = queue.first;
    if (q && !is_reached(q))
        q = NULL;
    if (q)
        queue.first = q->next;
    if (!queue.first)
        queue.last = &queue.first;
    pthread_mutex_unlock(&queue.lock);
    return q;
}

void tt_enqueue_note(int error)
{
    pthread_mutex_lock(&queue.lock);
    queue.error = queue.error == MPI_SUCCESS ? error : queue.error;
    pthread_mutex_unlock(&queue.lock);
}

/* As the program's own, so that the user's error handler, and op, find MPI as ever. */
static void start(struct queued *q)
{
    const int inside = tt_inside;

    tt_inside = 0;
    tt_enqueue_note(tt_run_nonblocking(&q->call, &q->request));
    tt_inside = inside;
    q->next = queue.started;
    queue.started = q;
}

/* A stream that waits for the event does so even when it is destroyed. */
static void forget(struct queued *q)
{
    const struct tt_driver *d = tt_driver_find();
    struct queued **at = &queue.alive;
    CUcontext before;

    pthread_mutex_lock(&queue.lock);
    while (*at != q)
        at = &(*at)->later;
    *at = q->later;
    if (q->passed && d->cuCtxPushCurrent(q->context) == CUDA_SUCCESS) {
        d->cuEventDestroy(q->passed);
        d->cuCtxPopCurrent(&before);
    }
    pthread_mutex_unlock(&queue.lock);
}

static bool has_ended(struct queued *q)
{
    int error = MPI_SUCCESS;

    if (q->request != MPI_REQUEST_NULL && !tt_test_for(&q->request, &error))
        return false;
    tt_enqueue_note(error);
    forget(q);
    if (q->has_gate)
        tt_gate_open(&q->gate);
    atomic_store(&q->over, true);
    return true;
}

static bool poll_queue(struct tt_poll *p)
{
    struct queued *q;
    bool is_empty;

    (void)p;
    while ((q = take_reached()))
        start(q);
    for (struct queued **at = &queue.started; (q = *at);) {
        if (has_ended(q)) {
            *at = q->next;
            release(q);
        } else {
            at = &q->next;
        }
    }
    pthread_mutex_lock(&queue.lock);
    is_empty = !queue.first && !queue.started;
    queue.is_polled = !is_empty;
    pthread_mutex_unlock(&queue.lock);
    return is_empty;
}

static void put(struct queued *q)
{
    static struct tt_poll poll = {.poll = poll_queue, .calls_out = true};
    bool add;

    pthread_mutex_lock(&queue.lock);
    *queue.last = q;
    queue.last = &q->next;
    q->later = queue.alive;
    queue.alive = q;
    add = !queue.is_polled;
    queue.is_polled = true;
    pthread_mutex_unlock(&queue.lock);
    if (add)
        tt_poll_add(&poll);
}

/* ---- enqueueing ---- */

/* 0, or -1 with why: this cannot be done here at all. */
static int is_possible(CUstream stream, char *why, size_t size)
{
    const struct tt_driver *d = tt_driver_find();
    CUstreamCaptureStatus status = 0;

    if (!tt_is_on())
        snprintf(why, size, "Tutti is off (TUTTI=off), and the MPI below knows no streams");
    else if (!tt_progress_thread_runs())
        snprintf(why, size,
                 "TUTTI_PROGRESS=thread must be set before MPI_Init: nobody else would start it when the stream "
                 "has come to it");
    else if (!d || !d->cuLaunchHostFunc || !d->cuStreamIsCapturing)
        snprintf(why, size, "there is no CUDA driver in this process, or none with host functions");
    else if (tt_driver_check(d, d->cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing"))
        snprintf(why, size, "%s", tt_fault());
    else if (status)
        snprintf(why, size,
                 "the stream is being captured into a graph, which a collective that the host drives cannot be "
                 "part of: end the capture before, and begin another behind");
    else
        return 0;
    return -1;
}

/* The gate, or a function that waits. */
static int hold_stream(struct queued *q, CUstream stream)
{
    const struct tt_driver *d = tt_driver_find();

    q->has_gate = tt_gate_put(d, stream, &q->gate) == 0;
    if (q->has_gate)
        return 0;
    atomic_store(&q->holders, 2);
    return tt_driver_check(d, d->cuLaunchHostFunc(stream, wait_in_stream, q), "cuLaunchHostFunc");
}

/* Records an event that it makes. */
static int mark(CUstream stream, CUevent *event)
{
    const struct tt_driver *d = tt_driver_find();

    if (tt_driver_check(d, d->cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate"))
        return -1;
    if (tt_driver_check(d, d->cuEventRecord(*event, stream), "cuEventRecord") == 0)
        return 0;
    d->cuEventDestroy(*event);
    *event = NULL;
    return -1;
}

/* The event, then what waits. What was put into the stream stays there if the second fails, to no harm; and where there
 * is no third thing, what follows is not held up by it. */
static int put_into_stream(struct queued *q, CUstream stream)
{
    const struct tt_driver *d = tt_driver_find();

    q->stream = stream;
    if (tt_driver_check(d, d->cuCtxGetCurrent(&q->context), "cuCtxGetCurrent") || mark(stream, &q->reached))
        return -1;
    if (hold_stream(q, stream) == 0) {
        if (q->comm->known.streams)
            mark(stream, &q->passed);
        return 0;
    }
    d->cuEventDestroy(q->reached);
    return -1;
}

/* Has the stream wait for all on comm that was enqueued into others and is driven by the host: a kernel of NCCL's that
 * waits for other ranks must not keep them from it. */
static int follow(const struct tt_comm *comm, CUstream stream)
{
    const struct tt_driver *d = tt_driver_find();
    int error = 0;

    pthread_mutex_lock(&queue.lock);
    for (const struct queued *q = queue.alive; q && !error; q = q->later)
        if (q->comm == comm && q->stream != stream && q->passed)
            error = tt_driver_check(d, d->cuStreamWaitEvent(stream, q->passed, 0), "cuStreamWaitEvent");
    pthread_mutex_unlock(&queue.lock);
    return error;
}

static int fail(const struct tt_call *c, const char *why)
{
    char words[640];

    snprintf(words, sizeof words, "%s in a stream: %s", tt_rows[c->coll].name, why);
    return tt_raise(c->comm, words);
}

/* An error of one that was enqueued before has reached the error handler in another thread; here it is returned. */
static int take_error(void)
{
    int error;

    pthread_mutex_lock(&queue.lock);
    error = queue.error;
    queue.error = MPI_SUCCESS;
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* A thread of ours starts it, when the stream has come to it. */
static int enqueue_driven(const struct tt_call *c, struct tt_comm *comm, CUstream stream)
{
    struct queued *q = calloc(1, sizeof *q);
    char why[512];
    int error;

    if (!q)
        return fail(c, "out of host memory");
    q->call = *c;
    q->comm = comm;
    q->request = MPI_REQUEST_NULL;
    atomic_init(&q->holders, 1);
    if (copy_arrays(q, comm) || put_into_stream(q, stream)) {
        snprintf(why, sizeof why, "%s", q->arrays ? tt_fault() : "out of host memory");
        free(q->arrays);
        free(q);
        return fail(c, why);
    }
    error = take_error(); /* before its own, which may come at once */
    put(q);
    return error;
}

static int enqueue_nccl(const struct tt_job *job, CUstream stream)
{
    const int before = take_error();
    const char *fault = follow(job->comm, stream) ? tt_fault() : NULL;
    const int error = tt_enqueue_nccl(job, stream, fault);

    return error == MPI_SUCCESS ? before : error;
}

static int enqueue(const struct tt_call *c, void *stream)
{
    struct tt_comm *comm;
    struct tt_job job;
    char why[512];
    int error;

    if (c->comm == MPI_COMM_NULL || tt_comm_of(c->comm, TT_KNOWN, &comm) != MPI_SUCCESS)
        return MPI_ERR_COMM;
    if (is_possible(stream, why, sizeof why))
        return fail(c, why);
    error = tt_enqueue_is_nccls(c, comm, &job) ? enqueue_nccl(&job, stream) : enqueue_driven(c, comm, stream);
    tt_job_end(&job);
    return error;
}

/* One for each row: tutti.h declares them, so that what differs does not compile. */
#define N int
#define D int
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    TT_PUBLIC int tutti_##id##_enqueue(TT_UNPACK params, void *stream)                                                 \
    {                                                                                                                  \
        return enqueue(TT_CALL(id, false, fill), stream);                                                              \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE
