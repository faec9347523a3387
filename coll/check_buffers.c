/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a call's buffers are. Two whose spans are apart cannot overlap; else the pieces of memory that their data lie
 * in are sorted and looked at one by one, since data with gaps may well lie in one another's. A side of very many
 * pieces is taken for sound rather than sorted in every call. */
#include <stdio.h>
#include <stdlib.h>

#include "coll/fingerprint.h"
#include "coll/gaps.h"
#include "cuda/extent.h"

enum { MAX_PIECES = 1 << 16 };

struct piece {
    uintptr_t from, to;
    bool sent;
};

struct pieces {
    struct piece *all;
    size_t n;
};

/* ---- pieces ---- */

static void add(struct pieces *p, const struct tt_side *side, MPI_Aint at, int64_t length, bool sent)
{
    const uintptr_t from = (uintptr_t)tt_away(side->buf, at);

    p->all[p->n++] = (struct piece){from, from + (uintptr_t)length, sent};
}

static size_t count_pieces(const struct tt_block *b)
{
    size_t rows = 0;
    int64_t first;

    if (b->count == 0 || b->layout.size == 0 || !b->layout.runs)
        return 0;
    if (tt_runs_solid(b->layout.runs, b->count, &first))
        return 1;
    for (int64_t i = 0; i < b->layout.runs->nruns; i++)
        rows += (size_t)b->layout.runs->run[i].n;
    return rows * (size_t)b->count;
}

static void add_block(struct pieces *p, const struct tt_side *side, const struct tt_block *b, bool sent)
{
    const struct tt_runs *runs = b->layout.runs;
    int64_t first;

    if (count_pieces(b) == 0)
        return;
    if (tt_runs_solid(runs, b->count, &first)) {
        add(p, side, b->at + first, (int64_t)b->count * (int64_t)b->layout.size, sent);
        return;
    }
    for (MPI_Count e = 0; e < b->count; e++)
        for (int64_t i = 0; i < runs->nruns; i++)
            for (int64_t k = 0; k < runs->run[i].n; k++)
                add(p, side, b->at + e * runs->extent + runs->run[i].at + k * runs->run[i].stride, runs->run[i].length,
                    sent);
}

static size_t count_side(const struct tt_side *side)
{
    size_t n = 0;

    for (int i = 0; i < side->nblocks; i++)
        n += count_pieces(tt_block_of(side, i));
    return n;
}

static void add_side(struct pieces *p, const struct tt_side *side, bool sent)
{
    for (int i = 0; i < side->nblocks; i++)
        add_block(p, side, tt_block_of(side, i), sent);
}

static int by_address(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;

    return (a->from > b->from) - (a->from < b->from);
}

/* ---- overlaps ---- */

/* Data may be sent twice, but nothing may be received where something is sent or received. Of the pieces before, one
 * counts that reaches furthest, and of those received one that does. */
static const char *find_overlap(const struct pieces *p)
{
    uintptr_t sent = 0, received = 0;

    for (size_t i = 0; i < p->n; i++) {
        const struct piece *piece = &p->all[i];

        if (piece->from < received)
            return piece->sent ? "the send and the receive buffer overlap" : "blocks of the receive buffer overlap";
        if (!piece->sent && piece->from < sent)
            return "the send and the receive buffer overlap";
        if (piece->sent && piece->to > sent)
            sent = piece->to;
        if (!piece->sent && piece->to > received)
            received = piece->to;
    }
    return NULL;
}

static const char *look_for_overlap(const struct tt_side *send, const struct tt_side *recv)
{
    const size_t n = (send ? count_side(send) : 0) + count_side(recv);
    struct pieces p = {n && n <= MAX_PIECES ? malloc(n * sizeof *p.all) : NULL, 0};
    const char *found;

    if (!p.all)
        return NULL;
    if (send)
        add_side(&p, send, true);
    add_side(&p, recv, false);
    qsort(p.all, p.n, sizeof *p.all, by_address);
    found = find_overlap(&p);
    free(p.all);
    return found;
}

/* Its first and last byte, and one past it. */
static bool span(const struct tt_side *side, uintptr_t *from, uintptr_t *to)
{
    MPI_Aint low, high;

    if (!side->significant || side->bytes == 0)
        return false;
    tt_side_span(side, &low, &high);
    *from = (uintptr_t)tt_away(side->buf, low);
    *to = (uintptr_t)tt_away(side->buf, high);
    return *to > *from;
}

static const char *overlap(const struct tt_job *job)
{
    uintptr_t send[2], recv[2];
    const bool sends = !job->inplace && span(&job->send, &send[0], &send[1]);

    if (!span(&job->recv, &recv[0], &recv[1]))
        return NULL;
    if (sends && send[0] < recv[1] && recv[0] < send[1])
        return look_for_overlap(&job->send, &job->recv);
    return job->recv.nblocks > 1 ? look_for_overlap(NULL, &job->recv) : NULL;
}

/* ---- memory ---- */

/* A datatype of absolute addresses may lead anywhere: only where a side is one allocation, can its span be looked at.
 */
static bool is_sound(const struct tt_side *side, const char *which, struct tt_record *r)
{
    uintptr_t from, to;
    char why[160];

    if (!side->buf || !span(side, &from, &to) || tt_mem_check((const void *)from, to - from, why, sizeof why) == 0)
        return true;
    snprintf(r->fault, sizeof r->fault, "the %s buffer, %s", which, why);
    return false;
}

void tt_check_buffers(struct tt_record *r, struct tt_job *job)
{
    const char *what = overlap(job);

    if (r->fault[0] || !is_sound(&job->send, "send", r) || !is_sound(&job->recv, "receive", r))
        return;
    if (what)
        snprintf(r->fault, sizeof r->fault, "%s", what);
}
