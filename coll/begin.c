/* SPDX-License-Identifier: BSD-3-Clause */
/* One call, from its arguments to a task: describe it, look where its buffers are, decide, bind. Up to the decision
 * everything is local and sends nothing, but where the ranks have to agree on NCCL first (vote.h); the decision is made
 * from shared facts alone; afterwards a rank that meets trouble still takes part, so that the others end too. */
#include "coll/begin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/aware.h"
#include "coll/bars.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/explain.h"
#include "coll/hints.h"
#include "coll/hook.h"
#include "coll/nccl_comm.h"
#include "coll/report.h"
#include "coll/vote.h"
#include "coll/watch.h"
#include "cuda/stack.h"

static enum tt_begun refuse(struct tt_task *task, int *error, int class, const char *why)
{
    snprintf(task->why, sizeof task->why, "%s", why);
    *error = class;
    return TT_REFUSED;
}

int tt_refuse(const struct tt_call *c, const struct tt_comm *comm, int error, const char *why)
{
    return error == TT_TASK_FAILED ? tt_call_fail(c, comm, why) : tt_call_reject(c, comm, error, why);
}

/* ---- deciding ---- */

/* What a pass makes of a plan takes its place. */
static struct tt_plan *instead(struct tt_plan *plan, struct tt_plan *rewritten)
{
    tt_plan_free(plan);
    return rewritten;
}

/* An op that has no cell takes two operands. */
static struct tt_plan *finish_plan(const struct tt_choice *choice, const struct tt_key *key, const struct tt_comm *comm)
{
    const int64_t chunk = tt_config.chunk / (int64_t)key->shape.unit;
    struct tt_shape shape = key->shape;
    struct tt_plan *plan;

    shape.segment = choice->segment ? choice->segment : shape.segment;
    plan = tt_plan_build(choice->alg, &shape, comm->rank);
    if (plan)
        plan->near = comm->routes.near;
    if (plan && tt_coll_traits(key->coll) & TT_REDUCES)
        plan = instead(plan, tt_pass_fuse(plan, key->cell ? TT_MAX_SOURCES : 2));
    if (plan)
        plan = instead(plan, tt_pass_split(plan, chunk > 0 ? chunk : 1));
    if (plan && key->staged)
        plan = instead(plan, tt_pass_stage(plan, key->staged));
    return plan;
}

/* Why only the MPI below can do it, or NULL. */
static const char *why_foreign(const struct tt_job *job)
{
    if (job->comm->inter)
        return "an intercommunicator";
    if (job->comm->stage < TT_READY)
        return "a nonblocking call came before any other on this communicator: it has no private one yet";
    return job->comm->usable ? job->foreign : "no private communicator";
}

/* What is asked of a decision, besides the job. */
struct ask {
    unsigned staged;
    bool on_gpus; /* all ranks know that all buffers are there */
    enum tt_bar bar;
};

/* Who has said what is to run. */
static struct tt_orders orders_of(const struct tt_job *job, const struct ask *ask)
{
    const enum tt_coll coll = job->call->coll;

    return (struct tt_orders){.info = tt_hints_pin(job->comm->hints, coll),
                              .pin = tt_config.pin[coll],
                              .rules = tt_config.read,
                              .net = job->comm->net,
                              .level = tt_topo_slowest(job->comm->topo),
                              .on_gpus = ask->on_gpus,
                              .no_nccl = tt_bar_words(job, ask->bar),
                              .topo = job->comm->topo,
                              .staged = job->comm->staged,
                              .votes = !tt_vote_is_asserted(job)};
}

