/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: what ranks have written of one that has the same number on all of them belongs together. */
#include <stdlib.h>
#include <string.h>

#include "tools/doctor.h"

static struct doctor_comm *find(struct doctor_job *job, uint64_t id)
{
    for (int i = job->ncomms - 1; i >= 0; i--)
        if (job->comms[i].id == id)
            return &job->comms[i];
    return NULL;
}

static struct doctor_comm *add(struct doctor_job *job, uint64_t id, int size)
{
    struct doctor_comm *more = realloc(job->comms, ((size_t)job->ncomms + 1) * sizeof *more), *c;

    if (!more)
        return NULL;
    job->comms = more;
    c = &job->comms[job->ncomms];
    *c = (struct doctor_comm){.id = id, .size = size, .members = calloc((size_t)size, sizeof *c->members)};
    for (int i = 0; i < size && c->members; i++)
        c->members[i].world = -1;
    job->ncomms += c->members != NULL;
    return c->members ? c : NULL;
}

static bool is_sound(const struct doctor_job *job, const struct tt_record_comm *e)
{
    return e->id && e->size > 0 && e->size <= job->size && e->rank >= 0 && e->rank < e->size;
}

static bool join(struct doctor_job *job, int world, const struct tt_record_comm *e)
{
    struct doctor_comm *c = find(job, e->id);

    if (e->id == job->id && e->rank != world) {
        doctor_remark(job, "rank %d says that it is rank %d of MPI_COMM_WORLD", world, e->rank);
        return true;
    }
    if (!c)
        c = add(job, e->id, e->size);
    if (!c)
        return false;
    if (c->size != e->size) {
        doctor_remark(job, "rank %d says of a communicator that it has %d ranks, and others say %d", world, e->size,
                      c->size);
        return true;
    }
    c->inter = e->inter;
    c->members[e->rank] = (struct doctor_member){.world = world, .rank = &job->ranks[world], .entry = e};
    if (!c->name[0])
        memcpy(c->name, e->name, sizeof e->name);
    return true;
}

/* All know who is in MPI_COMM_WORLD, whether or not they have used it. */
static void fill_world(struct doctor_job *job)
{
    struct doctor_comm *world = find(job, job->id);

    for (int i = 0; world && world->size == job->size && i < job->size; i++) {
        world->members[i].world = i;
        world->members[i].rank = &job->ranks[i];
    }
}

/* Who has written nothing of a communicator that has all ranks is in it all the same; in which place makes no
 * difference to who waits for whom. */
static void fill_whole(struct doctor_job *job, struct doctor_comm *c)
{
    int free = 0;

    for (int world = 0; world < job->size; world++) {
        bool there = false;

        for (int m = 0; m < c->size && !there; m++)
            there = c->members[m].world == world;
        while (!there && free < c->size && c->members[free].world >= 0)
            free++;
        if (there || free == c->size)
            continue;
        c->members[free].world = world;
        c->members[free].rank = &job->ranks[world];
    }
}

/* One without a name is called by its size, and by how many there were before. */
static void name_them(struct doctor_job *job)
{
    int nameless = 0;

    for (int i = 0; i < job->ncomms; i++) {
        struct doctor_comm *c = &job->comms[i];

        if (!c->name[0])
            snprintf(c->name, sizeof c->name, "communicator %d (%d ranks)", ++nameless, c->size);
    }
}

/* ---- lines by their numbers ---- */

static bool put_line(struct doctor_member *m, const struct tt_record_line *l)
{
    const uint64_t at = m->n ? l->number - m->first : 0;

    if (at >= DOCTOR_FARTHEST)
        return true;
    if (at >= m->room) {
        const size_t room = (size_t)(at + 1) * 2;
        const struct tt_record_line **more = realloc(m->lines, room * sizeof *more);

        if (!more)
            return false;
        memset(more + m->room, 0, (room - m->room) * sizeof *more);
        m->lines = more;
        m->room = room;
    }
    m->first = m->n ? m->first : l->number;
    m->n = at >= m->n ? (size_t)at + 1 : m->n;
    m->lines[at] = l;
    return true;
}

static bool put_lines(struct doctor_job *job, struct doctor_rank *rank)
{
    struct doctor_comm *c = NULL;
    const struct tt_record_comm *e = NULL;

    for (uint32_t i = 0; i < rank->r->nlines; i++) {
        const struct tt_record_line *l = &rank->r->lines[i];

        if (!e || e->ordinal != l->comm) {
            e = record_comm(rank->r, l->comm);
            c = doctor_comm_of(job, rank, l->comm);
        }
        if (c && e->rank < c->size && c->members[e->rank].entry == e && !put_line(&c->members[e->rank], l))
            return false;
    }
    return true;
}

bool doctor_join(struct doctor_job *job)
{
    for (int i = 0; i < job->size; i++) {
        const struct record *r = job->ranks[i].r;

        for (uint32_t e = 0; r && e < r->ncomms; e++)
            if (is_sound(job, &r->comms[e]) && r->comms[e].size > 1 && !join(job, i, &r->comms[e]))
                return false;
    }
    fill_world(job);
    for (int i = 0; i < job->ncomms; i++)
        if (job->comms[i].size == job->size && job->comms[i].id != job->id)
            fill_whole(job, &job->comms[i]);
    name_them(job);
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].r && !put_lines(job, &job->ranks[i]))
            return false;
    return true;
}

void doctor_part(struct doctor_job *job)
{
    for (int i = 0; i < job->ncomms; i++) {
        for (int m = 0; m < job->comms[i].size; m++)
            free(job->comms[i].members[m].lines);
        free(job->comms[i].members);
    }
}

struct doctor_comm *doctor_comm_of(struct doctor_job *job, const struct doctor_rank *rank, uint32_t ordinal)
{
    const struct tt_record_comm *e = rank->r ? record_comm(rank->r, ordinal) : NULL;

    return e && e->id ? find(job, e->id) : NULL;
}

int doctor_peer(struct doctor_job *job, const struct doctor_rank *rank)
{
    const struct tt_record_comm *e = rank->spot ? record_comm(rank->r, rank->spot->comm) : NULL;
    const struct doctor_comm *c = rank->spot ? doctor_comm_of(job, rank, rank->spot->comm) : NULL;
    const int peer = c && rank->spot->peer >= 0 ? rank->spot->peer + e->others : -1;

    return peer >= 0 && peer < c->size ? c->members[peer].world : -1;
}

bool doctor_has_finished(const struct doctor_rank *rank)
{
    return rank->r && (rank->r->head.phase == TT_FINALIZING || rank->r->head.phase == TT_FINALIZED);
}

const struct tt_record_line *doctor_line(const struct doctor_member *m, uint64_t number)
{
    return m->n && number - m->first < m->n ? m->lines[number - m->first] : NULL;
}

uint64_t doctor_calls(const struct doctor_member *m)
{
    return m->entry ? m->entry->calls : 0;
}
