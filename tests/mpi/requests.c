/* SPDX-License-Identifier: BSD-3-Clause */
/* What a request of a collective must and must not do: requests rules | progress. Rules: a start waits for nobody, not
 * even as the first call on a communicator; what the call named may be freed at once; persistent ones send what is in
 * the buffer at each start; thousands may be under way; reductions of device memory in place at every root; misuse is
 * answered as the MPI below answers it; an error of one is not lost among many. Progress: a rank that waits in any
 * other call moves its collectives on, which the others wait for. */
#include <config.h>
#include <mpi.h>
#include TT_PERSISTENT_HEADER
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/cases.h"

enum { NUMBERS = 3000, LATE_MS = 200, PROMPT_MS = 100 };

static double ms_since(const struct timespec *from)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - from->tv_sec) * 1e3 + (double)(now.tv_nsec - from->tv_nsec) * 1e-6;
}

/* ---- a sum, to have something under way ---- */

struct sum {
    struct region *send, *recv;
    int n, times; /* what each rank sends is times as much */
};

static void sum_put(const struct sum *s)
{
    static double mine[NUMBERS], none[NUMBERS];

    for (int i = 0; i < s->n; i++)
        mine[i] = s->times * (test_rank + i % 9);
    region_set(s->send, 0, mine, sizeof *mine * (size_t)s->n);
    region_set(s->recv, 0, none, sizeof *none * (size_t)s->n);
}

static void sum_check(const struct sum *s)
{
    static double got[NUMBERS];
    int wrong = 0;

    test_check(region_get(s->recv, got), "bytes around the sums were written");
    for (int i = 0; i < s->n; i++)
        wrong += got[i] != s->times * (test_size * (test_size - 1) / 2.0 + test_size * (i % 9));
    test_check(wrong == 0, "%d of %d sums are wrong", wrong, s->n);
}

static struct sum sum_in(enum memory memory, int n)
{
    return (struct sum){&regions[memory][SEND_SIDE], &regions[memory][RECV_SIDE], n, 1};
}

static void sum_start(const struct sum *s, MPI_Comm comm, MPI_Request *request)
{
    sum_put(s);
    test_success(MPI_Iallreduce(s->send->at, s->recv->at, s->n, MPI_DOUBLE, MPI_SUM, comm, request));
}

/* Host memory, and a device's where there is one. */
static int memories(void)
{
    return test_gpus > 0 ? 2 : 1;
}

static enum memory memory_of(int i)
{
    return i ? DEVICE : HOST;
}

/* ---- a start waits for nobody ---- */

/* Rank 0 starts, the others come later. */
static void try_first_call(const struct row *row, enum memory memory)
{
    struct tt_call c;
    struct timespec begun;
    MPI_Request request;
    MPI_Comm comm;
    double took;

    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    c = row_call(row, 10, MPI_DOUBLE, comm, false);
    c.send.buf = regions[memory][SEND_SIDE].at;
    c.recv.out = regions[memory][RECV_SIDE].at;
    PMPI_Barrier(MPI_COMM_WORLD);
    test_now("I%s as the first call on a communicator, %s memory", row->id, memory_names[memory]);
    if (test_rank > 0)
        usleep(LATE_MS * 1000);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    test_success(row->nonblocking.ours(&c, &request));
    took = ms_since(&begun);
    test_check(test_rank > 0 || took < PROMPT_MS, "it took %g ms, though the others came %d ms later", took, LATE_MS);
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Comm_free(&comm);
}

static void try_first_calls(void)
{
    static const double numbers[10 * MAX_RANKS];

    for (int m = 0; m < memories(); m++)
        for (int side = 0; side < 2; side++)
            region_set(&regions[memory_of(m)][side], 0, numbers, sizeof numbers);
    for (int r = 0; r < NROWS; r++)
        if (!(rows[r].traits & TT_NEIGHBOURS))
            try_first_call(&rows[r], memory_of(r % memories()));
}

/* ---- freed at once ---- */

static long added; /* calls of the user's op */

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    added++;
    for (int i = 0; i < *n; i++)
        ((double *)inout)[i] += ((double *)in)[i];
}

