/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking and persistent collectives, many at once. A round is a handful of cases (cases.h) of random rows on
 * several communicators: all ranks start them in the same order, at times of their own, and each completes them in an
 * order and by a call of its own, mixed with messages and null requests; persistent ones are started again with other
 * data. The same is required of each as of the blocking one. What is sent from host memory is write-protected
 * meanwhile, which the standard allows since MPI-2.2. A round takes about 30 ms where ranks outnumber cores. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mpi/cases.h"

enum { MAX_OPS = 6, MESSAGES = 2, NULLS = 1, SLOTS = MAX_OPS + MESSAGES + NULLS, ROOM = 256 << 10, STARTS = 3 };

/* One collective under way, with memory of its own. */
struct op {
    struct test_case t;
    const char *algorithm;
    bool persistent, done;
    enum memory from, to;
    MPI_Request request;
};

static struct op ops[MAX_OPS];
static int nops;
static struct region memory[MAX_OPS][NMEMORIES][2];

/* The messages that go along: a ring's. */
static struct message {
    MPI_Request request;
    bool done;
    int number;
} messages[MESSAGES];

/* ---- memory ---- */

/* Of host memory that is sent from, in pages of its own. */
static void protect(const struct region *r, int how)
{
    mprotect(r->block, ROOM + 4096, how);
}