/* The decision for this shape, made now. NULL with *why. */
static struct tt_entry *decide_anew(const struct tt_job *job, const struct ask *ask, const struct tt_key *key,
                                    const char **why)
{
    const struct tt_orders orders = orders_of(job, ask);
    const struct tt_choice choice =
        tt_select(job->call->coll, &job->shape, &orders, why_foreign(job), job->ours);
    struct tt_plan *plan = NULL;
    struct tt_entry *entry;

    *why = "the MPI below does not know the type, and there is no private communicator for Tutti";
    if (!choice.alg)
        return NULL;
    if (choice.alg->delegate == TT_OWN) {
        const uint64_t begun = tt_setup_begin(TT_SETUP_SHARED);

        plan = finish_plan(&choice, key, job->comm);
        tt_setup_end(TT_SETUP_SHARED, begun);
        *why = errno == ENOMEM ? "out of host memory" : "the algorithm could not be built: a fault of Tutti's";
        if (!plan)
            return NULL;
    }
    *why = "out of host memory";
    entry = tt_cache_put(&job->comm->cache, key, &choice, plan);
    if (entry && plan && !key->staged)
        entry->brief = tt_brief_make(plan, &job->comm->routes);
    return entry;
}

/* Tells ops and types apart that have no cell: what is said of one does not hold for another. */
static uint64_t foreign_identity(const struct tt_job *job)
{
    return job->foreign || job->applies
               ? (uint64_t)(uintptr_t)job->call->op * 31 + (uint64_t)(uintptr_t)job->call->recv.type
               : 0;
}

static struct tt_key key_of(const struct tt_job *job, const struct ask *ask)
{
    return (struct tt_key){.coll = job->call->coll,
                           .shape = job->shape,
                           .cell = job->cell,
                           .foreign = foreign_identity(job),
                           .generation = tt_config_generation,
                           .on_gpus = ask->on_gpus,
                           .bar = (unsigned char)ask->bar,
                           .staged = ask->staged};
}

/* The same, from the cache if it has been made before. */
static struct tt_entry *decide(const struct tt_job *job, const struct ask *ask, const char **why)
{
    const struct tt_key key = key_of(job, ask);
    struct tt_entry *entry = tt_cache_find(&job->comm->cache, &key);

    return entry ? entry : decide_anew(job, ask, &key, why);
}

/* The last answer, if it was to the same question. */
static struct tt_entry *remembered(struct tt_memo *memo, const struct ask *ask)
{
    struct tt_entry *entry = memo->entry;

    if (!entry || entry->hash != memo->hash || memo->staged != ask->staged || entry->key.bar != ask->bar ||
        entry->key.on_gpus)
        return NULL;
    tt_cache_touch(&memo->job.comm->cache, entry);
    return entry;
}

/* What carries the call out. */
static void remember(struct tt_memo *memo, struct tt_entry *entry, unsigned staged)
{
    memo->entry = entry;
    memo->hash = entry->hash;
    memo->staged = staged;
    memo->brief = entry->brief && memo->bar != TT_BAR_NONE && entry->key.bar == memo->bar && !entry->key.on_gpus &&
                  !memo->job.uneven && !tt_job_touches_device(&memo->job) && tt_bind_as_is(&memo->job, memo->first);
    if (entry->told)
        return;
    entry->told = true;
    tt_warn_of_slow(&memo->job, &entry->choice);
    tt_explain(&memo->job, entry, why_foreign(&memo->job));
}

/* ---- NCCL, which the ranks have to agree on ---- */

static bool is_nccl(const struct tt_entry *entry)
{
    return entry->choice.alg->delegate == TT_TO_NCCL;
}

static bool same_choice(const struct tt_choice *a, const struct tt_choice *b)
{
    return a->alg == b->alg && a->segment == b->segment;
}

/* What runs, as all ranks agreed: NCCL if it is ready; else what is chosen without it. */
static struct tt_entry *by_verdict(const struct tt_job *job, struct ask ask, const struct tt_verdict *verdict,
                                   const char **why)
{
    struct tt_entry *entry;

    ask.on_gpus = verdict->on_gpus;
    entry = decide(job, &ask, why);
    if (!entry || !is_nccl(entry) || verdict->ready)
        return entry;
    ask.bar = tt_bar_now(job, TT_BAR_NONE, true);
    if (ask.bar == TT_BAR_NONE)
        ask.bar = TT_BAR_VOTE;
    return decide(job, &ask, why);
}