/* The communicator, the type and the op go while the call is under way; first: it is the communicator's first. */
static void try_freed(enum memory memory, bool first, bool own_op)
{
    const struct sum s = sum_in(memory, 600);
    MPI_Request request;
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Op op;

    test_now("Iallreduce, its communicator, type and op freed at once, %s memory, %s", memory_names[memory],
             first ? "the first call" : "not the first call");
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (!first)
        test_success(MPI_Barrier(comm));
    PMPI_Op_create(add, 1, &op);
    PMPI_Type_contiguous(1, MPI_DOUBLE, &type);
    PMPI_Type_commit(&type);
    sum_put(&s);
    test_success(
        MPI_Iallreduce(s.send->at, s.recv->at, s.n, own_op ? type : MPI_DOUBLE, own_op ? op : MPI_SUM, comm, &request));
    test_success(MPI_Comm_free(&comm));
    test_success(MPI_Type_free(&type));
    test_success(MPI_Op_free(&op));
    usleep((unsigned)test_rank * 1000);
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    sum_check(&s);
}

/* Every other of n ints. */
static MPI_Datatype every_other(int n)
{
    MPI_Datatype bare, made;

    PMPI_Type_vector(n / 2, 1, 2, MPI_INT, &bare);
    PMPI_Type_create_resized(bare, 0, n * (MPI_Aint)sizeof(int), &made);
    PMPI_Type_free(&bare);
    PMPI_Type_commit(&made);
    return made;
}

/* Types with gaps on both sides of a call that moves data; another type may then get the same handle. */
static void try_freed_type(enum memory memory)
{
    struct region *send = &regions[memory][SEND_SIDE], *recv = &regions[memory][RECV_SIDE];
    static int numbers[200 * MAX_RANKS], got[200 * MAX_RANKS];
    MPI_Datatype type = every_other(200), others[8];
    MPI_Request request;
    int wrong = 0;

    test_now("Iallgather of types that are freed at once, %s memory", memory_names[memory]);
    for (int i = 0; i < 200 * test_size; i++)
        numbers[i] = test_rank * 1000 + i;
    region_set(send, 0, numbers, sizeof *numbers * 200);
    region_set(recv, 0, numbers, sizeof *numbers * (size_t)(200 * test_size));
    test_success(MPI_Iallgather(send->at, 1, type, recv->at, 1, type, MPI_COMM_WORLD, &request));
    test_success(MPI_Type_free(&type));
    for (int i = 0; i < 8; i++)
        others[i] = every_other(2 * i + 2);
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    test_check(region_get(recv, got), "bytes around the numbers were written");
    for (int i = 0; i < 200 * test_size; i++)
        wrong += got[i] != (i % 2 ? test_rank * 1000 + i : i / 200 * 1000 + i % 200);
    test_check(wrong == 0, "%d of %d numbers are wrong", wrong, 200 * test_size);
    for (int i = 0; i < 8; i++)
        PMPI_Type_free(&others[i]);
}

static void try_all_freed(void)
{
    for (int m = 0; m < memories(); m++) {
        for (int i = 0; i < 4; i++)
            if (!test_open_mpi || i == 0) /* which crashes where it does the call, as it does the others */
                try_freed(memory_of(m), i % 2, i / 2);
        try_freed_type(memory_of(m));
    }
}

/* ---- persistent ---- */

static void init(const struct row *row, int n, MPI_Datatype type, const struct region *send, const struct region *recv,
                 MPI_Request *request)
{
    struct tt_call c = row_call(row, n, type, MPI_COMM_WORLD, false);

    c.send.buf = send->at;
    c.recv.out = recv->at;
    test_success(row->persistent.ours(&c, request));
}

