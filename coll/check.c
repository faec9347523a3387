/* SPDX-License-Identifier: BSD-3-Clause */
/* How ranks meet. Each sends its record, of fixed size, to rank 0 of the communicator, whatever collective it is in,
 * which holds them against one another and answers: go on; or what differs; so a checked call costs 2(p-1) messages
 * more, half of them of a few bytes, all through one rank, which is slow and simple, and knows who has not come. If
 * rank 0 itself does not come, the others ask it, and leave when it does not answer; it will find their question when
 * it comes.
 *
 * The n-th record of a rank on a communicator is that of its n-th call: messages do not overtake, so none has to be
 * numbered. Rank 0 answers in that order. Where each pair of ranks has a count of its own, and the sum over all pairs
 * shows that one of them does not agree, rank 0 asks all for the sums over half of the pairs, and so on: it has found
 * the pair after log2(p^2) questions, without anybody having had to know all counts. */
#include "coll/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/error.h"
#include "coll/pause.h"
#include "coll/request.h"
#include "coll/ticks.h"

/* Of tags: those beyond the plans', the notice's and the clocks'. */
enum tag { RECORD = 2, ANSWER, IMPATIENT, VERDICT, QUESTION };

enum { GRACE_S = 2 }; /* so long rank 0 has to answer who asks it */

enum state { WAITING, GATHERING, ASKING, TELLING, OVER }; /* only rank 0 asks and tells */

enum word { GO, MISMATCH, MISSING, SUM };

/* What rank 0 sends to all. */
struct verdict {
    int word;
    struct tt_pairs pairs; /* SUM: of these */
    char text[480];        /* MISMATCH, MISSING */
};

struct answer {
    uint64_t sum;
    char sends[72], expects[72]; /* where it is about one pair of ranks */
};

/* What lasts from call to call. */
struct tt_checks {
    uint64_t opened, next;
    bool dead; /* a call was given up: ranks are not where the others think they are */
    char why[480];
};

/* Messages of one check. At rank 0 there are size of each, its own unused. */
struct tt_comparison {
    struct tt_record mine, *records;
    struct verdict verdict;
    struct answer answer, *answers;
    MPI_Request *requests; /* of rank 0: what comes */
    MPI_Request *sends;    /* of rank 0: its answers */
    MPI_Request sent, coming;
    signed char *here;     /* of rank 0: 1 for whose record or answer has come */
    struct tt_pairs pairs; /* the pair is among these */
};

bool tt_checks(const struct tt_comm *comm)
{
    return tt_config.check && comm->usable;
}

bool tt_checks_died(const struct tt_comm *comm)
{
    return comm->checks && comm->checks->dead;
}

void tt_checks_free(struct tt_checks *checks)
{
    free(checks);
}

static int tag_of(const struct tt_check *check, enum tag tag)
{
    return tt_tag_beyond(check->comm->slots) + (int)tag;
}

static bool is_first(const struct tt_check *check)
{
    return check->comm->rank == 0;
}

static double waited_s(const struct tt_check *check)
{
    return (double)(tt_nanoseconds(CLOCK_MONOTONIC) - check->since) * 1e-9;
}

static bool over(struct tt_check *check)
{
    check->state = OVER;
    return true;
}

/* For good. */
static bool fail(struct tt_check *check, const char *why)
{
    check->failed = true;
    snprintf(check->why, sizeof check->why, "%s", why);
    return over(check);
}

/* Ranks are where nobody knows: nothing that comes later on the communicator can be trusted. */
static bool give_up(struct tt_check *check, const char *why)
{
    struct tt_checks *all = check->comm->checks;

    all->dead = true;
    snprintf(all->why, sizeof all->why, "%s", why);
    return fail(check, why);
}

/* ---- messages ---- */

static void send(const struct tt_check *check, const void *what, size_t bytes, int to, enum tag tag,
                 MPI_Request *request)
{
    if (PMPI_Isend(what, (int)bytes, MPI_BYTE, to, tag_of(check, tag), check->comm->wire_comm, request) != MPI_SUCCESS)
        *request = MPI_REQUEST_NULL;
}

static void receive(const struct tt_check *check, void *what, size_t bytes, int from, enum tag tag,
                    MPI_Request *request)
{
    if (PMPI_Irecv(what, (int)bytes, MPI_BYTE, from, tag_of(check, tag), check->comm->wire_comm, request) !=
        MPI_SUCCESS)
        *request = MPI_REQUEST_NULL;
}

