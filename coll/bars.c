/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs nothing where NCCL is not wanted: what follows from a call's arguments is found once for each question. */
#include "coll/bars.h"

#include "coll/config.h"
#include "coll/nccl_calls.h"

const char *tt_bar_words(const struct tt_job *job, enum tt_bar bar)
{
    static const char *const words[] = {
#define B(id, words) words,
        TT_BARS(B)
#undef B
    };

    return bar == TT_BAR_TYPE ? tt_nccl_lacks(job) : bar == TT_BAR_COMM ? tt_nccl_why_not(job->comm) : words[bar];
}

/* Has somebody named it, or asked where buffers are? Then it is a matter even where the model knows of no GPUs. */
static bool is_asked(const struct tt_job *job)
{
    const enum tt_coll coll = job->call->coll;

    return tt_rules_ask_memory(tt_hints_pin(job->comm->hints, coll), coll) ||
           tt_rules_ask_memory(tt_config.pin[coll], coll) || tt_rules_ask_memory(tt_config.read, coll);
}

static bool shape_allows(const struct tt_job *job)
{
    return !tt_infeasible(tt_alg_find(TT_COLL_any, "nccl", 4), &job->shape);
}

enum tt_bar tt_bar_of(const struct tt_job *job, bool foreign)
{
    if (foreign || (!job->comm->known.there && !is_asked(job)) || !shape_allows(job))
        return TT_BAR_UNASKED;
    if (tt_nccl_lacks(job))
        return TT_BAR_TYPE;
    return job->comm->known.threads ? TT_BAR_THREADS : TT_BAR_NONE;
}

enum tt_bar tt_bar_now(const struct tt_job *job, enum tt_bar bar, bool blocking)
{
    if (bar != TT_BAR_NONE)
        return bar;
    if (!blocking)
        return TT_BAR_FLAVOUR;
    return tt_nccl_why_not(job->comm) ? TT_BAR_COMM : TT_BAR_NONE;
}
