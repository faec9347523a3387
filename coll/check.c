/* SPDX-License-Identifier: BSD-3-Clause */
/* How ranks meet. They are a binomial tree below rank 0 of the communicator: a digest of what each calls, of constant
 * size, goes up, and "go on" comes down. So a checked call costs each rank a message up, one down, and at most log2(p)
 * of either kind for those below it. Only if the digest shows that something does not agree, rank 0 asks all ranks for
 * their records, words and all, holds them against one another, and answers with what differs: 2(p-1) long messages,
 * which nobody minds who is to read an error.
 *
 * Who does not come is found in the same way: rank 0, when it has waited for too long, asks all for their records, and
 * those of whom it has none after a while have not come. If rank 0 itself does not come, the others ask it, and leave
 * when it does not answer; it will find their question when it comes.
 *
 * The n-th check of a rank on a communicator is that of its n-th call, and is met when the one before it is over:
 * messages do not overtake, so none has to be numbered. Where each pair of ranks has a count of its own, and the sum
 * over all pairs shows that one of them does not agree, rank 0 asks all for the sums over half of the pairs, and so on:
 * it has found the pair after log2(p^2) questions, without anybody having had to know all counts. */
#include "coll/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/error.h"
#include "coll/pause.h"
#include "coll/ranks.h"
#include "coll/request.h"
#include "coll/ticks.h"

/* Of tags: each line of checks has these. */
enum tag { UP, DOWN, ORDER, SAID, IMPATIENT, NTAGS };
_Static_assert((int)NTAGS == (int)TT_CHECK_TAGS, "so many are kept for them");

enum { GRACE_S = 2, MOST_BELOW = 31 }; /* GRACE_S: so long who is asked has to answer */

enum state { WAITING, MEETING, PASSED, HEARING, ASKING, TELLING, OVER }; /* only rank 0 hears and asks */

enum word { GO, SPEAK, MISMATCH, MISSING, SUM };

/* What rank 0 sends to all where there is more to it than going on. */
struct order {
    int word;
    struct tt_pairs pairs; /* SUM: of these */
    char text[480];        /* MISMATCH, MISSING */
};

struct answer {
    uint64_t sum;
    char sends[72], expects[72]; /* where it is about one pair of ranks */
};

/* Checks that follow one another: a number is handed out as one is opened, and `next` is whose turn it is. */
struct line {
    uint64_t opened, next;
};

/* What lasts from call to call. */
struct tt_checks {
    struct tt_party party; /* of nobody: not begun */
    bool owns_comm;
    int tags;                              /* the first of its tags */
    struct line lines[1 + TT_CHECK_LINES]; /* of calls that all ranks make in the same order; of starts */
    struct tt_comparison *spare;           /* for a call that finds no memory; NULL: in use */
    bool dead; /* a call was given up: ranks are not where the others think they are */
    char why[480];
};

/* What rank 0 has of every rank, once it has asked for it; its own is unused but for the record. */
struct hearing {
    struct tt_record *records;
    struct answer *answers;
    MPI_Request *coming, *sends;
    signed char *here;     /* 1: whose record or answer has come */
    struct tt_pairs pairs; /* the pair is among these */
    int64_t since;         /* nanoseconds */
};

/* Messages of one check. */
struct tt_comparison {
    struct tt_record mine;
    struct tt_digest digest, below[MOST_BELOW]; /* of what has come so far; of those directly below this rank */
    MPI_Request from_below[MOST_BELOW], to_below[MOST_BELOW], up, down, said;
    int nbelow, word;
    struct order order;
    struct answer answer;
    struct hearing *hearing; /* NULL: rank 0 has not asked yet; nor has any other rank one */
};

static int tag_of(const struct tt_check *check, enum tag tag)
{
    return check->all->tags + (int)(check->line * NTAGS + tag);
}

static bool is_first(const struct tt_check *check)
{
    return check->all->party.rank == 0;
}

static int size_of(const struct tt_check *check)
{
    return check->all->party.size;
}

static struct line *line_of(const struct tt_check *check)
{
    return &check->all->lines[check->line];
}

static double waited_s(int64_t since)
{
    return (double)(tt_nanoseconds(CLOCK_MONOTONIC) - since) * 1e-9;
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
    check->all->dead = true;
    snprintf(check->all->why, sizeof check->all->why, "%s", why);
    return fail(check, why);
}

