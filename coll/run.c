/* SPDX-License-Identifier: BSD-3-Clause */
/* One call, from the wrapper to the executor: describe it, look where its buffers are, decide, bind, carry out. Up to
 * the decision everything is local and sends nothing; the decision is made from shared facts alone; afterwards a rank
 * that meets trouble still takes part, so that the others end too. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "coll/aware.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/explain.h"
#include "coll/init.h"
#include "coll/job.h"

/* Outside of Tutti: the MPI below may call the user's error handler or op. */
int tt_call_native(const struct tt_call *c)
{
    const bool wide = c->wide || c->send.count > INT_MAX || c->recv.count > INT_MAX;
    const int inside = tt_inside;
    int error;

    tt_inside = 0;
    error = (wide && tt_native_wide[c->coll] ? tt_native_wide[c->coll] : tt_rows[c->coll].native)(c);
    tt_inside = inside;
    return error;
}

/* ---- the MPI below carries it out ---- */

static int run_native_staged(const struct tt_job *job)
{
    struct tt_bound b = {0};
    char why[512];
    bool failed;
    int error;

    if (tt_bind_native(&b, job, why, sizeof why)) {
        tt_bound_end(&b);
        return tt_job_fail(job, why);
    }
    error = tt_call_native(&b.native);
    failed = error == MPI_SUCCESS && tt_bound_deliver(&b, why, sizeof why);
    tt_bound_end(&b);
    return failed ? tt_job_fail(job, why) : error;
}

/* ---- a plan carries it out ---- */

static bool req_done(void *req)
{
    return tt_req_progress(req);
}

/* Runs the plan; why_not is the reason for which this rank can only go through the motions, or NULL. Returns 0, or -1
 * with why. */
static int run_req(struct tt_job *job, const struct tt_plan *plan, struct tt_bound *b, const char *why_not, char *why,
                   size_t size)
{
    struct tt_req req;
    struct tt_place *home = b->with.home;
    const bool entered = !why_not && home->dev->enter(home) == 0;

    b->with.sequence = job->comm->sequence++;
    if (!why_not && !entered)
        why_not = tt_fault();
    if (tt_req_start(&req, plan, &b->with, why_not)) {
        snprintf(why, size, "out of host memory");
    } else {
        if (req.lanes_left > 0)
            tt_wait(req_done, &req);
        snprintf(why, size, "%s", req.failed ? req.why : "");
        tt_req_end(&req);
    }
    if (entered)
        home->dev->leave(home);
    return why[0] ? -1 : 0;
}

/* The user's error handler may not come back: nothing of ours is held when it is called. */
static int run_plan(struct tt_job *job, struct tt_place *home, const struct tt_plan *plan, const char *fault)
{
    struct tt_bound b = {0};
    char why_not[512] = "", why[512] = "";
    bool failed;

    b.with.comm = job->comm->wire_comm;
    b.with.wire = job->comm->wire;
    b.with.home = home;
    if (fault)
        snprintf(why_not, sizeof why_not, "%s", fault);
    else
        tt_bind_plan(&b, job, plan, why_not, sizeof why_not);
    failed =
        run_req(job, plan, &b, why_not[0] ? why_not : NULL, why, sizeof why) || tt_bound_deliver(&b, why, sizeof why);
    tt_bound_end(&b);
    return failed ? tt_job_fail(job, why) : MPI_SUCCESS;
}

/* ---- deciding ---- */

static struct tt_plan *finish_plan(const struct tt_alg *alg, const struct tt_key *key, int rank)
{
    const int64_t chunk = tt_config.chunk / (int64_t)key->shape.unit;
    struct tt_plan *plan = tt_plan_build(alg, &key->shape, rank), *cut, *staged;

    cut = plan ? tt_pass_split(plan, chunk > 0 ? chunk : 1) : NULL;
    tt_plan_free(plan);
    if (!cut || !key->staged)
        return cut;
    staged = tt_pass_stage(cut, key->staged);
    tt_plan_free(cut);
    return staged;
}

