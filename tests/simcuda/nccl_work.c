/* SPDX-License-Identifier: BSD-3-Clause */
/* What NCCL's kernels do, on a stream's thread. In a collective each rank first shows its card and looks at all
 * others'; if they do not agree, NCCL would hang or compute nonsense: here the ranks say so, report it as an
 * asynchronous error, and hang until ncclCommAbort. Then each reads what it needs from the others, and none goes on
 * before all have read. Two communicators that two processes launch in different orders are a deadlock as soon as
 * kernels have no room beside each other: it is reported as well, though nothing would stop it here. */
#include "tests/simcuda/nccl_sim.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STAGES = 4, CHUNK = 128 << 10, REMEMBERED = 256 };

/* For ever, but for ncclCommAbort and the end of the context. */
static bool hang(struct nccl_comm *comm, const bool *ending)
{
    while (!nccl_stopped(comm, ending))
        nccl_sleep(comm->board, nccl_listen(comm->board));
    return false;
}

static bool hang_with(struct nccl_comm *comm, ncclResult_t result, const bool *ending)
{
    nccl_async(comm, result);
    return hang(comm, ending);
}

/* ---- reading what others have ---- */

struct nccl_reader {
    struct {
        int theirs, fd;
    } files[2]; /* the device's memory, and their bounce file */
};

static int reader(struct nccl_comm *comm, int rank, int theirs)
{
    struct nccl_reader *r;
    char path[64];
    int i;

    if (!comm->readers)
        comm->readers = calloc((size_t)comm->nranks, sizeof *comm->readers);
    if (!comm->readers)
        return -1;
    r = &comm->readers[rank];
    for (i = 0; i < 2 && r->files[i].fd; i++)
        if (r->files[i].theirs == theirs)
            return r->files[i].fd;
    if (i == 2)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", comm->board->seats[rank].pid, theirs);
    r->files[i].theirs = theirs;
    r->files[i].fd = open(path, O_RDONLY | O_CLOEXEC);
    return r->files[i].fd;
}

void nccl_work_close(struct nccl_comm *comm)
{
    for (int i = 0; comm->readers && i < comm->nranks; i++)
        for (int j = 0; j < 2; j++)
            if (comm->readers[i].files[j].fd > 0)
                close(comm->readers[i].files[j].fd);
    free(comm->readers);
    free(comm->scratch);
    if (comm->bounce >= 0)
        close(comm->bounce);
}

bool nccl_read(struct nccl_comm *comm, int rank, const struct nccl_piece *piece, size_t at, void *dst, size_t bytes)
{
    const int fd = piece->fd < 0 ? -1 : reader(comm, rank, piece->fd);

    for (size_t got = 0; got < bytes;) {
        const ssize_t n = fd < 0 ? -1 : pread(fd, (char *)dst + got, bytes - got, (off_t)(piece->offset + at + got));

        if (n <= 0) {
            nccl_async(comm, nccl_fail(ncclRemoteError, "rank %d: the memory of rank %d is gone", comm->rank, rank));
            return false;
        }
        got += (size_t)n;
    }
    return true;
}

struct nccl_piece nccl_bounce(struct nccl_comm *comm, const char *data, size_t bytes, uint64_t at)
{
    if (comm->bounce < 0)
        comm->bounce = memfd_create("tutti-simulated-nccl-data", MFD_CLOEXEC);
    for (size_t put = 0; put < bytes;) {
        const ssize_t n = pwrite(comm->bounce, data + put, bytes - put, (off_t)(at + put));

        if (n <= 0)
            return (struct nccl_piece){-1, 0};
        put += (size_t)n;
    }
    return (struct nccl_piece){comm->bounce, at};
}

/* Bytes that a task lets others read. */
static size_t shown_bytes(const struct nccl_comm *comm, const struct nccl_card *card)
{
    const bool all = card->kind == NCCL_REDUCE_SCATTER || card->kind == NCCL_ALL_TO_ALL || card->kind == NCCL_SCATTER;

    return card->count * nccl_type_size(card->type) * (all ? (size_t)comm->nranks : 1);
}

/* What lies where others cannot read it, as managed memory, goes to a file first. */
static void bounce_all(struct nccl_launch *l)
{
    uint64_t used = 0;

    for (size_t i = 0; i < l->ntasks; i++) {
        struct nccl_task *t = &l->tasks[i];
        const size_t bytes = shown_bytes(l->comm, &t->card);

        if (!t->send || t->card.send.fd >= 0)
            continue;
        t->card.send = nccl_bounce(l->comm, t->send, bytes, used);
        used += bytes;
    }
}

/* ---- agreeing ---- */