/* Nothing bars NCCL. Two decisions are made from what all ranks share: one for buffers that are nobody knows where, one
 * for buffers on GPUs. If they are the same and not NCCL, there is nothing to agree on. able: this rank has not failed. */
static struct tt_entry *decide_together(const struct tt_job *job, struct ask ask, bool able, const char **why)
{
    const struct ask gpus = {ask.staged, true, TT_BAR_NONE};
    struct tt_entry *anywhere = decide(job, &ask, why), *on_gpus = anywhere ? decide(job, &gpus, why) : NULL;
    struct tt_wanted wanted;
    struct tt_verdict verdict;

    if (!on_gpus || (!is_nccl(anywhere) && same_choice(&anywhere->choice, &on_gpus->choice)))
        return on_gpus ? anywhere : NULL;
    wanted = (struct tt_wanted){.anywhere = is_nccl(anywhere), .on_gpus = is_nccl(on_gpus)};
    if (tt_vote_is_known(job, &wanted, &verdict))
        return by_verdict(job, ask, &verdict, why);
    if (tt_vote_rests(job->comm)) {
        ask.bar = TT_BAR_REST;
        return decide(job, &ask, why);
    }
    if (tt_vote(job, able, &wanted, &verdict) == 0)
        return by_verdict(job, ask, &verdict, why);
    *why = tt_fault();
    return NULL;
}

static struct tt_entry *decide_by_memo(struct tt_memo *memo, enum tt_flavour flavour, unsigned staged, bool able,
                                       const char **why)
{
    const struct ask ask = {staged, false, tt_bar_now(&memo->job, memo->bar, flavour == TT_BLOCKING)};
    struct tt_entry *entry = ask.bar == TT_BAR_NONE ? NULL : remembered(memo, &ask);

    if (entry)
        return entry;
    entry = ask.bar == TT_BAR_NONE ? decide_together(&memo->job, ask, able, why) : decide(&memo->job, &ask, why);
    if (entry)
        remember(memo, entry, staged);
    else
        memo->entry = NULL;
    return entry;
}

/* ---- in a stream ---- */

/* For words: so it is by contract. */
static void suppose_on_gpu(struct tt_side *side)
{
    side->on_device = side->significant;
    side->mem.kind = TT_MEM_DEVICE;
}

/* That a rank may call MPI from several threads is no matter: in a stream, the program sees to the order. */
bool tt_streams_by_nccl(struct tt_job *job)
{
    const struct ask ask = {.on_gpus = true, .bar = TT_BAR_NONE};
    const enum tt_bar bar = tt_bar_of(job, why_foreign(job) != NULL);
    const struct tt_key key = key_of(job, &ask);
    struct tt_cache *cache = &job->comm->in_streams;
    struct tt_entry *entry = tt_cache_find(cache, &key);
    struct tt_orders orders = orders_of(job, &ask);
    struct tt_choice choice;

    if ((bar != TT_BAR_NONE && bar != TT_BAR_THREADS) || tt_nccl_why_not(job->comm))
        return false;
    if (entry)
        return is_nccl(entry);
    orders.votes = false;
    choice = tt_select(job->call->coll, &job->shape, &orders, NULL, job->ours);
    entry = tt_cache_put(cache, &key, &choice, NULL);
    suppose_on_gpu(&job->send);
    suppose_on_gpu(&job->recv);
    if (entry && is_nccl(entry))
        tt_explain(job, entry, NULL);
    return choice.alg && choice.alg->delegate == TT_TO_NCCL;
}

/* ---- arguments that make no sense ---- */

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

/* The MPI below says so in its own words, unless it would touch device memory first. */
static enum tt_begun begin_unsound(const struct tt_call *c, struct tt_task *task, int class, const char *what,
                                   int *error)
{
    if (class == MPI_ERR_NO_MEM)
        return refuse(task, error, TT_TASK_FAILED, what);
    return may_touch_device(c) ? refuse(task, error, class, what) : TT_PASS;
}

/* ---- looking ---- */

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
    if (*staged && (job->comm->routes.all_near || tt_mpi_takes_device_memory()))
        *staged = 0;
    return NULL;
}