/* The decision for this shape, made now. NULL with *why. */
static struct tt_entry *decide_anew(const struct tt_job *job, const struct tt_key *key, const char **why)
{
    const struct tt_choice choice = tt_select(job->call->coll, &job->shape, tt_config.pin[job->call->coll],
                                              job->comm->usable ? job->foreign : "no private communicator", job->ours);
    struct tt_entry *entry;
    struct tt_plan *plan = NULL;

    *why = "the MPI below does not know the type, and has no private communicator left for Tutti";
    if (!choice.alg)
        return NULL;
    if (choice.alg->delegate == TT_OWN) {
        plan = finish_plan(choice.alg, key, job->comm->rank);
        *why = errno == ENOMEM ? "out of host memory" : "the algorithm could not be built: a fault of Tutti's";
        if (!plan)
            return NULL;
    }
    *why = "out of host memory";
    entry = tt_cache_put(&job->comm->cache, key, &choice, plan);
    if (entry)
        tt_explain(job, entry);
    return entry;
}

/* Tells ops and types apart that have no cell: what is said of one does not hold for another. */
static uint64_t foreign_identity(const struct tt_job *job)
{
    return job->foreign ? (uint64_t)(uintptr_t)job->call->op * 31 + (uint64_t)(uintptr_t)job->call->recv.type : 0;
}

/* The same, from the cache if it has been made before; remembered for the next call. */
static struct tt_entry *decide(struct tt_memo *memo, unsigned staged, const char **why)
{
    const struct tt_job *job = &memo->job;
    const struct tt_key key = {.coll = job->call->coll,
                               .shape = job->shape,
                               .cell = job->cell,
                               .foreign = foreign_identity(job),
                               .generation = tt_config_generation,
                               .staged = staged};
    struct tt_entry *entry = tt_cache_find(&job->comm->cache, &key);

    if (!entry)
        entry = decide_anew(job, &key, why);
    memo->entry = entry;
    memo->hash = entry ? entry->hash : 0;
    memo->staged = staged;
    return entry;
}

static bool remembered(struct tt_memo *memo, unsigned staged)
{
    if (!memo->entry || memo->entry->hash != memo->hash || memo->staged != staged || memo->job.shape.counts)
        return false;
    tt_cache_touch(&memo->job.comm->cache, memo->entry);
    return true;
}

/* ---- all together ---- */

/* Of a call whose arguments are not understood: is any buffer, as it was given, on a device, or in doubt? */
static bool may_touch_device(const struct tt_call *c)
{
    const void *const buffers[] = {c->send.buf, c->recv.out};
    struct tt_mem mem;

    for (int i = 0; i < 2; i++)
        if (buffers[i] && buffers[i] != MPI_IN_PLACE && (tt_mem_where(buffers[i], &mem) || tt_mem_on_device(&mem)))
            return true;
    return false;
}

/* Arguments that make no sense: the MPI below says so in its own words, unless it would touch device memory first. */
static int run_unsound(struct tt_job *job, int class, const char *what)
{
    return may_touch_device(job->call) ? tt_job_reject(job, class, what) : tt_call_native(job->call);
}

static int run_inter(struct tt_job *job)
{
    if (may_touch_device(job->call))
        return tt_job_fail(job, "GPU memory on an intercommunicator is not supported yet: copy it to the host first");
    return tt_call_native(job->call);
}

/* Waits for the program's own work in the context of a side. 0, or -1 with tt_fault() set. */
static int settle(const struct tt_side *side)
{
    struct tt_place *place = side->place;
    int error;

    if (!side->on_device)
        return 0;
    if (place->dev->enter(place))
        return -1;
    error = place->dev->settle(place);
    place->dev->leave(place);
    return error;
}

/* Looks where the buffers are. *home: where a plan would work, and *staged: what it would route through pinned memory.
 * NULL, or the reason why this rank can only go through the motions. */
static const char *look(struct tt_job *job, struct tt_place **home, unsigned *staged)
{
    *staged = 0;
    *home = tt_host_place();
    if (tt_job_look(job))
        return tt_fault();
    *home = tt_job_home(job);
    if (!tt_job_touches_device(job))
        return NULL;
    if (tt_config.sync && (settle(&job->send) || settle(&job->recv)))
        return tt_fault();
    *staged = tt_job_on_device(job, *home);
    if (*staged && tt_mpi_takes_device_memory())
        *staged = 0;
    return NULL;
}