static void write_card(char *text, size_t size, const struct nccl_card *card)
{
    const struct nccl_kind_row *kind = &nccl_kinds[card->kind];
    int used = snprintf(text, size, "%s of %zu %s", kind->name, card->count, nccl_type_name(card->type));

    if (kind->reduces)
        used += snprintf(text + used, size - (size_t)used, ", op %u", card->op);
    if (kind->rooted)
        snprintf(text + used, size - (size_t)used, ", root %d", card->root);
}

static bool same(const struct nccl_card *a, const struct nccl_card *b)
{
    return a->kind == b->kind && a->type == b->type && a->op == b->op && a->root == b->root && a->count == b->count;
}

static bool disagree(struct nccl_comm *comm, const struct nccl_card *mine, int rank, const struct nccl_card *theirs)
{
    char ours[128], others[128];

    write_card(ours, sizeof ours, mine);
    write_card(others, sizeof others, theirs);
    nccl_async(comm, nccl_report(ncclInvalidUsage, "rank %d has %s, rank %d has %s", comm->rank, ours, rank, others));
    return false;
}

/* Orders of launches, here and in another process, of what the two have met in. */
static struct met {
    uint64_t process, ours, theirs;
} met[REMEMBERED];

static bool in_order(struct nccl_comm *comm, uint64_t ours, int rank, uint64_t theirs)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned next;
    const uint64_t process = comm->board->seats[rank].process;
    bool good = true;

    if (process == nccl_process())
        return true;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < REMEMBERED; i++)
        if (met[i].process == process &&
            ((met[i].ours < ours && met[i].theirs > theirs) || (met[i].ours > ours && met[i].theirs < theirs)))
            good = false;
    met[next++ % REMEMBERED] = (struct met){process, ours, theirs};
    pthread_mutex_unlock(&lock);
    if (!good)
        nccl_async(comm,
                   nccl_report(ncclInvalidUsage, "ranks %d and %d launch on their communicators in different orders",
                               comm->rank, rank));
    return good;
}

static const struct nccl_card *card_of(const struct nccl_comm *comm, int rank)
{
    return &comm->board->seats[rank].cards[comm->collectives % 2];
}

static bool step(struct nccl_comm *comm, struct nccl_task *t);

/* Has a rank that is waited for here something for this one, which is past it? Then both would wait for ever. */
static bool expects_else(struct nccl_comm *comm, int rank)
{
    const struct nccl_channel *c = nccl_channel(comm, rank, comm->rank);

    return atomic_load(&c->shown) != atomic_load(&c->taken);
}

/* The same, seen from the other side: the peer of a task that does not end is in a collective already. */
static bool peer_is_past(struct nccl_comm *comm, struct nccl_task *t)
{
    const bool past = atomic_load(&comm->board->seats[t->peer].stage) > comm->collectives * STAGES;

    return past && t->card.kind >= NCCL_SEND && !t->stuck && t->state != TASK_DONE && !step(comm, t);
}

/* All have come as far. */
static bool await_stage(struct nccl_comm *comm, uint64_t stage, const bool *ending)
{
    struct nccl_board *b = comm->board;

    atomic_store(&b->seats[comm->rank].stage, stage);
    nccl_ring(b);
    for (int i = 0; i < comm->nranks;) {
        const unsigned heard = nccl_listen(b);

        if (atomic_load(&b->seats[i].stage) >= stage)
            i++;
        else if (nccl_stopped(comm, ending))
            return false;
        else if (expects_else(comm, i))
            return disagree(comm, card_of(comm, comm->rank), i, &nccl_channel(comm, i, comm->rank)->card);
        else
            nccl_sleep(b, heard);
    }
    return true;
}

static bool agree(struct nccl_comm *comm, const struct nccl_card *mine, const bool *ending)
{
    comm->board->seats[comm->rank].cards[comm->collectives % 2] = *mine;
    if (!await_stage(comm, comm->collectives * STAGES + 1, ending))
        return false;
    for (int i = 0; i < comm->nranks; i++)
        if (!same(mine, card_of(comm, i)))
            return disagree(comm, mine, i, card_of(comm, i));
    for (int i = 0; i < comm->nranks; i++)
        if (!in_order(comm, mine->order, i, card_of(comm, i)->order))
            return false;
    return true;
}

/* ---- collectives ---- */

static bool fetch(struct nccl_comm *comm, const struct nccl_task *t, int rank, size_t at, char *dst, size_t bytes)
{
    if (rank != comm->rank)
        return nccl_read(comm, rank, &card_of(comm, rank)->send, at, dst, bytes);
    if (dst != t->send + at)
        memcpy(dst, t->send + at, bytes);
    return true;
}

