/* SPDX-License-Identifier: BSD-3-Clause */
/* The ballot is one word, whose bits all ranks must have set. Whether numbers are equal is told by their bits and the
 * complements of these: what is left of both covers all bits only if they are. */
#include "coll/vote.h"

#include "coll/config.h"
#include "coll/gaps.h"
#include "coll/nccl_comm.h"
#include "coll/request.h"

enum { ON_GPUS = 1 << 0, ABLE = 1 << 1, CAN = 1 << 2, HAVE = 1 << 3 };
enum { GENERATION = 4, WIDTH = 28, COMPLEMENT = GENERATION + WIDTH };
static const uint64_t mask = (UINT64_C(1) << WIDTH) - 1;

/* How often it may be no in a row before some calls go by; and how many at most. Asserted calls are asked after so many
 * whether NCCL still is alive everywhere. */
enum { PATIENCE = 4, LONGEST_REST = 64, ASK_AGAIN = 64 };

/* Nothing of this rank's is anywhere but on a GPU: a rank that has no data agrees to everything. */
static bool side_on_gpu(const struct tt_side *side)
{
    return !side->significant || side->bytes == 0 || (side->on_device && !tt_side_mixed(side));
}

static bool on_gpus(const struct tt_job *job)
{
    return side_on_gpu(&job->send) && side_on_gpu(&job->recv);
}

static uint64_t ballot_of(const struct tt_job *job, bool able)
{
    uint32_t generation = 0;
    const unsigned standing = tt_nccl_standing(job->comm, &generation);
    const uint64_t number = generation & mask;

    return (on_gpus(job) ? ON_GPUS : 0) | (able ? ABLE : 0) | (standing & TT_NCCL_CAN ? CAN : 0) | (standing & TT_NCCL_HAVE ? HAVE : 0) |
           number << GENERATION | (~number & mask) << COMPLEMENT;
}

static bool all_have_the_same(uint64_t all)
{
    return (all & HAVE) && ((all >> GENERATION & mask) ^ (all >> COMPLEMENT & mask)) == mask;
}

static int failed(void)
{
    return tt_fault_set("the MPI below failed when the ranks were to agree on NCCL");
}

static int count_ballots(const struct tt_comm *c, uint64_t mine, uint64_t *all)
{
    MPI_Request request;

    *all = mine;
    if (c->size == 1)
        return MPI_SUCCESS;
    if (PMPI_Iallreduce(&mine, all, 1, MPI_UINT64_T, MPI_BAND, c->wire_comm, &request) != MPI_SUCCESS)
        return failed();
    return tt_wait_for(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS ? 0 : failed();
}

static void rest(struct tt_nccl_known *known)
{
    known->noes++;
    if (known->noes < PATIENCE)
        return;
    known->rests = known->noes - PATIENCE < 6 ? 1u << (known->noes - PATIENCE) : LONGEST_REST;
}

static int make(struct tt_comm *c)
{
    const int made = tt_nccl_make(c);

    c->known.alive = made == 0;
    return made < 0 ? -1 : 0;
}

/* Who names NCCL wants to know why it is not used: each rank says what it lacks itself. */
static void say_lacking(const struct tt_job *job)
{
    static bool said;
    const char *lacking = said ? NULL : tt_nccl_lacking();

    if (!lacking)
        return;
    said = true;
    tt_log(TT_WARN, "%s: NCCL was named, and rank %d has none: %s. Said once.", job->row->name, job->comm->rank,
           lacking);
}

int tt_vote(const struct tt_job *job, bool able, const struct tt_wanted *wanted, struct tt_verdict *verdict)
{
    struct tt_comm *c = job->comm;
    uint64_t all;
    bool nccl;

    if (count_ballots(c, ballot_of(job, able), &all))
        return -1;
    verdict->on_gpus = all & ON_GPUS;
    if (!(all & CAN) && wanted->anywhere)
        say_lacking(job);
    if (!(all & CAN) && (c->known.there || c->known.alive))
        tt_nccl_rule_out(c, "it has failed on a rank");
    c->known.alive = (all & CAN) && all_have_the_same(all);
    nccl = verdict->on_gpus ? wanted->on_gpus : wanted->anywhere;
    if ((all & CAN) && (all & ABLE) && !c->known.alive && nccl && make(c))
        return -1;
    c->known.kept = c->known.alive && (c->known.kept || tt_vote_is_asserted(job));
    if (c->known.kept)
        tt_nccl_keep(c);
    c->known.since = 0;
    verdict->ready = c->known.alive && (all & ABLE);
    if (nccl ? verdict->ready : verdict->on_gpus)
        c->known.noes = 0;
    else
        rest(&c->known);
    return 0;
}

bool tt_vote_is_asserted(const struct tt_job *job)
{
    return tt_hints_on_gpus(job->comm->hints) || (tt_config.uniform && !tt_coll_lengths_local(job->call->coll));
}

bool tt_vote_is_known(const struct tt_job *job, const struct tt_wanted *wanted, struct tt_verdict *verdict)
{
    struct tt_nccl_known *known = &job->comm->known;
    const bool gpus = tt_hints_on_gpus(job->comm->hints) || on_gpus(job);
    const bool nccl = gpus ? wanted->on_gpus : wanted->anywhere;

    if (!tt_vote_is_asserted(job))
        return false;
    if (nccl && (!known->alive || !known->kept || known->since + 1 >= ASK_AGAIN))
        return false;
    *verdict = (struct tt_verdict){gpus, nccl};
    known->since += nccl;
    return true;
}

bool tt_vote_rests(struct tt_comm *c)
{
    if (!c->known.rests)
        return false;
    c->known.rests--;
    return true;
}