static int run_sound(struct tt_memo *memo)
{
    static const char uneven[] = "it sends blocks of another length than it receives: the counts and datatypes of the "
                                 "two do not match";
    struct tt_job *job = &memo->job;
    struct tt_place *home;
    unsigned staged;
    const char *fault = look(job, &home, &staged), *why;
    const struct tt_entry *entry = remembered(memo, staged) ? memo->entry : decide(memo, staged, &why);

    if (!entry)
        return tt_job_fail(job, why);
    memo->delegated = entry->choice.alg->delegate != TT_OWN;
    if (!memo->delegated)
        return run_plan(job, home, entry->plan, !fault && job->uneven ? uneven : fault);
    if (fault)
        return tt_job_fail(job, fault);
    return tt_job_touches_device(job) ? run_native_staged(job) : tt_call_native(job->call);
}

/* ---- the same question again ---- */

static bool same_question(const struct tt_memo *memo, const struct tt_call *c)
{
    const struct tt_call *m = &memo->call;

    return memo->valid && memo->generation == tt_config_generation && m->send.count == c->send.count &&
           m->recv.count == c->recv.count && m->send.type == c->send.type && m->recv.type == c->recv.type &&
           m->op == c->op && m->root == c->root && (m->send.buf == MPI_IN_PLACE) == (c->send.buf == MPI_IN_PLACE) &&
           (m->recv.out == MPI_IN_PLACE) == (c->recv.out == MPI_IN_PLACE) && c->send.buf && c->recv.out &&
           (c->send.buf != c->recv.out || (memo->job.row->traits & TT_ONE_BUFFER));
}

/* What may be kept is what depends on nothing but the arguments that same_question compares. */
static bool may_keep(const struct tt_job *job)
{
    return !job->shape.counts && !(job->row->traits & TT_NO_BUFFER) &&
           (job->cell || !(job->row->traits & TT_REDUCES)) && (!job->send.significant || job->send.lasting) &&
           (!job->recv.significant || job->recv.lasting);
}

static int run_anew(struct tt_memo *memo, const struct tt_call *c, struct tt_comm *comm)
{
    struct tt_job *job = &memo->job;
    const char *what;
    int class;

    *memo = (struct tt_memo){.generation = tt_config_generation, .call = *c};
    *job = (struct tt_job){.call = c, .row = &tt_rows[c->coll], .comm = comm};
    if (comm->inter)
        return run_inter(job);
    if (job->row->traits & (TT_NEIGHBOURS | TT_SEND_COUNTS | TT_RECV_COUNTS))
        return tt_call_native(c);
    class = tt_job_describe(job, &what);
    if (class != MPI_SUCCESS)
        return run_unsound(job, class, what);
    memo->valid = may_keep(job);
    return run_sound(memo);
}

static int run(const struct tt_call *c)
{
    struct tt_comm *comm;
    struct tt_memo *memo;

    if (c->comm == MPI_COMM_NULL)
        return tt_call_native(c);
    switch (tt_comm_of(c->comm, &comm)) {
    case MPI_SUCCESS:
        break;
    case MPI_ERR_NO_MEM:
        return tt_raise(c->comm, "out of host memory");
    default:
        return tt_call_native(c);
    }
    if (!comm->memos)
        comm->memos = calloc(TT_NCOLLS, sizeof *comm->memos);
    if (!comm->memos)
        return tt_raise(c->comm, "out of host memory");
    memo = &comm->memos[c->coll];
    if (!same_question(memo, c))
        return run_anew(memo, c, comm);
    if (memo->delegated && !tt_driver_present())
        return tt_call_native(c);
    memo->job.call = c;
    memo->job.send.buf = (char *)c->send.buf;
    memo->job.recv.buf = c->recv.out;
    return run_sound(memo);
}

int tt_run(const struct tt_call *c)
{
    int error;

    if (tt_inside || !tt_is_on())
        return tt_call_native(c);
    tt_inside++;
    error = run(c);
    tt_inside--;
    return error;
}