/* Room for that many bytes of a result, after a chunk of what goes into it. */
static char *scratch(struct nccl_comm *comm, size_t bytes)
{
    if (comm->scratch_bytes < CHUNK + bytes) {
        free(comm->scratch);
        comm->scratch = malloc(CHUNK + bytes);
        comm->scratch_bytes = comm->scratch ? CHUNK + bytes : 0;
    }
    return comm->scratch ? comm->scratch + CHUNK : NULL;
}

/* Elements [first, first + n) of all, in the order of the ranks; to scratch. */
static bool reduce(struct nccl_comm *comm, const struct nccl_task *t, size_t first, size_t n, char *out)
{
    const size_t size = nccl_type_size(t->card.type), most = CHUNK / size;
    char *more = comm->scratch;
    bool good = true;

    for (size_t at = 0; at < n && good; at += most) {
        const size_t m = n - at < most ? n - at : most;

        for (int i = 0; i < comm->nranks && good; i++) {
            good = fetch(comm, t, i, (first + at) * size, i ? more : out + at * size, m * size);
            if (i && good)
                nccl_reduce(&t->card, out + at * size, more, m);
        }
        nccl_average(&t->card, out + at * size, m, comm->nranks);
    }
    return good;
}

/* Nothing is written before all have read, for the buffers may be the same. */
static bool reduce_to_recv(struct nccl_comm *comm, const struct nccl_task *t, size_t first, const bool *ending)
{
    const size_t bytes = t->card.count * nccl_type_size(t->card.type);
    char *out = t->recv ? scratch(comm, bytes) : NULL;
    bool good = !t->recv || (out && reduce(comm, t, first, t->card.count, out));

    good = good && await_stage(comm, comm->collectives * STAGES + 2, ending);
    if (good && out)
        memcpy(t->recv, out, bytes);
    return good;
}

static bool others_can_read_results(const struct nccl_comm *comm)
{
    for (int i = 0; i < comm->nranks; i++)
        if (card_of(comm, i)->recv.fd < 0)
            return false;
    return true;
}

/* Each rank reduces its share, then reads the others' from where they have put it: so that the work of p ranks is that
 * of two, not p. */
static bool all_reduce(struct nccl_comm *comm, const struct nccl_task *t, const bool *ending)
{
    const size_t size = nccl_type_size(t->card.type), p = (size_t)comm->nranks;
    const size_t share = (t->card.count + p - 1) / p;
    char *out;
    bool good;

    if (!others_can_read_results(comm))
        return reduce_to_recv(comm, t, 0, ending);
    const size_t mine = share * (size_t)comm->rank < t->card.count ? share * (size_t)comm->rank : t->card.count;
    const size_t n = t->card.count - mine < share ? t->card.count - mine : share;
    out = scratch(comm, share * size);
    good = out && reduce(comm, t, mine, n, out) && await_stage(comm, comm->collectives * STAGES + 2, ending);
    if (good)
        memcpy(t->recv + mine * size, out, n * size);
    good = good && await_stage(comm, comm->collectives * STAGES + 3, ending);
    for (size_t i = 0; i < p && good; i++) {
        const size_t at = share * i < t->card.count ? share * i : t->card.count;
        const size_t m = t->card.count - at < share ? t->card.count - at : share;

        if ((int)i != comm->rank)
            good = nccl_read(comm, (int)i, &card_of(comm, (int)i)->recv, at * size, t->recv + at * size, m * size);
    }
    return good;
}

/* From each rank the block at `block` of what it sends, to where it belongs in recv. */
static bool gather(struct nccl_comm *comm, const struct nccl_task *t, int block)
{
    const size_t bytes = t->card.count * nccl_type_size(t->card.type);
    bool good = true;

    for (int i = 0; i < comm->nranks && good && t->recv; i++)
        good = fetch(comm, t, i, (size_t)block * bytes, t->recv + (size_t)i * bytes, bytes);
    return good;
}

static bool take_from_root(struct nccl_comm *comm, const struct nccl_task *t, int block)
{
    const size_t bytes = t->card.count * nccl_type_size(t->card.type);

    return fetch(comm, t, t->card.root, (size_t)block * bytes, t->recv, bytes);
}

static bool move(struct nccl_comm *comm, const struct nccl_task *t, const bool *ending)
{
    switch (t->card.kind) {
    case NCCL_ALL_REDUCE:
        return all_reduce(comm, t, ending);
    case NCCL_REDUCE:
        return reduce_to_recv(comm, t, 0, ending);
    case NCCL_REDUCE_SCATTER:
        return reduce_to_recv(comm, t, t->card.count * (size_t)comm->rank, ending);
    case NCCL_BROADCAST:
        return take_from_root(comm, t, 0);
    case NCCL_SCATTER:
        return take_from_root(comm, t, comm->rank);
    case NCCL_ALL_TO_ALL:
        return gather(comm, t, comm->rank);
    default:
        return gather(comm, t, 0);
    }
}

