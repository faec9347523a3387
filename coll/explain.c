/* SPDX-License-Identifier: BSD-3-Clause */
/* One line per decision, in words that a person without the source understands. */
#include "coll/explain.h"

#include <stdio.h>
#include <string.h>

#include "coll/bars.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/init.h"
#include "coll/sizes.h"
#include "coll/tutti.h"
#include "selector/model.h"
#include "selector/nccl.h"

static const char *memory_of(const struct tt_job *job)
{
    const struct tt_side *s = job->send.significant ? &job->send : &job->recv;
    const struct tt_side *r = job->recv.significant ? &job->recv : s;

    if (s->on_device != r->on_device)
        return "host and GPU memory";
    return !r->on_device ? "host memory" : r->mem.kind == TT_MEM_MANAGED ? "managed memory" : "GPU memory";
}

static void what_moves(const struct tt_job *job, char *text, size_t size)
{
    char bytes[32];

    tt_size_print(bytes, sizeof bytes, tt_shape_bytes(&job->shape));
    if (job->row->traits & TT_NO_BUFFER)
        text[0] = '\0';
    else if (tt_coll_lengths_local(job->call->coll))
        snprintf(text, size, ", blocks of any length");
    else if (job->row->traits & TT_REDUCES)
        snprintf(text, size, ", %s%s, %s %s", bytes, job->row->traits & TT_SEND_BLOCKS ? " a block" : "",
                 tt_mpi_type_name(job->call->recv.type), tt_mpi_op_name(job->call->op));
    else
        snprintf(text, size, ", %s%s", bytes, job->row->traits & (TT_SEND_BLOCKS | TT_RECV_BLOCKS) ? " a block" : "");
}

/* Why it cannot be, whoever decides; or NULL. */
static const char *why_not(const struct tt_job *job, const struct tt_entry *entry, const struct tt_alg *alg,
                           const char *foreign)
{
    if (foreign && alg->delegate == TT_OWN)
        return foreign;
    if (job->ours && alg->delegate == TT_TO_MPI)
        return "the MPI below does not know the type";
    if (alg->delegate == TT_TO_NCCL && !tt_infeasible(alg, &job->shape))
        return tt_bar_words(job, entry->key.bar);
    return tt_infeasible(alg, &job->shape);
}

/* What NCCL would take if all buffers were on GPUs; negative: nobody knows. */
static double nccl_seconds(const struct tt_job *job)
{
    return job->comm->topo ? tt_nccl_seconds(&job->shape, job->comm->topo) : -1;
}

static void tell_of(const struct tt_job *job, const struct tt_entry *entry, const struct tt_alg *alg,
                    const char *foreign)
{
    const char *not = why_not(job, entry, alg, foreign);
    char time[32];

    if (not )
        fprintf(stderr, "tutti:   %s cannot serve this: %s\n", alg->name, not );
    else if (alg->cost && job->comm->net)
        fprintf(stderr, "tutti:   %s is expected to take %s\n", alg->name,
                tt_time_print(time, sizeof time, tt_estimate(alg, &job->shape, job->comm->net).seconds));
    else if (alg->delegate == TT_TO_NCCL && nccl_seconds(job) >= 0)
        fprintf(stderr, "tutti:   %s is expected to take %s where all buffers are on GPUs\n", alg->name,
                tt_time_print(time, sizeof time, nccl_seconds(job)));
    else
        fprintf(stderr, "tutti:   %s could serve it: the model knows no time\n", alg->name);
}

void tt_explain(const struct tt_job *job, const struct tt_entry *entry, const char *foreign)
{
    char moves[160];

    if (!tt_config.explain || job->comm->rank != 0 || job->comm->size == 1)
        return;
    what_moves(job, moves, sizeof moves);
    fprintf(stderr, "tutti: %s%s, %d ranks: %s (%s)%s%s%s\n", job->row->name, moves, job->comm->size,
            entry->choice.alg->name, entry->choice.why, job->row->traits & TT_NO_BUFFER ? "" : "; on rank 0 ",
            job->row->traits & TT_NO_BUFFER ? "" : memory_of(job), entry->key.staged && entry->plan ? ", staged" : "");
    for (int i = 0; tt_config.explain > 1 && tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], job->call->coll))
            tell_of(job, entry, tt_algs[i], foreign);
}

void tt_warn_of_slow(const struct tt_job *job, const struct tt_choice *choice)
{
    static atomic_bool warned[TT_NCOLLS];

    if (choice->slow && job->comm->rank == 0 && !atomic_exchange(&warned[job->call->coll], true))
        tt_log(TT_WARN, "%s on %d ranks: %s (%s). Said once for each collective.", job->row->name, job->comm->size,
               choice->alg->name, choice->why);
}

/* The decision in a memo, if the cache still has it. */
static const struct tt_choice *choice_in(const struct tt_memo *memo)
{
    return memo->entry && memo->entry->hash == memo->hash ? &memo->entry->choice : NULL;
}

__attribute__((visibility("default"))) const char *tutti_choice(MPI_Comm comm, const char *collective)
{
    static __thread char text[320];
    const enum tt_coll coll = tt_coll_find(collective, strlen(collective));
    const struct tt_choice *choice;
    const struct tt_comm *c;

    if (coll == TT_NCOLLS || comm == MPI_COMM_NULL || !tt_is_on())
        return NULL;
    c = tt_comm_known(comm);
    if (!c || !c->memos)
        return NULL;
    choice = choice_in(&c->memos[coll]);
    if (!choice)
        return NULL;
    snprintf(text, sizeof text, "%s (%s)", choice->alg->name, choice->why);
    return text;
}
