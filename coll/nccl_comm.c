/* SPDX-License-Identifier: BSD-3-Clause */
/* The least that a path by NCCL needs of the life of its communicators. */
#include "coll/nccl_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/exec.h"
#include "coll/request.h"

struct tt_nccl_life {
    struct tt_nccl_use use;
    uint32_t generation;
    bool alive, failed;
    char why[256];
};

static struct tt_nccl_life *life_of(struct tt_comm *c)
{
    if (!c->nccl)
        c->nccl = calloc(1, sizeof *c->nccl);
    return c->nccl;
}

unsigned tt_nccl_standing(struct tt_comm *c, uint32_t *generation)
{
    const struct tt_nccl_life *life = life_of(c);

    if (generation)
        *generation = life ? life->generation : 0;
    if (!life || life->failed)
        return 0;
    if (life->alive)
        return TT_NCCL_CAN | TT_NCCL_HAVE;
    return tt_driver_present() && tt_place_here() && tt_nccl_open() && tt_nccl_open()->simulated ? TT_NCCL_CAN : 0;
}

struct making {
    const struct tt_nccl *nccl;
    ncclComm_t comm;
    ncclResult_t state;
};

static bool is_made(void *what)
{
    struct making *m = what;

    tt_progress();
    return m->nccl->CommGetAsyncError(m->comm, &m->state) != ncclSuccess || m->state != ncclInProgress;
}

static int make_here(struct tt_comm *c, struct tt_nccl_life *life, ncclUniqueId id)
{
    ncclConfig_t config = tt_nccl_config(false);
    struct making m = {.nccl = tt_nccl_open(), .state = ncclSuccess};
    struct tt_place *place = tt_place_here();

    if (!place || !m.nccl || tt_place_stream(place, TT_NCCL_QUEUE, &life->use.stream))
        return -1;
    if (tt_nccl_error(m.nccl, NULL, m.nccl->CommInitRankConfig(&m.comm, c->size, id, c->rank, &config),
                      "ncclCommInitRankConfig"))
        return -1;
    tt_wait(is_made, &m);
    life->use = (struct tt_nccl_use){m.nccl, m.comm, life->use.stream, place};
    return tt_nccl_error(m.nccl, NULL, m.state, "ncclCommInitRankConfig");
}

int tt_nccl_make(struct tt_comm *c)
{
    struct tt_nccl_life *life = life_of(c);
    ncclUniqueId id = {{0}};
    MPI_Request request;
    int mine, all;

    if (c->rank == 0)
        tt_nccl_open()->GetUniqueId(&id);
    if (c->size > 1) {
        PMPI_Ibcast(&id, sizeof id, MPI_BYTE, 0, c->wire_comm, &request);
        tt_wait_for(&request, MPI_STATUS_IGNORE);
    }
    mine = all = make_here(c, life, id) == 0;
    if (c->size > 1) {
        PMPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, c->wire_comm, &request);
        tt_wait_for(&request, MPI_STATUS_IGNORE);
    }
    life->alive = all;
    life->failed = !all;
    life->generation++;
    snprintf(life->why, sizeof life->why, "NCCL could not be set up");
    return all ? 0 : TT_NCCL_NOT_MADE;
}

void tt_nccl_keep(struct tt_comm *c)
{
    (void)c;
}

const struct tt_nccl_use *tt_nccl_get(struct tt_comm *c)
{
    return c->nccl && c->nccl->alive ? &c->nccl->use : NULL;
}

int tt_nccl_check(struct tt_comm *c)
{
    ncclResult_t state = ncclSuccess;
    const struct tt_nccl_use *use = tt_nccl_get(c);

    return !use || tt_nccl_error(use->nccl, use->comm, use->nccl->CommGetAsyncError(use->comm, &state), "NCCL") ||
                   tt_nccl_error(use->nccl, use->comm, state, "NCCL")
               ? -1
               : 0;
}

void tt_nccl_fail(struct tt_comm *c, const char *why)
{
    struct tt_nccl_life *life = c->nccl;

    if (life->alive)
        life->use.nccl->CommAbort(life->use.comm);
    life->alive = false;
    life->failed = true;
    snprintf(life->why, sizeof life->why, "%s", why);
}

const char *tt_nccl_why_not(const struct tt_comm *c)
{
    return c->nccl && c->nccl->failed && !c->nccl->alive && c->nccl->generation ? c->nccl->why : NULL;
}

void tt_nccl_rule_out(struct tt_comm *c, const char *why)
{
    struct tt_nccl_life *life = life_of(c);

    if (!life)
        return;
    life->failed = true;
    life->generation++;
    snprintf(life->why, sizeof life->why, "%s", why);
}

void tt_nccl_drop(struct tt_comm *c)
{
    if (c->nccl && c->nccl->alive)
        c->nccl->use.nccl->CommAbort(c->nccl->use.comm);
    free(c->nccl);
    c->nccl = NULL;
}