/* Two by turns, and with two messages of the MPI's in one array, with other numbers each time. */
static void try_persistent(enum memory memory)
{
    const struct sum s = {&regions[memory][SEND_SIDE], &regions[memory][RECV_SIDE], 1000, 1};
    const int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;
    struct sum turns[2] = {s, {&regions[HOST][SEND_SIDE], &regions[PINNED][RECV_SIDE], 7, 1}};
    MPI_Request all[5] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int sent = 0, got = 0;

    if (test_gpus == 0)
        turns[1].recv = &regions[HOST][RECV_SIDE];
    if (memory == HOST || test_gpus == 0)
        turns[1] = s;
    test_now("two persistent allreduces by turns, %s memory", memory_names[memory]);
    for (int i = 0; i < 2; i++) {
        sum_put(&turns[i]);
        init(row_named("allreduce"), turns[i].n, MPI_DOUBLE, turns[i].send, turns[i].recv, &all[i * 2]);
    }
    test_success(MPI_Recv_init(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &all[1]));
    test_success(MPI_Send_init(&sent, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &all[3]));
    for (int k = 1; k <= 6; k++) {
        struct sum *now = &turns[k % 2];

        now->times = k;
        sum_put(now);
        test_success(MPI_Start(&all[k % 2 * 2]));
        test_success(MPI_Wait(&all[k % 2 * 2], MPI_STATUS_IGNORE));
        sum_check(now);
    }
    for (int k = 7; k < 12 && turns[0].send != turns[1].send; k++) {
        sent = k * 100 + test_rank;
        turns[0].times = turns[1].times = k;
        sum_put(&turns[0]);
        sum_put(&turns[1]);
        test_success(MPI_Startall(4, all));
        test_success(MPI_Waitall(5, all, no_statuses));
        sum_check(&turns[0]);
        sum_check(&turns[1]);
        test_check(got == k * 100 + left, "expected %d from the left, got %d", k * 100 + left, got);
    }
    for (int i = 0; i < 4; i++)
        test_success(MPI_Request_free(&all[i]));
}

/* A gather: the root gets what was in the buffers at this start, not at the first. */
static void try_persistent_gather(enum memory memory)
{
    struct region *send = &regions[memory][SEND_SIDE], *recv = &regions[memory][RECV_SIDE];
    int mine[50], all[50 * MAX_RANKS] = {0}, wrong;
    MPI_Request request;

    region_set(send, 0, all, sizeof mine);
    region_set(recv, 0, all, sizeof *all * (size_t)(50 * test_size));
    test_now("a persistent gather, started again and again, %s memory", memory_names[memory]);
    init(row_named("gather"), 50, MPI_INT, send, recv, &request);
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < 50; i++)
            mine[i] = k * 10000 + test_rank * 100 + i;
        memory_put(memory, send->at, mine, sizeof mine);
        test_success(MPI_Start(&request));
        test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
        test_check(region_get(recv, all), "bytes around the numbers were written");
        wrong = 0;
        for (int i = 0; i < 50 * test_size; i++)
            wrong += test_rank == 0 && all[i] != k * 10000 + i / 50 * 100 + i % 50;
        test_check(wrong == 0, "start %d: %d of %d numbers are wrong", k, wrong, 50 * test_size);
    }
    test_success(MPI_Request_free(&request));
}

/* Made in the same order, started in another one on each rank, which MPI allows; more of them at once than would fit into
 * few tags. */
static void try_persistent_in_any_order(void)
{
    enum { AT_ONCE = 12 };
    const struct row *allreduce = row_named("allreduce");
    MPI_Request all[AT_ONCE];
    double send[AT_ONCE][40], recv[AT_ONCE][40];

    test_now("%d persistent allreduces, started in another order on each rank", AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++) {
        struct tt_call c = row_call(allreduce, i + 3, MPI_DOUBLE, MPI_COMM_WORLD, false);

        c.send.buf = send[i];
        c.recv.out = recv[i];
        test_success(allreduce->persistent.ours(&c, &all[i]));
    }
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < AT_ONCE; i++)
            for (int j = 0; j < i + 3; j++)
                send[i][j] = 1000 * k + 10 * i + j;
        for (int i = 0; i < AT_ONCE; i++)
            test_success(MPI_Start(&all[(test_rank % 2 ? AT_ONCE - 1 - i : i + test_rank) % AT_ONCE]));
        test_success(MPI_Waitall(AT_ONCE, all, MPI_STATUSES_IGNORE));
        for (int i = 0; i < AT_ONCE; i++)
            for (int j = 0; j < i + 3; j++)
                test_check(recv[i][j] == test_size * send[i][j], "start %d: number %d of the sum of %d is %g, not %g", k,
                           j, i + 3, recv[i][j], test_size * send[i][j]);
    }
    for (int i = 0; i < AT_ONCE; i++)
        test_success(MPI_Request_free(&all[i]));
}