/* ---- beginning ---- */

/* The job, where the caller wants it; but that of a blocking call, which the next one may ask for again, stays where it
 * is: nothing else begins on the communicator meanwhile, unless what is checked first does, as soon as it is. */
static struct tt_job *place_job(struct tt_memo *memo, enum tt_flavour flavour, struct tt_job *keep)
{
    if (flavour == TT_BLOCKING && memo->valid && !tt_config.check)
        return &memo->job;
    *keep = memo->job;
    memo->valid &= !memo->job.room;
    memo->job.room = NULL;
    return keep;
}

/* Is the blocking call of the MPI below to be used? If it moves on what else is under way, yes. Else a blocking call is
 * begun like a nonblocking one, which can be polled, at about 1 us; on every rank, since the two do not match. (Open
 * MPI 4.1's nonblocking ones are not as good as its blocking ones: they swap what passes between two ranks that are
 * neighbours twice over, and wait for empty messages of an alltoallv that the other rank does not send; MPICH's
 * MPI_Ibcast on an intercommunicator, 4.0 and 5.0 alike, brings what the wrong rank has from any root but the first: on
 * these all ranks have met before, tt_run sees to that, and the call blocks for no longer than it takes.) */
static bool is_at_once(const struct tt_job *job, enum tt_flavour flavour)
{
    return flavour == TT_BLOCKING && (tt_hook_exists || job->comm->inter || job->comm->size == 1);
}

/* Of a call on host memory that the MPI below is to do: may it have the call itself, instead of one of Tutti's? */
static bool is_the_mpis(const struct tt_job *job, enum tt_flavour flavour)
{
    return (flavour == TT_NONBLOCKING && !tt_report_runs) || is_at_once(job, flavour);
}

static enum tt_begun begin_native(struct tt_memo *memo, enum tt_flavour flavour, const char *fault, struct tt_job *keep,
                                  struct tt_task *task, int *error)
{
    struct tt_job *job;

    if (fault)
        return refuse(task, error, TT_TASK_FAILED, fault);
    if (!tt_job_touches_device(&memo->job) && is_the_mpis(&memo->job, flavour))
        return TT_PASS;
    job = place_job(memo, flavour, keep);
    if (tt_task_native(task, job, is_at_once(job, flavour)) == 0)
        return TT_BEGUN;
    *error = tt_task_end(task);
    return TT_REFUSED;
}

static enum tt_begun begin_sound(struct tt_memo *memo, enum tt_flavour flavour, struct tt_job *keep,
                                 struct tt_task *task, int *error)
{
    static const char uneven[] = "it sends blocks of another length than it receives: the counts and datatypes of the "
                                 "two do not match";
    struct tt_place *home;
    unsigned staged;
    const char *fault = look(&memo->job, &home, &staged), *why;
    const struct tt_entry *entry;

    if (!fault && memo->job.uneven)
        fault = uneven;
    task->job = &memo->job;
    entry = decide_by_memo(memo, flavour, staged, !fault, &why);
    if (!entry)
        return refuse(task, error, TT_TASK_FAILED, why);
    task->alg = entry->choice.alg;
    memo->delegated = entry->choice.alg->delegate == TT_TO_MPI;
    memo->delegated_under = entry->key.bar;
    if (memo->delegated)
        return begin_native(memo, flavour, fault == uneven ? NULL : fault, keep, task, error);
    if (is_nccl(entry))
        tt_task_nccl(task, place_job(memo, flavour, keep), fault);
    else
        tt_task_plan(task, place_job(memo, flavour, keep), home, entry->plan, fault);
    return TT_BEGUN;
}

/* ---- the same question again ---- */