static bool collective(struct nccl_comm *comm, const struct nccl_task *t, const bool *ending)
{
    if (t->stuck)
        return hang(comm, ending);
    if (t->fails)
        return hang_with(comm, nccl_fail(ncclRemoteError, "as TUTTI_SIM_FAULT wants"), ending);
    if (!agree(comm, &t->card, ending) || !move(comm, t, ending))
        return hang(comm, ending);
    if (!await_stage(comm, (comm->collectives + 1) * STAGES, ending))
        return false;
    comm->collectives++;
    return true;
}

/* ---- between two ---- */

/* Shown once those before it are taken; done once it is taken. */
static bool step_send(struct nccl_comm *comm, struct nccl_task *t)
{
    struct nccl_channel *c = nccl_channel(comm, comm->rank, t->peer);

    if (t->state == TASK_NEW && atomic_load(&c->taken) == t->number) {
        c->card = t->card;
        atomic_store(&c->shown, t->number + 1);
        t->state = TASK_SHOWN;
        return true;
    }
    if (t->state != TASK_SHOWN || atomic_load(&c->taken) <= t->number)
        return false;
    t->state = TASK_DONE;
    if (atomic_load(&c->refused))
        nccl_async(comm,
                   nccl_report(ncclInvalidUsage, "rank %d: rank %d's Recv is not as the Send", comm->rank, t->peer));
    return true;
}

static bool step_recv(struct nccl_comm *comm, struct nccl_task *t)
{
    struct nccl_channel *c = nccl_channel(comm, t->peer, comm->rank);
    const size_t bytes = t->card.count * nccl_type_size(t->card.type);

    if (t->state != TASK_NEW || atomic_load(&c->shown) != t->number + 1 || atomic_load(&c->taken) != t->number)
        return false;
    if (c->card.type != t->card.type || c->card.count != t->card.count) {
        disagree(comm, &t->card, t->peer, &c->card);
        atomic_store(&c->refused, 1);
    } else if (bytes) {
        nccl_read(comm, t->peer, &c->card.send, 0, t->recv, bytes);
    }
    atomic_store(&c->taken, t->number + 1);
    t->state = TASK_DONE;
    return true;
}

static bool step(struct nccl_comm *comm, struct nccl_task *t)
{
    if (t->stuck || t->card.kind < NCCL_SEND)
        return false;
    if (t->fails)
        nccl_async(comm, nccl_fail(ncclRemoteError, "as TUTTI_SIM_FAULT wants"));
    if (t->fails)
        return false;
    return t->card.kind == NCCL_SEND ? step_send(comm, t) : step_recv(comm, t);
}

static bool has_failed(struct nccl_comm *comm)
{
    const unsigned async = atomic_load(&comm->async);

    return async != ncclSuccess && async != ncclInProgress;
}

static bool find_mismatch(struct nccl_launch *l)
{
    struct nccl_comm *comm = l->comm;

    for (size_t i = 0; i < l->ntasks; i++)
        if (peer_is_past(comm, &l->tasks[i])) {
            disagree(comm, &l->tasks[i].card, l->tasks[i].peer, card_of(comm, l->tasks[i].peer));
            return true;
        }
    return false;
}

static bool between(struct nccl_launch *l, const bool *ending)
{
    struct nccl_comm *comm = l->comm;
    bool all = false;

    while (!all && !has_failed(comm)) {
        const unsigned heard = nccl_listen(comm->board);
        bool moved = false;

        all = true;
        for (size_t i = 0; i < l->ntasks; i++) {
            moved |= step(comm, &l->tasks[i]);
            all &= l->tasks[i].card.kind < NCCL_SEND || l->tasks[i].state == TASK_DONE;
        }
        if (moved)
            nccl_ring(comm->board);
        else if (nccl_stopped(comm, ending))
            return false;
        else if (!all && !find_mismatch(l))
            nccl_sleep(comm->board, heard);
    }
    return !has_failed(comm) || hang(comm, ending);
}

/* ---- a launch ---- */

CUresult nccl_run(void *data, const bool *ending)
{
    struct nccl_launch *l = data;
    struct nccl_comm *comm = l->comm;

    while (atomic_load(&comm->done) < l->ticket && !nccl_stopped(comm, ending))
        nccl_sleep(comm->board, nccl_listen(comm->board));
    if (nccl_stopped(comm, ending))
        return CUDA_SUCCESS;
    bounce_all(l);
    for (size_t i = 0; i < l->ntasks; i++)
        if (l->tasks[i].card.kind < NCCL_SEND && !collective(comm, &l->tasks[i], ending))
            return CUDA_SUCCESS;
    between(l, ending);
    return CUDA_SUCCESS;
}
