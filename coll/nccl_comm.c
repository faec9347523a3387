/* SPDX-License-Identifier: BSD-3-Clause */
/* What a communicator has of NCCL: which group it uses, and whether it may use any. A failure is known at once to who
 * met it, and to those whom it told; what all ranks share of it comes from the next vote, in which they say that they
 * cannot. Until then a rank that knows answers a call with an error, and one that does not yet know learns it in the
 * call. */
#include "coll/nccl_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/nccl_making.h"
#include "coll/nccl_notice.h"
#include "coll/request.h"
#include "coll/watch.h"

struct tt_nccl_life {
    struct tt_nccl_group *group; /* in use, or of no use any more; NULL: none yet */
    bool keeps;                  /* it must not be given up */
    bool broken;                 /* it has failed here, for good */
    char why[256];
    struct tt_nccl_making *making; /* all the memory that making one needs */
};

/* ---- what there is ---- */

/* Calls of several threads on several communicators could reach NCCL in another order on another rank: then it is for
 * calls in streams alone, whose order is the program's business. */
static bool is_single(void)
{
    int level = MPI_THREAD_MULTIPLE;

    PMPI_Query_thread(&level);
    return level != MPI_THREAD_MULTIPLE;
}

static struct tt_nccl_life *life_of(struct tt_comm *c)
{
    if (!c->nccl && c->usable && (is_single() || c->known.prepared) && tt_nccl_notice_serves())
        c->nccl = calloc(1, sizeof *c->nccl);
    return c->nccl;
}

static bool has(const struct tt_nccl_life *life)
{
    return life->group && tt_nccl_group_lives(life->group);
}

/* Where its context is gone, NCCL cannot even take leave of the others, which would wait for that. */
static void let_go(struct tt_nccl_life *life)
{
    struct tt_nccl_group *g = life->group;

    if (!g)
        return;
    if (g->use.comm && !tt_place_lives(g->use.place)) {
        tt_nccl_notice_tell(g, "its CUDA context is gone", false);
        g->failed = true;
    }
    g->keepers -= life->keeps;
    tt_nccl_group_drop(g);
    life->group = NULL;
    life->keeps = false;
}

static void take(struct tt_nccl_life *life, struct tt_nccl_group *g)
{
    tt_nccl_group_hold(g);
    let_go(life);
    life->group = g;
}

/* ---- standing ---- */

/* A group that is of no use is left as it is until there is another: it says whom a failure concerns. */
static unsigned look(struct tt_comm *c, struct tt_nccl_life *life)
{
    struct tt_place *place = tt_driver_present() ? tt_place_here() : NULL;
    struct tt_nccl_group *g;

    if (!place || !tt_nccl_open() || !tt_place_suits(place, tt_nccl_open()))
        return 0;
    g = tt_nccl_group_find(tt_nccl_making_members(life->making), c->size, place);
    if (g)
        take(life, g);
    return TT_NCCL_CAN | (g ? TT_NCCL_HAVE : 0);
}

const char *tt_nccl_lacking(void)
{
    const struct tt_nccl *nccl = tt_driver_present() ? tt_nccl_open() : NULL;
    struct tt_place *place = nccl ? tt_place_here() : NULL;

    if (!tt_driver_present())
        return "there is no CUDA driver in this process";
    if (!nccl || !place)
        return tt_fault();
    return tt_place_suits(place, nccl) ? NULL : "it works in a context that is not its GPU's primary one";
}

/* The memory for making one comes first: afterwards the others count on this rank. */
static bool is_able(struct tt_comm *c, struct tt_nccl_life *life)
{
    if (!life || life->broken || c->known.ruled_out)
        return false;
    if (!life->making)
        life->making = tt_nccl_making_new(c);
    return life->making;
}

unsigned tt_nccl_standing(struct tt_comm *c, uint32_t *generation)
{
    struct tt_nccl_life *life;
    unsigned standing = 0;

    tt_nccl_lock();
    life = life_of(c);
    tt_nccl_notice_hear();
    tt_nccl_groups_poll();
    if (is_able(c, life))
        standing = has(life) ? TT_NCCL_CAN | TT_NCCL_HAVE : look(c, life);
    if (generation)
        *generation = standing & TT_NCCL_HAVE ? life->group->generation : 0;
    tt_nccl_unlock();
    return standing;
}

/* ---- making ---- */

static void end_making(struct tt_nccl_life *life)
{
    tt_nccl_making_free(life->making);
    life->making = NULL;
}

static void note_made(struct tt_comm *c, int result, struct tt_nccl_group *made, const char *why)
{
    struct tt_nccl_life *life = c->nccl;

    if (result == 0)
        life->group = made;
    else if (result == TT_NCCL_NOT_MADE && why[0])
        tt_nccl_rule_out(c, why);
    else if (result < 0) {
        snprintf(life->why, sizeof life->why, "%s", why);
        life->broken = c->lost = true;
        tt_fault_set("%s", why);
    }
    end_making(life);
}