/* Other buffers, that is, of which as much may be said. Those that mean nothing here may be anything. */
static __attribute__((noinline)) bool alike_buffers(const struct tt_memo *memo, const struct tt_call *c)
{
    const struct tt_job *job = &memo->job;
    const struct tt_call *m = &memo->call;

    return (m->send.buf == MPI_IN_PLACE) == (c->send.buf == MPI_IN_PLACE) &&
           (m->recv.out == MPI_IN_PLACE) == (c->recv.out == MPI_IN_PLACE) && (c->send.buf || !job->send.significant) &&
           (c->recv.out || !job->recv.significant) &&
           (c->send.buf != c->recv.out || (job->row->traits & (TT_ONE_BUFFER | TT_NO_BUFFER)));
}

static __attribute__((noinline)) bool same_arrays(const struct tt_memo *memo, const struct tt_call *c)
{
    struct tt_array list[TT_MOST_ARRAYS];
    const int n = tt_job_arrays(&memo->job, c, list);
    const char *known = memo->arrays;
    bool same = memo->call.wide == c->wide;

    for (int i = 0; same && i < n; known += list[i++].bytes)
        same = list[i].at && memcmp(list[i].at, known, list[i].bytes) == 0;
    return same;
}

/* False if there is no memory. */
static bool keep_arrays(struct tt_memo *memo)
{
    struct tt_array list[TT_MOST_ARRAYS];
    const int n = tt_job_arrays(&memo->job, &memo->call, list);
    size_t bytes = 0;
    char *to;

    for (int i = 0; i < n; i++)
        bytes += list[i].bytes;
    to = memo->arrays = malloc(bytes + 1);
    for (int i = 0; to && i < n; to += list[i++].bytes)
        memcpy(to, list[i].at, list[i].bytes);
    return to;
}

static inline bool same_question(const struct tt_memo *memo, const struct tt_call *c)
{
    const struct tt_call *m = &memo->call;

    return memo->valid && memo->generation == tt_config_generation && m->send.count == c->send.count &&
           m->recv.count == c->recv.count && m->send.type == c->send.type && m->recv.type == c->recv.type &&
           m->op == c->op && m->root == c->root &&
           ((m->send.buf == c->send.buf && m->recv.out == c->recv.out) || alike_buffers(memo, c)) &&
           (!memo->arrays || same_arrays(memo, c));
}

/* What may be kept is what depends on nothing but the arguments that same_question compares. */
static bool may_keep(const struct tt_job *job)
{
    return !job->aliased && !(job->row->traits & TT_NEIGHBOURS) && (job->cell || !(job->row->traits & TT_REDUCES)) &&
           (!job->send.significant || job->send.lasting) && (!job->recv.significant || job->recv.lasting);
}

/* What the call means, into the memo. Returns MPI_SUCCESS, or the class of error that its arguments deserve and *what.
 */
static int describe(struct tt_memo *memo, const struct tt_call *c, struct tt_comm *comm, enum tt_flavour flavour,
                    const char **what)
{
    struct tt_job *job = &memo->job;
    int class;

    tt_job_end(job);
    free(memo->arrays);
    *memo = (struct tt_memo){.generation = tt_config_generation, .call = *c};
    *job = (struct tt_job){.call = c, .row = &tt_rows[c->coll], .comm = comm};
    class = tt_job_describe(job, what);
    if (class == MPI_SUCCESS)
        memo->bar = tt_bar_of(job, why_foreign(job) != NULL);
    memo->valid =
        class == MPI_SUCCESS && may_keep(job) && (!job->room || (flavour == TT_BLOCKING && keep_arrays(memo)));
    return class;
}

/* Would it come to the MPI below again? Not known of a call for which the ranks may have to vote: those that have a driver
 * would, so this one must. */
static bool is_delegated(const struct tt_memo *memo, enum tt_flavour flavour)
{
    const enum tt_bar bar = tt_bar_now(&memo->job, memo->bar, flavour == TT_BLOCKING);

    return memo->delegated && memo->entry->hash == memo->hash && bar != TT_BAR_NONE && bar == memo->delegated_under &&
           is_the_mpis(&memo->job, flavour);
}

static struct tt_memo *memo_of(const struct tt_call *c, struct tt_comm *comm)
{
    if (!comm->memos)
        comm->memos = calloc(TT_NCOLLS, sizeof *comm->memos);
    return comm->memos ? &comm->memos[c->coll] : NULL;
}