static void take_region(struct region *r, enum memory kind, bool sends)
{
    if (kind != HOST || !sends) {
        region_make(r, kind, ROOM);
        return;
    }
    *r = (struct region){.memory = HOST, .capacity = ROOM};
    r->block = mmap(NULL, ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void take_memory(void)
{
    for (int i = 0; i < MAX_OPS; i++) {
        ops[i].t = case_make();
        for (int m = 0; m < NMEMORIES; m++)
            for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
                take_region(&memory[i][m][side], (enum memory)m, side == SEND_SIDE);
    }
}

static void give_memory(void)
{
    for (int i = 0; i < MAX_OPS; i++) {
        case_free(&ops[i].t);
        for (int m = 0; m < NMEMORIES; m++)
            for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
                if (m == HOST && side == SEND_SIDE)
                    munmap(memory[i][m][side].block, ROOM + 4096);
                else
                    region_free(&memory[i][m][side]);
    }
}

static struct region *region_of(const struct op *o, enum side_name side)
{
    return &memory[o - ops][side == SEND_SIDE ? o->from : o->to][side];
}

/* ---- choosing ---- */

static int choose(uint64_t *key, int n)
{
    return (int)(test_random(++*key) % (unsigned)n);
}

/* Not the same on all ranks. */
static int choose_alone(int n)
{
    static uint64_t key = 1u << 30;

    return (int)(test_random(key++ * 64 + (unsigned)test_rank) % (unsigned)n);
}

static const char *some_algorithm(const struct row *row, uint64_t *key)
{
    int n = 0;

    while (test_algorithm(row->id, n))
        n++;
    return choose(key, 2) ? NULL : test_algorithm(row->id, choose(key, n));
}

/* MPICH 4.0.2 over UCX truncates long messages of types with padding. */
static const struct kind *some_kind(const struct row *row, int count, uint64_t *key)
{
    const struct kind *k = &kinds[choose(key, NKINDS)];

    return k->payload < k->extent && !(row->traits & TT_REDUCES) && count > 64 ? &kinds[0] : k;
}

static void choose_op(struct op *o, const struct group groups[], int ngroups, uint64_t *key)
{
    static const int counts[] = {0, 1, 7, 64, 500};
    struct test_case *t = &o->t;
    const struct pattern *pattern;

    t->row = &rows[choose(key, NROWS)];
    t->group = &groups[t->row->traits & TT_NEIGHBOURS ? 2 + choose(key, ngroups - 2) : choose(key, ngroups)];
    t->count = counts[choose(key, 5)];
    t->kind = some_kind(t->row, t->count, key);
    t->root = choose(key, t->group->size);
    t->inplace = has(t, TT_INPLACE_ALL | TT_INPLACE_ROOT) && choose(key, 3) == 0;
    o->persistent = t->row->persistent.ours && choose(key, 2);
    t->large = (o->persistent ? &t->row->persistent : &t->row->nonblocking)->large && choose(key, 4) == 0;
    t->nonsense = choose(key, 2);
    t->key = *key;
    pattern = &patterns[choose(key, NPATTERNS)];
    if (!pattern_exists(pattern))
        pattern = &patterns[0];
    o->from = pattern->of(t->group->rank, SEND_SIDE, t->key);
    o->to = pattern->of(t->group->rank, RECV_SIDE, t->key);
    o->algorithm = some_algorithm(t->row, key);
    o->request = MPI_REQUEST_NULL;
    if (case_breaks_nonblocking(t)) /* which may be what Tutti chooses */
        choose_op(o, groups, ngroups, key);
}

/* ---- starting ---- */

static void say(const char *what, const struct op *o)
{
    test_now("%s %s %s by %s, %s to %s", what, o->persistent ? "persistent" : "nonblocking", case_words(&o->t),
             o->algorithm ? o->algorithm : "default", memory_names[o->from], memory_names[o->to]);
}

/* New bytes in the same places. */
static struct tt_call put(const struct op *o)
{
    struct region *send = region_of(o, SEND_SIDE);
    struct tt_call c;

    if (send->memory == HOST)
        protect(send, PROT_READ | PROT_WRITE);
    c = case_put(&o->t, send, region_of(o, RECV_SIDE), (size_t)o->t.kind->extent);
    if (send->memory == HOST)
        protect(send, PROT_READ);
    return c;
}

static void start(struct op *o)
{
    const struct requested *by = o->persistent ? &o->t.row->persistent : &o->t.row->nonblocking;
    const struct tt_call c = put(o);

    say("starting", o);
    test_pin(o->t.row->id, o->algorithm);
    o->done = false;
    if (o->request == MPI_REQUEST_NULL)
        test_success((o->t.large ? by->large : by->ours)(&c, &o->request));
    if (o->persistent)
        test_success(MPI_Start(&o->request));
}

static void dawdle(void)
{
    volatile double x = 1;

    if (choose_alone(3) == 0)
        usleep((unsigned)choose_alone(400));
    for (int i = choose_alone(3) ? 0 : choose_alone(100000); i > 0; i--)
        x = x * 0.999 + 1;
}

static void start_messages(void)
{
    const int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    static int sent;

    sent = test_rank * 7 + 1;
    messages[0] = (struct message){.number = -1};
    messages[1] = (struct message){.number = -1};
    test_success(MPI_Irecv(&messages[0].number, 1, MPI_INT, left, 77, MPI_COMM_WORLD, &messages[0].request));
    test_success(MPI_Isend(&sent, 1, MPI_INT, right, 77, MPI_COMM_WORLD, &messages[1].request));
}

/* ---- completing ---- */

/* All requests of a round, in an order of this rank's own; where each belongs. */
static struct all {
    int n, of[SLOTS];
    MPI_Request requests[SLOTS];
} all;

static void gather_requests(bool with_messages)
{
    all.n = nops + (with_messages ? MESSAGES : 0) + NULLS;
    for (int i = 0; i < all.n; i++) {
        const int j = choose_alone(i + 1);

        all.of[i] = i;
        all.of[i] = all.of[j];
        all.of[j] = i;
    }
    for (int i = 0; i < all.n; i++) {
        const int k = all.of[i];

        all.requests[i] = k < nops ? ops[k].request : k < all.n - NULLS ? messages[k - nops].request : MPI_REQUEST_NULL;
    }
}

static void finish_message(struct message *m, int i, const MPI_Status *status)
{
    const int left = (test_rank + test_size - 1) % test_size;

    test_check(!m->done, "a message was complete twice");
    test_check(all.requests[i] == MPI_REQUEST_NULL, "expected MPI_REQUEST_NULL of a complete message");
    m->done = true;
    if (m != &messages[0])
        return;
    test_check(m->number == left * 7 + 1, "expected %d from the left, got %d", left * 7 + 1, m->number);
    if (status != MPI_STATUS_IGNORE)
        test_check(status->MPI_SOURCE == left && status->MPI_TAG == 77, "expected source %d, tag 77, got %d, %d", left,
                   status->MPI_SOURCE, status->MPI_TAG);
}

/* The i-th request of all is complete. */
static void finish(int i, const MPI_Status *status)
{
    struct op *o;

    if (all.of[i] >= nops) {
        if (all.of[i] < all.n - NULLS)
            finish_message(&messages[all.of[i] - nops], i, status);
        return;
    }
    o = &ops[all.of[i]];
    say("complete:", o);
    test_check(!o->done, "a collective was complete twice");
    if (o->persistent)
        test_check(all.requests[i] == o->request, "a persistent request became another");
    else
        test_check(all.requests[i] == MPI_REQUEST_NULL, "expected MPI_REQUEST_NULL of what is complete");
    o->request = all.requests[i];
    o->done = true;
    case_check(&o->t, region_of(o, SEND_SIDE), region_of(o, RECV_SIDE));
}

static void finish_all(const MPI_Status *statuses)
{
    for (int i = 0; i < all.n; i++)
        finish(i, statuses ? &statuses[i] : MPI_STATUS_IGNORE);
}

static void by_wait(void)
{
    MPI_Status status;

    for (int i = 0; i < all.n; i++) {
        test_success(MPI_Wait(&all.requests[i], i % 2 ? &status : MPI_STATUS_IGNORE));
        finish(i, i % 2 ? &status : MPI_STATUS_IGNORE);
    }
}

static void by_waitall(void)
{
    MPI_Status statuses[SLOTS];

    test_success(MPI_Waitall(all.n, all.requests, statuses));
    finish_all(statuses);
}

static void by_waitall_without_statuses(void)
{
    test_success(MPI_Waitall(all.n, all.requests, no_statuses));
    finish_all(NULL);
}

static void by_waitany(void)
{
    MPI_Status status;
    int i = 0;

    for (int k = 0; k < all.n - NULLS; k++) {
        if (!test_success(MPI_Waitany(all.n, all.requests, &i, &status)) ||
            !test_check(i >= 0 && i < all.n, "the %d-th of %d: got index %d", k, all.n - NULLS, i))
            return;
        finish(i, &status);
    }
    test_success(MPI_Waitany(all.n, all.requests, &i, MPI_STATUS_IGNORE));
    test_check(i == MPI_UNDEFINED, "expected MPI_UNDEFINED when nothing is active, got %d", i);
}

static void by_waitsome(void)
{
    MPI_Status statuses[SLOTS];
    int which[SLOTS], n;

    for (int left = all.n - NULLS; left > 0; left -= n) {
        if (!test_success(MPI_Waitsome(all.n, all.requests, &n, which, statuses)) ||
            !test_check(n > 0 && n <= left, "of %d that are active, got %d", left, n))
            return;
        for (int k = 0; k < n; k++)
            finish(which[k], &statuses[k]);
    }
}

static void by_test(void)
{
    MPI_Status status;
    bool over[SLOTS] = {false};

    for (int left = all.n; left > 0; sched_yield())
        for (int i = 0; i < all.n; i++) {
            int flag = 0;

            if (over[i])
                continue;
            if (!test_success(MPI_Test(&all.requests[i], &flag, &status)))
                return;
            if (!flag)
                continue;
            over[i] = true;
            left--;
            finish(i, &status);
        }
}

static void by_testall(void)
{
    int flag = 0;

    while (!flag) {
        if (!test_success(MPI_Testall(all.n, all.requests, &flag, no_statuses)))
            return;
        if (!flag)
            sched_yield();
    }
    finish_all(NULL);
}

static void by_testany(void)
{
    MPI_Status status;

    for (int left = all.n - NULLS; left > 0;) {
        int i, flag = 0;

        if (!test_success(MPI_Testany(all.n, all.requests, &i, &flag, &status)))
            return;
        if (flag && test_check(i >= 0 && i < all.n, "of %d that are active, got index %d", left, i)) {
            finish(i, &status);
            left--;
        } else {
            sched_yield();
        }
    }
}

static void by_testsome(void)
{
    int which[SLOTS], n;

    for (int left = all.n - NULLS; left > 0; left -= n) {
        if (!test_success(MPI_Testsome(all.n, all.requests, &n, which, no_statuses)) ||
            !test_check(n >= 0 && n <= left, "of %d that are active, got %d", left, n))
            return;
        for (int k = 0; k < n; k++)
            finish(which[k], MPI_STATUS_IGNORE);
        if (n == 0)
            sched_yield();
    }
}

/* Asked often enough it says yes, and goes on saying so; the request is completed by the wait. */
static void by_get_status(void)
{
    MPI_Status status;

    for (int i = 0; i < all.n; i++) {
        int flag = 0;

        while (!flag) {
            if (!test_success(MPI_Request_get_status(all.requests[i], &flag, i % 2 ? &status : MPI_STATUS_IGNORE)))
                return;
            if (!flag)
                sched_yield();
        }
        test_success(MPI_Request_get_status(all.requests[i], &flag, MPI_STATUS_IGNORE));
        test_check(flag, "a request that was complete is so no longer");
        test_success(MPI_Wait(&all.requests[i], &status));
        finish(i, &status);
    }
}

static const struct way {
    const char *name;
    void (*complete)(void);
} ways[] = {
    {"MPI_Wait", by_wait},
    {"MPI_Waitall", by_waitall},
    {"MPI_Waitall, MPI_STATUSES_IGNORE", by_waitall_without_statuses},
    {"MPI_Waitany", by_waitany},
    {"MPI_Waitsome", by_waitsome},
    {"MPI_Test", by_test},
    {"MPI_Testall", by_testall},
    {"MPI_Testany", by_testany},
    {"MPI_Testsome", by_testsome},
    {"MPI_Request_get_status", by_get_status},
};
enum { NWAYS = sizeof ways / sizeof *ways };

/* ---- rounds ---- */

static void complete(bool with_messages)
{
    const struct way *way = &ways[choose_alone(NWAYS)];

    gather_requests(with_messages);
    test_now("completing %d requests by %s", all.n, way->name);
    way->complete();
    for (int i = 0; i < nops; i++) {
        say("after the round:", &ops[i]);
        test_check(ops[i].done, "%s never said that it is complete", way->name);
    }
}

/* The first start of all that is persistent is by MPI_Start, a later one may be by MPI_Startall. */
static void start_round(int round, bool with_messages)
{
    if (with_messages)
        start_messages();
    for (int i = 0; i < nops; i++) {
        dawdle();
        if (round == 0 || !ops[i].persistent)
            start(&ops[i]);
        else
            ops[i].done = false;
    }
}

/* In the same order on all ranks: those of one communicator must be. */
static void start_again(void)
{
    MPI_Request some[MAX_OPS];
    int n = 0;

    for (int i = 0; i < nops; i++) {
        if (!ops[i].persistent)
            continue;
        put(&ops[i]);
        test_pin(ops[i].t.row->id, ops[i].algorithm);
        some[n++] = ops[i].request;
    }
    test_now("MPI_Startall of %d persistent collectives", n);
    test_success(MPI_Startall(n, some));
    for (int i = 0, k = 0; i < nops; i++)
        if (ops[i].persistent)
            test_check(some[k++] == ops[i].request, "MPI_Startall changed a request");
}

static void prepare(int round, uint64_t key)
{
    for (int i = 0; i < nops; i++) {
        if (round == 0)
            case_arrange(&ops[i].t);
        case_fill(&ops[i].t, key + (uint64_t)(round * MAX_OPS + i));
        case_ask_native(&ops[i].t);
    }
}

static void run_round(const struct group groups[], int ngroups, uint64_t key)
{
    const bool with_messages = groups[0].size == test_size && choose(&key, 2);

    nops = 1 + choose(&key, MAX_OPS);
    for (int i = 0; i < nops; i++)
        choose_op(&ops[i], groups, ngroups, &key);
    for (int round = 0; round < STARTS; round++) {
        prepare(round, key);
        if (round > 0)
            start_again();
        start_round(round, with_messages);
        dawdle();
        complete(with_messages);
    }
    for (int i = 0; i < nops; i++) {
        say("freeing", &ops[i]);
        if (ops[i].persistent)
            test_success(MPI_Request_free(&ops[i].request));
        test_check(ops[i].request == MPI_REQUEST_NULL, "expected MPI_REQUEST_NULL after MPI_Request_free");
        test_pin(ops[i].t.row->id, NULL);
    }
}

/* On two communicators alike and one of each topology. A blocking call comes first on some of them: what is nonblocking
 * may not have to wait for the others to find out how to serve it. */
static void run_group(struct group *g, int rounds)
{
    static uint64_t key;
    struct group groups[2 + NTOPOLOGIES] = {*g};

    PMPI_Comm_dup(g->comm, &groups[1].comm);
    PMPI_Comm_set_errhandler(groups[1].comm, MPI_ERRORS_RETURN);
    groups[1].rank = g->rank;
    groups[1].size = g->size;
    groups[1].topology = "";
    for (int i = 0; i < NTOPOLOGIES; i++)
        groups[2 + i] = group_arrange(g, i);
    for (int i = 0; i < 2 + NTOPOLOGIES; i += 2)
        test_success(MPI_Barrier(groups[i].comm));
    for (int i = 0; i < rounds; i++)
        run_round(groups, 2 + NTOPOLOGIES, key += 1000);
    for (int i = 1; i < 2 + NTOPOLOGIES; i++)
        group_free(&groups[i]);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;

    test_begin(&argc, &argv, 240);
    take_memory();
    for (int at = 0; at <= test_size / 2; at++) {
        struct group g = group_make(at);

        run_group(&g, rounds);
        test_set("TUTTI_CHUNK", "1K");
        test_set("TUTTI_SEGMENT", "256");
        run_group(&g, rounds);
        test_set("TUTTI_CHUNK", NULL);
        test_set("TUTTI_SEGMENT", NULL);
        group_free(&g);
    }
    give_memory();
    return test_end();
}