static void try_all_persistent(void)
{
    try_persistent_in_any_order();
    for (int m = 0; m < memories(); m++) {
        try_persistent(memory_of(m));
        try_persistent_gather(memory_of(m));
    }
}

/* ---- many ---- */

enum { MANY = 2000 };

static void try_many(void)
{
    static MPI_Request requests[MANY];
    static int ours[MANY], all[MANY];
    int wrong = 0;

    test_now("%d allreduces under way", MANY);
    for (int i = 0; i < MANY; i++) {
        ours[i] = test_rank + i;
        test_success(MPI_Iallreduce(&ours[i], &all[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]));
    }
    test_success(MPI_Waitall(MANY, requests, no_statuses));
    for (int i = 0; i < MANY; i++)
        wrong += all[i] != test_size * (test_size - 1) / 2 + test_size * i;
    test_check(wrong == 0, "%d of %d sums are wrong", wrong, MANY);
}

/* ---- reductions in place at every root ---- */

static void try_reduce_in_place(struct test_case *t, enum memory memory, bool persistent)
{
    struct region *send = &regions[memory][SEND_SIDE], *recv = &regions[memory][RECV_SIDE];
    const struct requested *by = persistent ? &t->row->persistent : &t->row->nonblocking;
    MPI_Request request = MPI_REQUEST_NULL;
    struct tt_call c;

    case_arrange(t);
    for (int start = 0; start < 1 + persistent; start++) {
        case_fill(t, t->key + (uint64_t)start);
        case_ask_native(t);
        c = case_put(t, send, recv, 0);
        test_now("%s %s, %s memory", persistent ? "persistent" : "nonblocking", case_words(t), memory_names[memory]);
        if (start == 0)
            test_success(by->ours(&c, &request));
        if (persistent)
            test_success(MPI_Start(&request));
        test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
        case_check(t, send, recv);
    }
    if (persistent)
        test_success(MPI_Request_free(&request));
}

static void try_reductions(void)
{
    static const int counts[] = {1, 600, 2500};
    struct group all = group_make(0);
    struct test_case t = case_make();

    test_success(MPI_Barrier(all.comm));
    t.group = &all;
    t.inplace = t.nonsense = true;
    for (int r = 0; r < NROWS; r++)
        for (int i = 0; i < 3 * NKINDS && rows[r].traits & TT_REDUCES; i++)
            for (int m = 0; m < memories(); m++) {
                t.row = &rows[r];
                t.kind = &kinds[i % NKINDS];
                t.count = counts[i / NKINDS];
                t.root = i % test_size;
                t.key = (uint64_t)(r * 100 + i);
                try_reduce_in_place(&t, memory_of(m), t.row->persistent.ours && i % 2);
            }
    case_free(&t);
    group_free(&all);
}

/* ---- misuse ---- */

/* Each does something wrong with a collective's request, by the MPI below or by Tutti, and returns the class of what it
 * got for it; then the request is completed and freed as if nothing had been. */
struct calls {
    int (*start)(MPI_Request *), (*cancel)(MPI_Request *), (*free)(MPI_Request *), (*wait)(MPI_Request *, MPI_Status *);
    int (*test)(MPI_Request *, int *, MPI_Status *);
    int (*barrier)(MPI_Comm, MPI_Request *), (*init)(MPI_Comm, MPI_Info, MPI_Request *);
};

#if TT_HAVE_PERSISTENT
#define INIT(P, Name) TT_INIT_NAME(P, Name, )
#else
#define INIT(P, Name) NULL
#endif
static const struct calls theirs = {.start = PMPI_Start,
                                    .cancel = PMPI_Cancel,
                                    .free = PMPI_Request_free,
                                    .wait = PMPI_Wait,
                                    .test = PMPI_Test,
                                    .barrier = PMPI_Ibarrier,
                                    .init = INIT(P, Barrier)};
static const struct calls ours = {.start = MPI_Start,
                                  .cancel = MPI_Cancel,
                                  .free = MPI_Request_free,
                                  .wait = MPI_Wait,
                                  .test = MPI_Test,
                                  .barrier = MPI_Ibarrier,
                                  .init = INIT(, Barrier)};

static MPI_Comm lone; /* nobody else can be left waiting */

static int class_of(int error)
{
    int class = error;

    PMPI_Error_class(error, &class);
    return class;
}