/* The buffers of this call, in what is known of the last one. */
static void take_buffers(struct tt_memo *memo, const struct tt_call *c)
{
    memo->job.call = c;
    memo->job.send.buf = (char *)c->send.buf;
    memo->job.recv.buf = c->recv.out;
}

static enum tt_begun begin(struct tt_memo *memo, const struct tt_call *c, struct tt_comm *comm, enum tt_flavour flavour,
                           struct tt_job *keep, struct tt_task *task, int *error)
{
    const char *what;

    if (!same_question(memo, c)) {
        const int class = describe(memo, c, comm, flavour, &what);

        return class == MPI_SUCCESS ? begin_sound(memo, flavour, keep, task, error)
                                    : begin_unsound(c, task, class, what, error);
    }
    take_buffers(memo, c);
    if (is_delegated(memo, flavour) && !tt_driver_present()) {
        task->job = &memo->job;
        task->alg = memo->entry->choice.alg;
        return TT_PASS;
    }
    return begin_sound(memo, flavour, keep, task, error);
}

enum tt_begun tt_begin(const struct tt_call *c, struct tt_comm *comm, enum tt_flavour flavour, struct tt_job *keep,
                       struct tt_task *task, int *error)
{
    struct tt_memo *memo = memo_of(c, comm);
    enum tt_begun begun;

    task->job = NULL;
    task->alg = NULL;
    task->posted = false;
    if (comm->lost)
        return refuse(task, error, TT_TASK_FAILED, "this rank failed before it could take part in an earlier call on "
                                                   "this communicator, so it is behind the others for good");
    begun = memo ? begin(memo, c, comm, flavour, keep, task, error)
                 : refuse(task, error, TT_TASK_FAILED, "out of host memory");
    /* the others are in that call, by now or soon: were this rank to meet them with its next one, both would be told
     * of success and have what is not theirs */
    comm->lost |= begun == TT_REFUSED && *error == TT_TASK_FAILED && comm->size > 1;
    return begun;
}

/* What has no bytes is nowhere. */
static bool is_surely_on_host(const struct tt_side *side, const char *data)
{
    return side->bytes == 0 || tt_is_on_stack(data);
}

/* base: where the data of SEND and RECV begin. */
static bool is_on_host(struct tt_job *job, char *const base[])
{
    return (is_surely_on_host(&job->send, base[SEND]) && is_surely_on_host(&job->recv, base[RECV])) ||
           !tt_driver_present() || (tt_job_look(job) == 0 && !tt_job_touches_device(job));
}

const struct tt_entry *tt_begin_again(const struct tt_call *c, struct tt_comm *comm, struct tt_job **job,
                                      struct tt_breath *breath)
{
    struct tt_memo *memo = comm->memos ? &comm->memos[c->coll] : NULL;
    struct tt_entry *entry;

    if (!memo || !memo->brief || comm->lost || !same_question(memo, c))
        return NULL;
    entry = memo->entry;
    if (!entry || entry->hash != memo->hash)
        return NULL;
    tt_cache_touch(&comm->cache, entry);
    take_buffers(memo, c);
    *job = &memo->job;
    breath->brief = entry->brief;
    breath->base[SEND] = tt_away(c->send.buf, memo->first[SEND]);
    breath->base[RECV] = tt_away(c->recv.out, memo->first[RECV]);
    breath->base[TMP] = breath->room;
    if (!is_on_host(*job, breath->base))
        return NULL;
    breath->cell = memo->job.cell;
    return entry;
}

int tt_would_begin(const struct tt_call *c, struct tt_comm *comm, struct tt_job *job)
{
    struct tt_memo *memo = memo_of(c, comm);
    const char *what;
    int class;

    if (!memo)
        return MPI_ERR_NO_MEM;
    class = describe(memo, c, comm, TT_PERSISTENT, &what);
    if (class == MPI_SUCCESS)
        place_job(memo, TT_PERSISTENT, job);
    else
        tt_job_end(&memo->job);
    memo->valid = false;
    return class;
}