/* The lock is not held while ranks are waited for. */
int tt_nccl_make(struct tt_comm *c)
{
    struct tt_nccl_group *made;
    const uint64_t begun = tt_setup_begin(TT_SETUP_DEVICE);
    char why[256] = "";
    int result;

    tt_nccl_lock();
    let_go(c->nccl);
    tt_nccl_notice_open();
    tt_nccl_unlock();
    result = tt_nccl_making_run(c->nccl->making, &made, why, sizeof why);
    tt_setup_end(TT_SETUP_DEVICE, begun);
    tt_nccl_lock();
    note_made(c, result, made, why);
    tt_nccl_unlock();
    return result;
}

/* What all ranks say, of what they can and have: as in a vote. */
static int agree(struct tt_comm *c, bool *able, bool *alive)
{
    uint32_t generation;
    const unsigned standing = tt_nccl_standing(c, &generation);
    uint64_t all[4] = {standing & TT_NCCL_CAN, standing & TT_NCCL_HAVE, generation, ~(uint64_t)generation};
    MPI_Request request;

    if (c->size > 1 && (PMPI_Iallreduce(MPI_IN_PLACE, all, 4, MPI_UINT64_T, MPI_MIN, c->wire_comm, &request) ||
                        tt_wait_for(&request, MPI_STATUS_IGNORE)))
        return tt_fault_set("the ranks could not be asked what they can");
    *able = all[0];
    *alive = all[0] && all[1] && all[2] == ~all[3];
    return 0;
}

int tt_nccl_prepare(struct tt_comm *c)
{
    bool able = false, alive = false;

    if (!c->usable)
        return TT_NCCL_NOT_MADE;
    if (agree(c, &able, &alive))
        return -1;
    return alive ? 0 : able ? tt_nccl_make(c) : TT_NCCL_NOT_MADE;
}

/* ---- use ---- */

const struct tt_nccl_use *tt_nccl_get(struct tt_comm *c)
{
    struct tt_nccl_life *life = c->nccl;
    struct tt_nccl_group *g = life ? life->group : NULL;

    tt_nccl_notice_hear();
    if (!g || life->broken || !tt_nccl_group_lives(g)) {
        tt_fault_set("%s", life && life->broken ? life->why
                           : g && g->failed     ? g->why
                                                : "NCCL's communicator went with its CUDA context");
        return NULL;
    }
    tt_nccl_group_touch(g);
    return &g->use;
}

void tt_nccl_keep(struct tt_comm *c)
{
    struct tt_nccl_life *life = c->nccl;

    if (!life || !life->group || life->keeps)
        return;
    life->keeps = true;
    life->group->keepers++;
}

int tt_nccl_check(struct tt_comm *c)
{
    const struct tt_nccl_group *g = c->nccl ? c->nccl->group : NULL;
    ncclResult_t state = ncclSuccess, asked;

    tt_nccl_notice_hear();
    if (!g || !g->use.comm || g->failed)
        return tt_fault_set("%s", g && g->failed ? g->why : "NCCL's communicator is gone");
    asked = g->use.nccl->CommGetAsyncError(g->use.comm, &state);
    return tt_nccl_error(g->use.nccl, g->use.comm, asked, "ncclCommGetAsyncError") ||
                   tt_nccl_error(g->use.nccl, g->use.comm, state, "NCCL")
               ? -1
               : 0;
}

static void fail_group(struct tt_nccl_group *g, const char *why)
{
    tt_nccl_notice_tell(g, why, false);
    if (!g->failed)
        snprintf(g->why, sizeof g->why, "%s", why);
    g->failed = true;
    tt_nccl_group_abort(g);
}

void tt_nccl_fail(struct tt_comm *c, const char *why)
{
    struct tt_nccl_life *life = c->nccl;

    if (!life || life->broken)
        return;
    tt_nccl_lock();
    snprintf(life->why, sizeof life->why, "%s", why);
    life->broken = true;
    if (life->group)
        fail_group(life->group, life->why);
    tt_nccl_unlock();
}

void tt_nccl_rule_out(struct tt_comm *c, const char *why)
{
    struct tt_nccl_life *life = life_of(c);

    if (!c->known.ruled_out && life) {
        snprintf(life->why, sizeof life->why, "%s", why);
        let_go(life);
    }
    c->known.ruled_out = true; /* with or without memory for the words: all ranks go by it */
}

const char *tt_nccl_why_not(const struct tt_comm *c)
{
    if (!c->known.ruled_out)
        return NULL;
    return c->nccl ? c->nccl->why : "it was ruled out, and there was no memory to note why";
}

/* ---- the end ---- */

static void end_life(struct tt_nccl_life *life)
{
    if (!life)
        return;
    let_go(life);
    end_making(life);
    free(life);
}

void tt_nccl_drop(struct tt_comm *c)
{
    tt_nccl_lock();
    tt_nccl_notice_drop(c);
    end_life(c->nccl);
    c->nccl = NULL;
    tt_nccl_unlock();
}

void tt_nccl_close(void)
{
    tt_nccl_groups_close();
    tt_nccl_notice_close();
}