static int cancel_one(const struct calls *by)
{
    MPI_Request request;
    int error;

    by->barrier(lone, &request);
    error = by->cancel(&request);
    by->wait(&request, MPI_STATUS_IGNORE);
    return error;
}

static int start_what_is_not_persistent(const struct calls *by)
{
    MPI_Request request;
    int error;

    by->barrier(lone, &request);
    error = by->start(&request);
    by->wait(&request, MPI_STATUS_IGNORE);
    return error;
}

static int start_twice(const struct calls *by)
{
    MPI_Request request;
    int error;

    by->init(lone, MPI_INFO_NULL, &request);
    by->start(&request);
    error = by->start(&request);
    by->wait(&request, MPI_STATUS_IGNORE);
    by->free(&request);
    return error;
}

static int wait_for_nothing(const struct calls *by)
{
    MPI_Request request;
    int error, flag = 0;

    by->init(lone, MPI_INFO_NULL, &request);
    error = by->wait(&request, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS)
        error = by->test(&request, &flag, MPI_STATUS_IGNORE);
    by->free(&request);
    return flag ? error : MPI_ERR_OTHER;
}

static int cancel_what_is_inactive(const struct calls *by)
{
    MPI_Request request;
    int error;

    by->init(lone, MPI_INFO_NULL, &request);
    error = by->cancel(&request);
    by->free(&request);
    return error;
}

static const struct misuse {
    const char *what;
    int (*commit)(const struct calls *by);
    bool persistent;
    bool any_class; /* MPICH's for it is MPI_ERR_INTERN, and Open MPI has none */
} misuses[] = {
    {"MPI_Cancel of a nonblocking one", cancel_one, false, true},
    {"MPI_Start of a nonblocking one", start_what_is_not_persistent, false, false},
    {"MPI_Start of one that is active", start_twice, true, false},
    {"MPI_Wait and MPI_Test of one that is inactive", wait_for_nothing, true, false},
    {"MPI_Cancel of one that is inactive", cancel_what_is_inactive, true, true},
};

static void misuse_by_the_mpi(const void *misuse)
{
    ((const struct misuse *)misuse)->commit(&theirs);
}

static void try_misuse(const struct misuse *m)
{
    const bool survives = test_survives(misuse_by_the_mpi, m);
    int due, got;

    test_now("%s", m->what);
    got = class_of(m->commit(&ours));
    if (!survives)
        return;
    due = class_of(m->commit(&theirs));
    test_check(got == due || m->any_class, "expected error class %d, as the MPI below gives, got %d", due, got);
}

static void try_all_misuse(void)
{
    int result = 0, one = 1;

    PMPI_Comm_dup(MPI_COMM_SELF, &lone);
    PMPI_Comm_set_errhandler(lone, MPI_ERRORS_RETURN);
    MPI_Allreduce(&one, &result, 1, MPI_INT, MPI_SUM, lone);
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
        if (!misuses[i].persistent || ours.init)
            try_misuse(&misuses[i]);
    MPI_Comm_free(&lone);
}