static bool is_done(MPI_Request *request)
{
    int flag = 1;

    if (*request != MPI_REQUEST_NULL && PMPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        flag = 1;
    return flag;
}

static void drop(MPI_Request *request)
{
    if (*request == MPI_REQUEST_NULL)
        return;
    PMPI_Cancel(request);
    PMPI_Request_free(request);
}

/* ---- rank 0 ---- */

static void await_all(struct tt_check *check, enum tag tag)
{
    struct tt_comparison *m = check->meeting;

    for (int r = 1; r < check->comm->size; r++) {
        m->here[r] = 0;
        if (tag == RECORD)
            receive(check, &m->records[r], sizeof *m->records, r, tag, &m->requests[r]);
        else
            receive(check, &m->answers[r], sizeof *m->answers, r, tag, &m->requests[r]);
    }
    m->here[0] = 1;
}

static bool all_are_here(const struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    bool all = true;

    for (int r = 1; r < check->comm->size; r++) {
        m->here[r] = m->here[r] || is_done(&m->requests[r]);
        all = all && m->here[r];
    }
    return all;
}

/* The receiver has posted for the longest; what is said is as long as it has to be. */
static size_t length_of(const struct verdict *v)
{
    return v->word == GO ? sizeof v->word : sizeof *v;
}

static void tell_all(struct tt_check *check, enum tag tag)
{
    struct tt_comparison *m = check->meeting;

    for (int r = 1; r < check->comm->size; r++)
        send(check, &m->verdict, length_of(&m->verdict), r, tag, &m->sends[r]);
}

static bool all_are_told(struct tt_check *check)
{
    bool all = true;

    for (int r = 1; r < check->comm->size; r++)
        all = is_done(&check->meeting->sends[r]) && all;
    return all;
}

static void decide(struct tt_check *check, enum word word, enum tag tag)
{
    check->meeting->verdict.word = (int)word;
    tell_all(check, tag);
    if (word == MISSING)
        give_up(check, check->meeting->verdict.text);
    else if (word == MISMATCH)
        fail(check, check->meeting->verdict.text);
    if (word != MISSING) /* all are there to be told */
        check->state = TELLING;
}

/* ---- rank 0: which pair of ranks does not agree ---- */

static void ask(struct tt_check *check, enum tag tag)
{
    struct tt_comparison *m = check->meeting;

    m->verdict.word = SUM;
    m->verdict.pairs = m->pairs;
    for (int side = 0; side < 2; side++) { /* the lower half of whichever range can be halved */
        int *range = side ? m->verdict.pairs.to : m->verdict.pairs.from;

        if (range[1] - range[0] > 1) {
            range[1] = range[0] + (range[1] - range[0]) / 2;
            break;
        }
    }
    await_all(check, ANSWER);
    tell_all(check, tag);
    check->state = ASKING;
}

static void tell_pair(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    const int from = m->pairs.from[0], to = m->pairs.to[0];

    tt_pair_print(m->answers[0].sends, sizeof m->answers->sends, check->job, from, to, true);
    tt_pair_print(m->answers[0].expects, sizeof m->answers->expects, check->job, from, to, false);
    snprintf(
        m->verdict.text, sizeof m->verdict.text,
        "calls of %s on %s do not match: the count or datatype differs: rank %d sends %s to rank %d, which expects %s",
        m->mine.call, check->on, from, m->answers[from].sends, to, m->answers[to].expects);
    decide(check, MISMATCH, QUESTION);
}

static bool is_one(const struct tt_pairs *p)
{
    return p->from[1] - p->from[0] == 1 && p->to[1] - p->to[0] == 1;
}

/* Where the sum over what was asked about is not 0, the pair is there; else in the other half. */
static void narrow(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    const struct tt_pairs asked = m->verdict.pairs;
    uint64_t sum = tt_pairs_sum(check->job, &asked);

    for (int r = 1; r < check->comm->size; r++)
        sum += m->answers[r].sum;
    if (sum)
        m->pairs = asked;
    else if (asked.from[1] < m->pairs.from[1])
        m->pairs.from[0] = asked.from[1];
    else
        m->pairs.to[0] = asked.to[1];
}

static void hear_answers(struct tt_check *check)
{
    const bool was_one = is_one(&check->meeting->pairs);

    if (was_one)
        tell_pair(check);
    else {
        narrow(check);
        ask(check, QUESTION);
    }
}

/* ---- rank 0: records ---- */

static void compare(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    uint64_t sum = 0;

    if (!tt_records_agree(m->records, check->comm->size, check->on, m->verdict.text, sizeof m->verdict.text)) {
        decide(check, MISMATCH, VERDICT);
        return;
    }
    for (int r = 0; r < check->comm->size; r++)
        sum += m->records[r].pairs;
    if (sum == 0) {
        decide(check, GO, VERDICT);
        return;
    }
    m->pairs = (struct tt_pairs){{0, check->comm->size}, {0, check->comm->size}};
    ask(check, VERDICT);
}

/* Who asks why it takes so long, and may have left since; or -1. */
static int find_impatient(const struct tt_check *check)
{
    MPI_Status status;
    int there = 0;

    if (check->comm->size > 1)
        PMPI_Iprobe(MPI_ANY_SOURCE, tag_of(check, IMPATIENT), check->comm->wire_comm, &there, &status);
    return there ? status.MPI_SOURCE : -1;
}

static bool is_one_rank(const char *ranks)
{
    return strncmp(ranks, "rank ", 5) == 0;
}

/* Whose record, or answer, has come, and whose has not. */
static void tell_missing(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    char missing[128], here[128];

    tt_ranks_print(missing, sizeof missing, m->here, check->comm->size, 0);
    tt_ranks_print(here, sizeof here, m->here, check->comm->size, 1);
    snprintf(m->verdict.text, sizeof m->verdict.text,
             "%s on %s was given up after %d s (TUTTI_CHECK_TIMEOUT): %s %s not come to it, %s %s", m->mine.call,
             check->on, (int)tt_config.check_timeout, missing, is_one_rank(missing) ? "has" : "have", here,
             is_one_rank(here) ? "waits" : "wait");
}

/* Some have left, or will: nobody may go on. */
static void leave(struct tt_check *check, bool all, int asker)
{
    struct tt_comparison *m = check->meeting;

    if (all)
        snprintf(m->verdict.text, sizeof m->verdict.text, "%s on %s: rank %d had given it up when rank 0 came",
                 m->mine.call, check->on, asker);
    else
        tell_missing(check);
    for (int r = 1; r < check->comm->size; r++)
        drop(&m->requests[r]);
    decide(check, MISSING, check->state == ASKING ? QUESTION : VERDICT);
}

static bool is_late(const struct tt_check *check)
{
    return waited_s(check) > (double)tt_config.check_timeout;
}

static bool poll_first(struct tt_check *check)
{
    const bool all = all_are_here(check);
    const int asker = find_impatient(check);

    if (asker >= 0 || (!all && is_late(check)))
        leave(check, all, asker);
    else if (all && all_are_told(check) && check->state == ASKING)
        hear_answers(check);
    else if (all && check->state == GATHERING)
        compare(check);
    return check->state == OVER;
}

/* Its words stay where they are until all have them. */
static bool poll_telling(struct tt_check *check)
{
    return all_are_told(check) && over(check);
}

/* ---- the others ---- */

static void answer(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    const struct tt_pairs *p = &m->verdict.pairs;

    m->answer.sum = tt_pairs_sum(check->job, p);
    if (is_one(p)) {
        tt_pair_print(m->answer.sends, sizeof m->answer.sends, check->job, p->from[0], p->to[0], true);
        tt_pair_print(m->answer.expects, sizeof m->answer.expects, check->job, p->from[0], p->to[0], false);
    }
    receive(check, &m->verdict, sizeof m->verdict, 0, QUESTION, &m->coming);
    send(check, &m->answer, sizeof m->answer, 0, ANSWER, &m->sent);
}

/* Rank 0 finds the question when it comes; if it was there all the time, it answers. */
static bool ask_first(struct tt_check *check)
{
    char why[sizeof check->why];
    MPI_Request sent;

    if (!check->impatient && is_late(check)) {
        check->impatient = true;
        send(check, NULL, 0, 0, IMPATIENT, &sent);
        if (sent != MPI_REQUEST_NULL)
            PMPI_Request_free(&sent);
    }
    if (waited_s(check) <= (double)tt_config.check_timeout + GRACE_S)
        return false;
    snprintf(
        why, sizeof why,
        "%s on %s was given up after %lld s (TUTTI_CHECK_TIMEOUT): rank 0, to which the others report, has not come "
        "to it",
        check->meeting->mine.call, check->on, (long long)tt_config.check_timeout);
    check->alone = true;
    return give_up(check, why);
}

static bool poll_other(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    if (!is_done(&m->coming))
        return ask_first(check);
    if (!is_done(&m->sent))
        return false;
    switch (m->verdict.word) {
    case GO:
        return over(check);
    case MISMATCH:
        return fail(check, m->verdict.text);
    case MISSING:
        return give_up(check, m->verdict.text);
    default:
        answer(check);
        return false;
    }
}

/* ---- a check's life ---- */

static bool is_its_turn(const struct tt_check *check)
{
    return check->comm->checks->next == check->number;
}

bool tt_check_poll(struct tt_check *check)
{
    if (check->state == OVER)
        return true;
    if (check->state == TELLING)
        return poll_telling(check);
    if (check->comm->checks->dead)
        return fail(check, check->comm->checks->why);
    if (!is_its_turn(check))
        return false;
    if (check->state == WAITING) {
        check->since = tt_nanoseconds(CLOCK_MONOTONIC);
        check->state = GATHERING;
    }
    return is_first(check) ? poll_first(check) : poll_other(check);
}

void tt_check_next(struct tt_check *check)
{
    if (check->comm->checks && is_its_turn(check))
        check->comm->checks->next++;
}

static void meeting_free(struct tt_comparison *m)
{
    if (!m)
        return;
    free(m->records);
    free(m->answers);
    free(m->requests);
    free(m->sends);
    free(m->here);
    free(m);
}

static struct tt_comparison *meeting_new(const struct tt_comm *comm)
{
    struct tt_comparison *m = calloc(1, sizeof *m);
    const size_t n = (size_t)comm->size;

    if (!m)
        return NULL;
    m->sent = m->coming = MPI_REQUEST_NULL;
    if (comm->rank > 0)
        return m;
    m->records = calloc(n, sizeof *m->records);
    m->answers = calloc(n, sizeof *m->answers);
    m->requests = calloc(n, sizeof *m->requests);
    m->sends = calloc(n, sizeof *m->sends);
    m->here = calloc(n, sizeof *m->here);
    if (!m->records || !m->answers || !m->requests || !m->sends || !m->here) {
        meeting_free(m);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        m->requests[i] = m->sends[i] = MPI_REQUEST_NULL;
    return m;
}

static void name_comm(struct tt_check *check, MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;

    PMPI_Comm_get_name(comm, name, &length);
    if (*name)
        snprintf(check->on, sizeof check->on, "%.60s", name);
    else
        snprintf(check->on, sizeof check->on, "a communicator of %d ranks", check->comm->size);
}

static void make_record(struct tt_check *check, enum tt_flavour flavour, int class, const char *what)
{
    struct tt_record *mine = &check->meeting->mine;

    if (class == MPI_SUCCESS) {
        tt_fingerprint(mine, check->job, flavour);
        tt_check_buffers(mine, check->job);
    } else {
        tt_fingerprint_call(mine, check->job->call, flavour);
        snprintf(mine->fault, sizeof mine->fault, "%s", what);
    }
}

static void begin(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    if (is_first(check)) {
        m->records[0] = m->mine;
        await_all(check, RECORD);
        return;
    }
    receive(check, &m->verdict, sizeof m->verdict, 0, VERDICT, &m->coming);
    send(check, &m->mine, sizeof m->mine, 0, RECORD, &m->sent);
}

void tt_check_open(struct tt_check *check, struct tt_job *job, enum tt_flavour flavour, int class, const char *what)
{
    struct tt_comm *comm = job->comm;

    *check = (struct tt_check){.comm = comm, .job = job, .state = WAITING};
    if (!comm->checks)
        comm->checks = calloc(1, sizeof *comm->checks);
    check->meeting = comm->checks ? meeting_new(comm) : NULL;
    if (!check->meeting) {
        fail(check, "out of host memory: this rank cannot say what it calls");
        check->alone = true;
        comm->lost = comm->size > 1;
        return;
    }
    check->number = comm->checks->opened++;
    name_comm(check, job->call->comm);
    make_record(check, flavour, class, what);
    if (!comm->checks->dead)
        begin(check);
}

/* What is still under way is cancelled; answers that nobody takes in stay with their room. */
void tt_check_end(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    bool told = true;

    if (!m)
        return;
    drop(&m->coming);
    for (int r = 1; m->requests && r < check->comm->size; r++)
        drop(&m->requests[r]);
    told = !m->sends || all_are_told(check);
    for (int r = 1; m->sends && !told && r < check->comm->size; r++)
        if (m->sends[r] != MPI_REQUEST_NULL)
            PMPI_Request_free(&m->sends[r]);
    if (m->sent != MPI_REQUEST_NULL && !is_done(&m->sent)) {
        PMPI_Request_free(&m->sent);
        told = false;
    }
    if (told)
        meeting_free(m);
    check->meeting = NULL;
}

int tt_check_raise(const struct tt_check *check, MPI_Comm comm)
{
    return (check->alone ? tt_raise : tt_raise_together)(comm, check->why);
}

static bool is_over(void *check)
{
    tt_progress();
    return tt_check_poll(check);
}

int tt_check_call(const struct tt_call *c, struct tt_comm *comm)
{
    struct tt_job job = {.call = c, .row = &tt_rows[c->coll], .comm = comm};
    struct tt_check check;
    const char *what = "";
    const int class = tt_job_describe(&job, &what);

    tt_check_open(&check, &job, TT_BLOCKING, class, what);
    tt_wait(is_over, &check);
    tt_check_next(&check);
    tt_check_end(&check);
    tt_job_end(&job);
    return check.failed ? tt_check_raise(&check, c->comm) : MPI_SUCCESS;
}