/* ---- messages ---- */

static void send(const struct tt_check *check, const void *what, size_t bytes, int to, enum tag tag,
                 MPI_Request *request)
{
    if (PMPI_Isend(what, (int)bytes, MPI_BYTE, to, tag_of(check, tag), check->all->party.comm, request) != MPI_SUCCESS)
        *request = MPI_REQUEST_NULL;
}

static void receive(const struct tt_check *check, void *what, size_t bytes, int from, enum tag tag,
                    MPI_Request *request)
{
    if (PMPI_Irecv(what, (int)bytes, MPI_BYTE, from, tag_of(check, tag), check->all->party.comm, request) !=
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

static bool all_done(MPI_Request *requests, int n)
{
    bool all = true;

    for (int i = 0; i < n; i++)
        all = is_done(&requests[i]) && all;
    return all;
}

static void drop(MPI_Request *request)
{
    if (*request == MPI_REQUEST_NULL)
        return;
    PMPI_Cancel(request);
    PMPI_Request_free(request);
}

/* The source of a message that lies there; or -1. */
static int find_message(const struct tt_check *check, int from, enum tag tag)
{
    MPI_Status status;
    int there = 0;

    PMPI_Iprobe(from, tag_of(check, tag), check->all->party.comm, &there, &status);
    return there ? status.MPI_SOURCE : -1;
}

/* ---- the tree ---- */

static int parent_of(int rank)
{
    return rank & (rank - 1);
}

/* Of the ranks directly below another, the i-th; or -1. */
static int child_of(const struct tt_party *all, int i)
{
    const int far = 1 << i;
    const bool is_below = all->rank == 0 || far < (all->rank & -all->rank);

    return is_below && all->rank + far < all->size ? all->rank + far : -1;
}

static void await_below(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    for (int child; m->nbelow < MOST_BELOW && (child = child_of(&check->all->party, m->nbelow)) >= 0; m->nbelow++)
        receive(check, &m->below[m->nbelow], sizeof *m->below, child, UP, &m->from_below[m->nbelow]);
}

/* All below have come, and say so; above rank 0 there is nobody. */
static void pass_up(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    for (int i = 0; i < m->nbelow; i++)
        tt_digest_join(&m->digest, &m->below[i]);
    check->state = PASSED;
    if (is_first(check))
        return;
    receive(check, &m->word, sizeof m->word, parent_of(check->all->party.rank), DOWN, &m->down);
    send(check, &m->digest, sizeof m->digest, parent_of(check->all->party.rank), UP, &m->up);
}

static void pass_down(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    m->word = GO;
    for (int i = 0; i < m->nbelow; i++)
        send(check, &m->word, sizeof m->word, child_of(&check->all->party, i), DOWN, &m->to_below[i]);
    check->state = TELLING;
}

/* ---- rank 0: what each rank says ---- */

static void hearing_free(struct hearing *h)
{
    if (!h)
        return;
    free(h->records);
    free(h->answers);
    free(h->coming);
    free(h->sends);
    free(h->here);
    free(h);
}

static struct hearing *hearing_new(int size)
{
    struct hearing *h = calloc(1, sizeof *h);
    const size_t n = (size_t)size;

    if (!h)
        return NULL;
    h->records = calloc(n, sizeof *h->records);
    h->answers = calloc(n, sizeof *h->answers);
    h->coming = calloc(n, sizeof *h->coming);
    h->sends = calloc(n, sizeof *h->sends);
    h->here = calloc(n, sizeof *h->here);
    if (!h->records || !h->answers || !h->coming || !h->sends || !h->here) {
        hearing_free(h);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        h->coming[i] = h->sends[i] = MPI_REQUEST_NULL;
    return h;
}

static void await_all(struct tt_check *check)
{
    struct hearing *h = check->meeting->hearing;

    for (int r = 1; r < size_of(check); r++) {
        h->here[r] = 0;
        if (check->state == HEARING)
            receive(check, &h->records[r], sizeof *h->records, r, SAID, &h->coming[r]);
        else
            receive(check, &h->answers[r], sizeof *h->answers, r, SAID, &h->coming[r]);
    }
    h->here[0] = 1;
    h->since = tt_nanoseconds(CLOCK_MONOTONIC);
}

static bool all_are_here(const struct tt_check *check)
{
    struct hearing *h = check->meeting->hearing;
    bool all = true;

    for (int r = 1; r < size_of(check); r++) {
        h->here[r] = h->here[r] || is_done(&h->coming[r]);
        all = all && h->here[r];
    }
    return all;
}

static void tell_all(struct tt_check *check, enum word word)
{
    struct tt_comparison *m = check->meeting;

    m->order.word = (int)word;
    for (int r = 1; r < size_of(check); r++)
        send(check, &m->order, sizeof m->order, r, ORDER, &m->hearing->sends[r]);
}

static bool all_are_told(struct tt_check *check)
{
    return all_done(check->meeting->hearing->sends, size_of(check));
}

/* The end of it: what differs, or who is missing. Who is there to be told keeps the words until it has been. */
static void conclude(struct tt_check *check, enum word word)
{
    tell_all(check, word);
    if (word == MISSING)
        give_up(check, check->meeting->order.text);
    else
        fail(check, check->meeting->order.text);
    if (word == MISMATCH)
        check->state = TELLING;
}

/* Without memory for what they would say, nobody is asked, and they leave in time. */
static bool hear_all(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    m->hearing = hearing_new(size_of(check));
    if (!m->hearing) {
        check->alone = true;
        return give_up(check, "out of host memory: what the ranks call does not agree, and cannot be compared");
    }
    m->hearing->records[0] = m->mine;
    check->state = HEARING;
    await_all(check);
    tell_all(check, SPEAK);
    return false;
}

/* ---- rank 0: which pair of ranks does not agree ---- */

static void ask(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    m->order.pairs = m->hearing->pairs;
    for (int side = 0; side < 2; side++) { /* the lower half of whichever range can be halved */
        int *range = side ? m->order.pairs.to : m->order.pairs.from;

        if (range[1] - range[0] > 1) {
            range[1] = range[0] + (range[1] - range[0]) / 2;
            break;
        }
    }
    check->state = ASKING;
    await_all(check);
    tell_all(check, SUM);
}

static void tell_pair(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    struct answer *answers = m->hearing->answers;
    const int from = m->hearing->pairs.from[0], to = m->hearing->pairs.to[0];

    tt_pair_print(answers[0].sends, sizeof answers->sends, &check->job, &check->all->party, from, to, true);
    tt_pair_print(answers[0].expects, sizeof answers->expects, &check->job, &check->all->party, from, to, false);
    snprintf(
        m->order.text, sizeof m->order.text,
        "calls of %s on %s do not match: the count or datatype differs: rank %d sends %s to rank %d, which expects %s",
        m->mine.call, check->on, from, answers[from].sends, to, answers[to].expects);
    conclude(check, MISMATCH);
}

static bool is_one(const struct tt_pairs *p)
{
    return p->from[1] - p->from[0] == 1 && p->to[1] - p->to[0] == 1;
}

/* Where the sum over what was asked about is not 0, the pair is there; else in the other half. */
static void narrow(struct tt_check *check)
{
    struct hearing *h = check->meeting->hearing;
    const struct tt_pairs asked = check->meeting->order.pairs;
    uint64_t sum = tt_pairs_sum(&check->job, &check->all->party, &asked);

    for (int r = 1; r < size_of(check); r++)
        sum += h->answers[r].sum;
    if (sum)
        h->pairs = asked;
    else if (asked.from[1] < h->pairs.from[1])
        h->pairs.from[0] = asked.from[1];
    else
        h->pairs.to[0] = asked.to[1];
}

static void hear_answers(struct tt_check *check)
{
    const bool was_one = is_one(&check->meeting->hearing->pairs);

    if (was_one)
        tell_pair(check);
    else {
        narrow(check);
        ask(check);
    }
}

/* ---- rank 0: records ---- */

/* The digest has shown that they do not agree. */
static void compare(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    if (!tt_records_agree(m->hearing->records, size_of(check), check->on, m->order.text, sizeof m->order.text)) {
        conclude(check, MISMATCH);
        return;
    }
    m->hearing->pairs = (struct tt_pairs){{0, size_of(check)}, {0, size_of(check)}};
    ask(check);
}

static bool is_one_rank(const char *ranks)
{
    return strncmp(ranks, "rank ", 5) == 0;
}

/* Who has come, of those that were asked: not who came after that. Returns how many have not. */
static int count_missing(const struct tt_check *check)
{
    struct hearing *h = check->meeting->hearing;
    int missing = 0;

    all_are_here(check);
    for (int r = 0; r < size_of(check); r++) {
        h->here[r] = h->here[r] && !h->records[r].late;
        missing += !h->here[r];
    }
    return missing;
}

/* Who need not wait in a call may have come, and be away again. */
static void tell_missing(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    const char *or_away = check->form == TT_CALL_BLOCKING ? "" : ", or not called MPI since";
    char missing[128], here[128], why[340] = "the last of its ranks came too late";

    if (count_missing(check)) {
        tt_ranks_print(missing, sizeof missing, m->hearing->here, size_of(check), 0);
        tt_ranks_print(here, sizeof here, m->hearing->here, size_of(check), 1);
        snprintf(why, sizeof why, "%s %s not come to it%s, %s %s", missing, is_one_rank(missing) ? "has" : "have",
                 or_away, here, is_one_rank(here) ? "waits" : "wait");
    }
    snprintf(m->order.text, sizeof m->order.text, "%s on %s was given up after %d s (TUTTI_CHECK_TIMEOUT): %s",
             m->mine.call, check->on, (int)tt_config.check_timeout, why);
    for (int r = 1; r < size_of(check); r++)
        drop(&m->hearing->coming[r]);
    conclude(check, MISSING);
}

/* Some have left, or will: nobody may go on. */
static void leave_with(struct tt_check *check, int asker)
{
    struct tt_comparison *m = check->meeting;

    m->hearing = m->hearing ? m->hearing : hearing_new(size_of(check));
    snprintf(m->order.text, sizeof m->order.text, "%s on %s: rank %d had given it up when rank 0 came", m->mine.call,
             check->on, asker);
    if (m->hearing)
        conclude(check, MISSING);
    else
        give_up(check, m->order.text);
}

static bool is_late(const struct tt_check *check)
{
    return waited_s(check->since) > (double)tt_config.check_timeout;
}

/* The digests are coming, or are there. Who asks why it takes so long may have left since. */
static void poll_digests(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    const bool all = all_done(m->from_below, m->nbelow);
    const int asker = size_of(check) > 1 ? find_message(check, MPI_ANY_SOURCE, IMPATIENT) : -1;

    if (asker >= 0 && all)
        leave_with(check, asker);
    else if (asker >= 0 || (!all && is_late(check))) {
        check->gives_up = true;
        hear_all(check);
    } else if (all) {
        pass_up(check);
        if (tt_digest_agrees(&m->digest))
            pass_down(check);
        else
            hear_all(check);
    }
}

/* Records or answers are coming. */
static void poll_hearing(struct tt_check *check)
{
    const bool all = all_are_here(check) && all_are_told(check);
    const bool is_enough =
        waited_s(check->meeting->hearing->since) > (check->gives_up ? GRACE_S : tt_config.check_timeout);

    if (is_enough || (all && check->gives_up))
        tell_missing(check);
    else if (all && check->state == ASKING)
        hear_answers(check);
    else if (all)
        compare(check);
}

/* ---- the others ---- */

static void say(struct tt_check *check, const void *what, size_t bytes)
{
    send(check, what, bytes, 0, SAID, &check->meeting->said);
}

static void answer(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    const struct tt_pairs *p = &m->order.pairs;

    m->answer.sum = tt_pairs_sum(&check->job, &check->all->party, p);
    if (is_one(p)) {
        tt_pair_print(m->answer.sends, sizeof m->answer.sends, &check->job, &check->all->party, p->from[0], p->to[0],
                      true);
        tt_pair_print(m->answer.expects, sizeof m->answer.expects, &check->job, &check->all->party, p->from[0],
                      p->to[0], false);
    }
    say(check, &m->answer, sizeof m->answer);
}

/* Rank 0 has come, and something is amiss: from now on the tree is not used any more. */
static void obey(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    PMPI_Recv(&m->order, sizeof m->order, MPI_BYTE, 0, tag_of(check, ORDER), check->all->party.comm, MPI_STATUS_IGNORE);
    check->since = tt_nanoseconds(CLOCK_MONOTONIC);
    switch (m->order.word) {
    case SPEAK:
        say(check, &m->mine, sizeof m->mine);
        break;
    case SUM:
        answer(check);
        break;
    case MISMATCH:
        fail(check, m->order.text);
        break;
    default:
        give_up(check, m->order.text);
    }
}

/* Rank 0 finds the question when it comes; if it was there all the time, it answers. */
static void ask_first(struct tt_check *check)
{
    char why[sizeof check->why];
    MPI_Request sent;

    if (!check->impatient && is_late(check)) {
        check->impatient = true;
        send(check, NULL, 0, 0, IMPATIENT, &sent);
        if (sent != MPI_REQUEST_NULL)
            PMPI_Request_free(&sent);
    }
    if (waited_s(check->since) <= (double)tt_config.check_timeout + GRACE_S)
        return;
    snprintf(
        why, sizeof why,
        "%s on %s was given up after %lld s (TUTTI_CHECK_TIMEOUT): rank 0, to which the others report, has not come "
        "to it",
        check->meeting->mine.call, check->on, (long long)tt_config.check_timeout);
    check->alone = true;
    give_up(check, why);
}

static void poll_other(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;

    if (check->state == MEETING && all_done(m->from_below, m->nbelow))
        pass_up(check);
    else if (check->state == PASSED && m->down != MPI_REQUEST_NULL && is_done(&m->down))
        pass_down(check);
    else if (find_message(check, 0, ORDER) < 0)
        ask_first(check);
    else if (is_done(&m->said))
        obey(check);
}

/* ---- a check's life ---- */

static bool is_its_turn(const struct tt_check *check)
{
    return line_of(check)->next == check->number;
}

static void meet(struct tt_check *check)
{
    check->since = tt_nanoseconds(CLOCK_MONOTONIC);
    check->state = MEETING;
    check->meeting->digest = tt_digest_of(&check->meeting->mine);
    check->meeting->mine.late = !is_first(check) && find_message(check, 0, ORDER) >= 0;
    await_below(check);
}

/* What was said stays where it is until all have it. */
static bool poll_telling(struct tt_check *check)
{
    struct tt_comparison *m = check->meeting;
    const bool told = all_done(m->to_below, m->nbelow) && is_done(&m->up) && (!m->hearing || all_are_told(check));

    return told && over(check);
}

bool tt_check_poll(struct tt_check *check)
{
    if (check->state == OVER)
        return true;
    if (check->state == TELLING)
        return poll_telling(check);
    if (check->all->dead)
        return fail(check, check->all->why);
    if (!is_its_turn(check))
        return false;
    if (check->state == WAITING)
        meet(check);
    if (check->state == HEARING || check->state == ASKING)
        poll_hearing(check);
    else if (is_first(check))
        poll_digests(check);
    else
        poll_other(check);
    return check->state == OVER;
}

/* Who finds no memory takes part all the same: the others would wait. */
static struct tt_comparison *meeting_new(struct tt_checks *all)
{
    struct tt_comparison *m = calloc(1, sizeof *m);

    if (!m) {
        m = all->spare;
        all->spare = NULL;
    }
    if (!m)
        return NULL;
    *m = (struct tt_comparison){.up = MPI_REQUEST_NULL, .down = MPI_REQUEST_NULL, .said = MPI_REQUEST_NULL};
    for (int i = 0; i < MOST_BELOW; i++)
        m->from_below[i] = m->to_below[i] = MPI_REQUEST_NULL;
    return m;
}

static void meeting_free(struct tt_checks *all, struct tt_comparison *m)
{
    hearing_free(m->hearing);
    if (all->spare)
        free(m);
    else
        all->spare = m;
}

static const char *print_range(char *text, size_t size, int first, int beyond)
{
    if (beyond - first > 1)
        snprintf(text, size, "%d-%d", first, beyond - 1);
    else
        snprintf(text, size, "%d", first);
    return text;
}

/* Of an intercommunicator with the numbers that the ranks of its two groups have in what is told. */
static void name_comm(struct tt_check *check, MPI_Comm comm)
{
    const struct tt_party *all = &check->all->party;
    const int second = all->here > all->there ? all->here : all->there;
    char name[MPI_MAX_OBJECT_NAME] = "", a[32], b[32];
    int length;

    PMPI_Comm_get_name(comm, name, &length);
    if (second > 0)
        snprintf(check->on, sizeof check->on, "%.60s (ranks %s | %s)", *name ? name : "an intercommunicator",
                 print_range(a, sizeof a, 0, second), print_range(b, sizeof b, second, all->size));
    else if (*name)
        snprintf(check->on, sizeof check->on, "%.60s", name);
    else
        snprintf(check->on, sizeof check->on, "a communicator of %d ranks", all->size);
}

static void make_record(struct tt_check *check, enum tt_call_form form, int class, const char *what)
{
    struct tt_record *mine = &check->meeting->mine;

    if (class == MPI_SUCCESS) {
        tt_fingerprint(mine, &check->job, &check->all->party, form);
        tt_check_buffers(mine, &check->job);
    } else {
        tt_fingerprint_call(mine, check->job.call, form);
        snprintf(mine->fault, sizeof mine->fault, "%s", what);
    }
}

void tt_check_open(struct tt_check *check, const struct tt_call *c, struct tt_comm *comm, enum tt_call_form form,
                   const char *fault)
{
    const char *what = "";
    int class;

    *check = (struct tt_check){.comm = comm, .all = comm->checks, .form = form, .state = WAITING};
    check->line = form == TT_CALL_START ? 1 + c->persistent % TT_CHECK_LINES : 0;
    check->job = (struct tt_job){.call = c, .row = &tt_rows[c->coll], .comm = comm};
    class = tt_job_describe(&check->job, &what);
    check->meeting = meeting_new(check->all);
    if (!check->meeting) {
        fail(check, "out of host memory: this rank cannot say what it calls");
        check->alone = true;
        comm->lost = size_of(check) > 1;
        return;
    }
    check->number = line_of(check)->opened++;
    name_comm(check, c->comm);
    make_record(check, form, fault ? MPI_ERR_OTHER : class, fault ? fault : what);
}

/* Of messages that are still on their way to somebody, the room stays. */
static bool let_go(MPI_Request *sends, int n)
{
    const bool all = all_done(sends, n);

    for (int i = 0; i < n && !all; i++)
        if (sends[i] != MPI_REQUEST_NULL)
            PMPI_Request_free(&sends[i]);
    return all;
}

static void end_meeting(struct tt_checks *all, struct tt_comparison *m)
{
    const int size = all->party.size;
    bool told;

    drop(&m->down);
    for (int i = 0; i < m->nbelow; i++)
        drop(&m->from_below[i]);
    for (int r = 1; m->hearing && r < size; r++)
        drop(&m->hearing->coming[r]);
    told = let_go(m->to_below, m->nbelow);
    told &= let_go(&m->up, 1);
    told &= let_go(&m->said, 1);
    if (m->hearing)
        told &= let_go(m->hearing->sends, size);
    if (told)
        meeting_free(all, m);
}

void tt_check_close(struct tt_check *check)
{
    if (check->meeting && is_its_turn(check))
        line_of(check)->next++;
    if (check->meeting)
        end_meeting(check->all, check->meeting);
    check->meeting = NULL;
    tt_job_end(&check->job);
}

int tt_check_raise(const struct tt_check *check, MPI_Comm comm)
{
    return (check->alone || is_first(check) ? tt_raise : tt_raise_unsaid)(comm, check->why);
}

static bool is_over(void *check)
{
    tt_progress();
    return tt_check_poll(check);
}

int tt_check_call(const struct tt_call *c, struct tt_comm *comm, enum tt_call_form form, const char *fault)
{
    struct tt_check check;

    tt_check_open(&check, c, comm, form, fault);
    tt_wait(is_over, &check);
    tt_check_close(&check);
    return check.failed ? tt_check_raise(&check, c->comm) : MPI_SUCCESS;
}

/* ---- a communicator's checks ---- */

struct tt_checks *tt_checks_new(unsigned slots)
{
    struct tt_checks *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->tags = tt_tag_beyond(slots) + TT_TAG_CHECKS;
    all->spare = calloc(1, sizeof *all->spare);
    if (all->spare)
        return all;
    free(all);
    return NULL;
}

void tt_checks_begin(struct tt_checks *all, const struct tt_party *party, bool owns_comm)
{
    all->party = *party;
    all->owns_comm = owns_comm;
}

bool tt_checks(const struct tt_comm *comm)
{
    return comm->checks && comm->checks->party.size > 0;
}

bool tt_checks_died(const struct tt_comm *comm)
{
    return comm->checks && comm->checks->dead;
}

const struct tt_party *tt_checks_party(const struct tt_checks *all)
{
    return &all->party;
}

void tt_checks_free(struct tt_checks *all)
{
    if (!all)
        return;
    if (all->owns_comm && !all->dead)
        PMPI_Comm_free(&all->party.comm);
    free(all->spare);
    free(all);
}