/* A collective's status says nothing of a message, and that nobody cancelled it. */
static void try_status(void)
{
    MPI_Status status;
    MPI_Request request;
    int flag = 1, n = -1;

    test_now("the status of an Ibarrier");
    test_success(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    test_success(MPI_Wait(&request, &status));
    test_success(MPI_Test_cancelled(&status, &flag));
    test_check(!flag, "it is said to have been cancelled");
    test_success(MPI_Get_count(&status, MPI_BYTE, &n));
    test_check(n == 0, "expected 0 bytes, got %d", n);
}

/* ---- an error among many ---- */

static int calls_of_handler;

static void note(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    calls_of_handler++;
}

/* Rank 0 sends blocks of another length than it receives, which all find out; the collectives around it are sound. */
static void try_error_among(enum memory memory)
{
    struct region *send = &regions[memory][SEND_SIDE], *recv = &regions[memory][RECV_SIDE];
    static const int numbers[100 * MAX_RANKS];
    int mine[2] = {test_rank, test_rank}, all[2] = {-1, -1};
    MPI_Errhandler handler;
    MPI_Status statuses[3];
    MPI_Request requests[3];
    MPI_Comm comm;
    int error;

    test_now("an Iallgather that fails among others, %s memory", memory_names[memory]);
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Comm_create_errhandler(note, &handler);
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
    test_success(MPI_Barrier(comm));
    region_set(send, 0, numbers, sizeof *numbers * 100);
    region_set(recv, 0, numbers, sizeof *numbers * (size_t)(100 * test_size));
    calls_of_handler = 0;
    test_pin("allgather", "ring");
    test_success(MPI_Iallreduce(&mine[0], &all[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
    test_success(MPI_Iallgather(send->at, test_rank ? 100 : 99, MPI_INT, recv->at, 100, MPI_INT, comm, &requests[1]));
    test_success(MPI_Iallreduce(&mine[1], &all[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]));
    test_pin("allgather", NULL);
    error = MPI_Waitall(3, requests, statuses);
    test_check(error == MPI_ERR_IN_STATUS, "expected MPI_ERR_IN_STATUS, got %d", error);
    if (error == MPI_ERR_IN_STATUS)
        for (int i = 0; i < 3; i++)
            test_check((statuses[i].MPI_ERROR != MPI_SUCCESS) == (i == 1), "request %d: error %d", i,
                       statuses[i].MPI_ERROR);
    test_check(calls_of_handler == 1, "the handler was called %d times", calls_of_handler);
    test_check(all[0] == test_size * (test_size - 1) / 2 && all[1] == all[0], "wrong sums: %d, %d", all[0], all[1]);
    MPI_Comm_free(&comm);
}

/* ---- progress ---- */

static MPI_Comm elsewhere; /* all ranks again */

/* Rank 0 has started a sum that the others cannot finish without it, and waits for one of them in one of these ways;
 * that rank lets it go when its sum is there. */
static void in_recv(void)
{
    int got;

    test_success(MPI_Recv(&got, 1, MPI_INT, 1, 3, elsewhere, MPI_STATUS_IGNORE));
}

static void in_probe(void)
{
    MPI_Status status;

    test_success(MPI_Probe(1, 3, elsewhere, &status));
    in_recv();
}

static void in_iprobe(void)
{
    int flag = 0;

    while (!flag) {
        test_success(MPI_Iprobe(1, 3, elsewhere, &flag, MPI_STATUS_IGNORE));
        sched_yield();
    }
    in_recv();
}

static void in_test_of_another(void)
{
    MPI_Request request;
    int got, flag = 0;

    test_success(MPI_Irecv(&got, 1, MPI_INT, 1, 3, elsewhere, &request));
    while (!flag) {
        test_success(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        sched_yield();
    }
}

static void in_wait_for_another(void)
{
    MPI_Request request;
    int got;

    test_success(MPI_Irecv(&got, 1, MPI_INT, 1, 3, elsewhere, &request));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void in_sendrecv(void)
{
    int got, mine = 0;

    test_success(MPI_Sendrecv(&mine, 1, MPI_INT, 0, 4, &mine, 1, MPI_INT, 0, 4, elsewhere, MPI_STATUS_IGNORE));
    test_success(MPI_Sendrecv(&mine, 1, MPI_INT, 1, 4, &got, 1, MPI_INT, 1, 3, elsewhere, MPI_STATUS_IGNORE));
}

static void from_send(void)
{
    const int number = 1;

    test_success(MPI_Send(&number, 1, MPI_INT, 0, 3, elsewhere));
}

static void from_send_and_recv(void)
{
    int got;

    from_send();
    test_success(MPI_Recv(&got, 1, MPI_INT, 0, 4, elsewhere, MPI_STATUS_IGNORE));
}

static void in_ssend(void)
{
    const int number = 1;

    test_success(MPI_Ssend(&number, 1, MPI_INT, 1, 3, elsewhere));
}

static void from_recv(void)
{
    int got;

    test_success(MPI_Recv(&got, 1, MPI_INT, 0, 3, elsewhere, MPI_STATUS_IGNORE));
}

/* All ranks meet; rank 1 comes last. */
static void in_barrier(void)
{
    test_success(MPI_Barrier(elsewhere));
}

static void in_bcast(void)
{
    int number = test_rank;

    test_success(MPI_Bcast(&number, 1, MPI_INT, 1, elsewhere));
    test_check(number == 1, "expected 1, got %d", number);
}

static void in_native_allreduce(void)
{
    int mine = 1, all = 0;

    test_pin("allreduce", "native");
    test_success(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, elsewhere));
    test_check(all == test_size, "expected %d, got %d", test_size, all);
}

static const struct stay {
    const char *where;
    void (*rank_0)(void), (*rank_1)(void), (*others)(void); /* others: also rank 0 and 1, if they have nothing else */
} stays[] = {
    {"MPI_Recv", in_recv, from_send, NULL},
    {"MPI_Probe", in_probe, from_send, NULL},
    {"MPI_Iprobe", in_iprobe, from_send, NULL},
    {"MPI_Test of another request", in_test_of_another, from_send, NULL},
    {"MPI_Wait for another request", in_wait_for_another, from_send, NULL},
    {"MPI_Sendrecv", in_sendrecv, from_send_and_recv, NULL},
    {"MPI_Ssend", in_ssend, from_recv, NULL},
    {"MPI_Barrier", in_barrier, in_barrier, in_barrier},
    {"MPI_Bcast", in_bcast, in_bcast, in_bcast},
    {"an MPI_Allreduce that the MPI below does", in_native_allreduce, in_native_allreduce, in_native_allreduce},
};

static void try_stay(const struct stay *stay, enum memory memory)
{
    const struct sum s = sum_in(memory, NUMBERS);
    MPI_Request request;

    test_now("a sum under way while rank 0 is in %s, %s memory", stay->where, memory_names[memory]);
    test_pin("allreduce", "ring");
    sum_start(&s, MPI_COMM_WORLD, &request);
    if (test_rank == 0)
        stay->rank_0();
    else if (test_rank > 1 && stay->others)
        stay->others();
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    sum_check(&s);
    if (test_rank == 1)
        stay->rank_1();
    test_pin("allreduce", NULL);
    PMPI_Barrier(MPI_COMM_WORLD);
}

/* With TUTTI_PROGRESS=thread the others need not wait until rank 0 makes a call at all. */
static void try_no_call(enum memory memory)
{
    const struct sum s = sum_in(memory, NUMBERS);
    struct timespec begun;
    MPI_Request request;
    double took, longest = 0;

    test_now("a sum under way while rank 0 makes no call, TUTTI_PROGRESS=thread, %s memory", memory_names[memory]);
    test_pin("allreduce", "ring");
    PMPI_Barrier(MPI_COMM_WORLD);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    sum_start(&s, MPI_COMM_WORLD, &request);
    if (test_rank == 0)
        usleep(4000 * LATE_MS);
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    took = test_rank ? ms_since(&begun) : 0;
    sum_check(&s);
    test_pin("allreduce", NULL);
    PMPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    test_check(longest < 4 * LATE_MS, "the others waited for %g ms, and rank 0 for %d", longest, 4 * LATE_MS);
}

static void run_progress(void)
{
    const char *progress = getenv("TUTTI_PROGRESS");

    PMPI_Comm_dup(MPI_COMM_WORLD, &elsewhere);
    PMPI_Comm_set_errhandler(elsewhere, MPI_ERRORS_RETURN);
    test_set("TUTTI_CHUNK", "1K"); /* many messages, so that much is left to do */
    test_success(MPI_Barrier(MPI_COMM_WORLD));
    test_success(MPI_Barrier(elsewhere));
    for (int m = 0; m < memories(); m++)
        for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
            try_stay(&stays[i], memory_of(m));
    for (int m = 0; m < memories() && progress && strcmp(progress, "thread") == 0; m++)
        try_no_call(memory_of(m));
    MPI_Comm_free(&elsewhere);
}

static void run_rules(void)
{
    try_first_calls();
    try_all_freed();
    if (rows[0].persistent.ours)
        try_all_persistent();
    try_many();
    try_reductions();
    try_all_misuse();
    try_status();
    for (int m = 0; m < memories(); m++)
        try_error_among(memory_of(m));
}

int main(int argc, char **argv)
{
    const bool progress = argc > 1 && strcmp(argv[1], "progress") == 0;

    test_begin(&argc, &argv, progress ? 40 : 120);
    regions_make();
    if (!test_check(test_size > 1, "2 ranks are needed"))
        return test_end();
    if (progress)
        run_progress();
    else
        run_rules();
    regions_free();
    return test_end();
}
