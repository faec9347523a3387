/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls in streams by NCCL, on communicators that tutti_comm_prepare has made ready: enqueue_nccl
 * (TUTTI_PROGRESS=thread). Without it none; with it what is pinned to NCCL is launched in the program's stream by the
 * time the call returns, and no stream waits for the host; what is the host's beside it in one stream, or before it in
 * another, keeps its place; every collective that NCCL has, in place too; two calls of the driver a call. Then what
 * goes wrong, each time on a communicator of its own: an error that NCCL reports, data with gaps on one rank: an error
 * on every rank, streams that go on, and after another tutti_comm_prepare the host's way. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll/tutti.h"
#include "tests/mpi/lines.h"
#include "tests/mpi/nccl_direct.h"
#include "tests/simcuda/simnccl.h"

#define FUNCTIONS(F)                                                                                                   \
    F(allreduce)                                                                                                       \
    F(reduce) F(bcast) F(allgather) F(reduce_scatter_block) F(alltoall) F(alltoallv) F(gather) F(scatter) F(barrier)
static struct {
#define F(id) __typeof__(tutti_##id##_enqueue) *id;
    FUNCTIONS(F)
#undef F
    __typeof__(tutti_comm_prepare) *prepare;
} tt;

static void (*nccl_counters)(struct simnccl_counters *);

static void find_functions(void)
{
    void *nccl = dlopen("libnccl.so.2", RTLD_NOW);

#define F(id) *(void **)&tt.id = dlsym(RTLD_DEFAULT, "tutti_" #id "_enqueue");
    FUNCTIONS(F)
#undef F
    *(void **)&tt.prepare = dlsym(RTLD_DEFAULT, "tutti_comm_prepare");
    *(void **)&nccl_counters = nccl ? dlsym(nccl, "simnccl_counters") : NULL;
}

static struct simnccl_counters by_nccl(void)
{
    struct simnccl_counters n = {0};

    if (test_check(nccl_counters != NULL, "no stand-in for NCCL"))
        nccl_counters(&n);
    return n;
}

static struct simcuda_counters by_driver(void)
{
    struct simcuda_counters n;

    simulator.counters(&n);
    return n;
}

static const char *const pinned[] = {"allreduce", "reduce",    "bcast",  "allgather", "reduce_scatter_block",
                                     "alltoall",  "alltoallv", "gather", "scatter"};

static void pin_all(const char *algorithm)
{
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
        test_pin(pinned[i], algorithm);
}

static MPI_Comm prepared(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    test_success(tt.prepare(comm));
    return comm;
}

/* ---- what is whose ---- */

/* A sum that the host is to drive; or else what is wrong. */
static void expect_by_host(MPI_Comm comm, struct line *l, int value, const char *wrong)
{
    const unsigned long long before = by_nccl().AllReduce;

    bring(l, value);
    test_success(tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, comm, l->stream));
    fetch(l);
    let_go(l, 1);
    check_sums(l, value, N, 0);
    test_check(by_nccl().AllReduce == before, "%s", wrong);
}

static void test_unprepared(struct line *l)
{
    test_now("NCCL named, but not prepared");
    expect_by_host(MPI_COMM_WORLD, l, 1, "NCCL had a call that it could not have");
}

static void test_two_streams(MPI_Comm comm, struct line *lines)
{
    const struct simnccl_counters before = by_nccl();
    const struct simcuda_counters waits = by_driver();

    test_now("allreduces by NCCL in two streams");
    hold();
    for (int s = 0; s < STREAMS; s++) {
        bring(&lines[s], s + 2);
        test_success(tt.allreduce(lines[s].from, lines[s].to, N, MPI_INT, MPI_SUM, comm, lines[s].stream));
        fetch(&lines[s]);
        test_check(by_nccl().AllReduce == before.AllReduce + (unsigned)s + 1,
                   "a call has returned, and NCCL has not got it");
    }
    test_check(by_driver().value_waits == waits.value_waits && by_driver().host_functions == waits.host_functions,
               "a stream waits for the host");
    let_go(lines, STREAMS);
    for (int s = 0; s < STREAMS; s++)
        check_sums(&lines[s], s + 2, N, 0);
}

/* One behind the other, by turns NCCL's and the host's. */
static void test_chain(MPI_Comm comm, struct line *l)
{
    test_now("a chain of NCCL's and the host's");
    test_pin("bcast", "binomial");
    hold();
    bring(l, 1);
    test_success(tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, comm, l->stream));
    test_success(tt.bcast(l->to, N, MPI_INT, test_size - 1, comm, l->stream));
    test_success(tt.allreduce(MPI_IN_PLACE, l->to, N, MPI_INT, MPI_MAX, comm, l->stream));
    test_success(tt.barrier(comm, l->stream));
    test_success(tt.allreduce(MPI_IN_PLACE, l->to, N, MPI_INT, MPI_MIN, comm, l->stream));
    fetch(l);
    test_check(by_driver().value_waits == 2, "streams wait for the host %llu times, expected 2",
               by_driver().value_waits);
    let_go(l, 1);
    check_sums(l, 1, N, 0);
    test_pin("bcast", "nccl");
}

/* No event of the program's is between the two streams: that the one comes first is Tutti's doing. */
static void test_order(MPI_Comm comm, struct line *lines)
{
    test_now("NCCL's after the host's in another stream");
    test_pin("allreduce", "ring");
    hold();
    bring(&lines[0], 5);
    test_success(tt.allreduce(lines[0].from, lines[0].to, N, MPI_INT, MPI_SUM, comm, lines[0].stream));
    test_pin("allreduce", "nccl");
    test_success(tt.allreduce(lines[0].to, lines[1].to, N, MPI_INT, MPI_MAX, comm, lines[1].stream));
    fetch(&lines[1]);
    let_go(lines, STREAMS);
    check_sums(&lines[1], 5, N, 0);
}

/* ---- every collective ---- */

enum { EACH = 100 };

static int sent(int rank, int to, int i)
{
    return 10000 * rank + 100 * to + i;
}

static void put_blocks(const struct line *l, int *at, int rank)
{
    int blocks[N];

    for (int i = 0; i < EACH * test_size; i++)
        blocks[i] = sent(rank, i / EACH, i % EACH);
    memory_put(DEVICE, (char *)at, blocks, (size_t)EACH * (size_t)test_size * sizeof(int));
    memset(l->out, 0xff, N * sizeof(int));
}

static void check_block(const struct line *l, int block, int rank, int to, const char *what)
{
    int wrong = 0;

    for (int i = 0; i < EACH; i++)
        wrong += l->out[block * EACH + i] != sent(rank, to, i);
    test_check(wrong == 0, "%s: %d elements of block %d are wrong", what, wrong, block);
}

static void bring_back(struct line *l)
{
    fetch(l);
    let_go(l, 1);
}

static void test_movers(MPI_Comm comm, struct line *l)
{
    const int last = test_size - 1;

    test_now("movers by NCCL");
    put_blocks(l, l->from, test_rank);
    test_success(tt.alltoall(l->from, EACH, MPI_INT, l->to, EACH, MPI_INT, comm, l->stream));
    bring_back(l);
    for (int r = 0; r < test_size; r++)
        check_block(l, r, r, test_rank, "alltoall");
    put_blocks(l, l->to, test_rank);
    test_success(tt.alltoall(MPI_IN_PLACE, 0, MPI_INT, l->to, EACH, MPI_INT, comm, l->stream));
    bring_back(l);
    for (int r = 0; r < test_size; r++)
        check_block(l, r, r, test_rank, "alltoall in place");
    test_success(tt.allgather(l->from, EACH, MPI_INT, l->to, EACH, MPI_INT, comm, l->stream));
    bring_back(l);
    for (int r = 0; r < test_size; r++)
        check_block(l, r, r, 0, "allgather");
    test_success(tt.gather(l->from, EACH, MPI_INT, l->to, EACH, MPI_INT, last, comm, l->stream));
    bring_back(l);
    for (int r = 0; r < test_size && test_rank == last; r++)
        check_block(l, r, r, 0, "gather");
    test_success(tt.scatter(l->from, EACH, MPI_INT, l->to, EACH, MPI_INT, last, comm, l->stream));
    bring_back(l);
    check_block(l, 0, last, test_rank, "scatter");
    put_blocks(l, l->to, test_rank);
    test_success(tt.bcast(l->to, EACH, MPI_INT, last, comm, l->stream));
    bring_back(l);
    check_block(l, 0, last, 0, "bcast");
}

/* The sum over ranks of what each sends to `to`. */
static void check_reduced(const struct line *l, int block, int to, const char *what)
{
    int wrong = 0;

    for (int i = 0; i < EACH; i++)
        wrong += l->out[block * EACH + i] != 10000 * test_size * (test_size - 1) / 2 + test_size * (100 * to + i);
    test_check(wrong == 0, "%s: %d sums are wrong", what, wrong);
}

static void test_reductions(MPI_Comm comm, struct line *l)
{
    test_now("reductions by NCCL");
    put_blocks(l, l->from, test_rank);
    test_success(tt.reduce_scatter_block(l->from, l->to, EACH, MPI_INT, MPI_SUM, comm, l->stream));
    bring_back(l);
    check_reduced(l, 0, test_rank, "reduce_scatter_block");
    put_blocks(l, l->to, test_rank);
    test_success(tt.reduce_scatter_block(MPI_IN_PLACE, l->to, EACH, MPI_INT, MPI_SUM, comm, l->stream));
    bring_back(l);
    check_reduced(l, 0, test_rank, "reduce_scatter_block in place");
    test_success(tt.reduce(l->from, l->to, EACH, MPI_INT, MPI_SUM, 1, comm, l->stream));
    bring_back(l);
    if (test_rank == 1)
        check_reduced(l, 0, 0, "reduce");
}

/* The arrays are spoilt as soon as the call has returned; the last rank gets and gives nothing. */
static void test_arrays(MPI_Comm comm, struct line *l)
{
    int counts[64], displs[64];

    test_now("an alltoallv by NCCL, of arrays that change");
    for (int r = 0; r < test_size; r++) {
        counts[r] = test_rank == test_size - 1 || r == test_size - 1 ? 0 : EACH;
        displs[r] = r * EACH;
    }
    hold();
    put_blocks(l, l->from, test_rank);
    test_success(tt.alltoallv(l->from, counts, displs, MPI_INT, l->to, counts, displs, MPI_INT, comm, l->stream));
    memset(counts, 0xff, sizeof counts);
    memset(displs, 0xff, sizeof displs);
    bring_back(l);
    for (int r = 0; r < test_size - 1 && test_rank < test_size - 1; r++)
        check_block(l, r, r, test_rank, "alltoallv");
}

/* ---- what it costs ---- */

/* Beside what NCCL asks of the driver by itself. The thread's polls, each of which enters a context, asks for an event
 * and leaves, are none of it; one may be half done. Nor are events that are made because the thread has not looked at
 * others yet. */
static void test_cost(MPI_Comm comm, struct line *l)
{
    enum { CALLS = 64, SLACK = 3 };
    const unsigned long long direct = nccl_direct_calls(l->from, l->to, N);
    struct simcuda_counters before, after;
    unsigned long long calls;

    test_now("what a call costs");
    for (int i = 0; i < CALLS; i++)
        test_success(tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, comm, l->stream));
    let_go(l, 1);
    hold();
    before = by_driver();
    for (int i = 0; i < CALLS; i++)
        test_success(tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, comm, l->stream));
    after = by_driver();
    calls = after.calls - before.calls - 3 * (after.queries - before.queries) - (after.events - before.events);
    test_check(calls <= (direct + 2) * CALLS + SLACK, "%d calls of NCCL cost %llu of the driver's, expected %llu each",
               CALLS, calls, direct + 2);
    test_check(after.pointer_queries == before.pointer_queries, "%llu pointers were looked up",
               after.pointer_queries - before.pointer_queries);
    let_go(l, 1);
}

/* ---- what goes wrong ---- */

/* Of a call that returned `error`: who has not met the failure by then is told of it within a moment. Nobody else is in
 * the calls that are made until then, and nobody has to be: they go with NCCL. */
static void expect_error(int error, MPI_Comm comm, struct line *l, const char *words)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    for (int tries = 0; tries < 5000 && error == MPI_SUCCESS; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        error = tt.allreduce(MPI_IN_PLACE, l->to, 1, MPI_INT, MPI_SUM, comm, l->stream);
    }
    test_check(error != MPI_SUCCESS, "no error was returned");
    if (error != MPI_SUCCESS)
        MPI_Error_string(error, text, &length);
    test_check(strstr(text, words) != NULL, "seen \"%s\", expected \"%s\"", text, words);
    test_check(cudaStreamSynchronize(l->stream) == 0, "a stream failed");
}

/* No rank has NCCL any more, and all know it. */
static void expect_host(MPI_Comm comm, struct line *l)
{
    test_success(tt.prepare(comm));
    expect_by_host(comm, l, 3, "NCCL was used after it had failed");
}

static void test_reported(struct line *l)
{
    MPI_Comm comm = prepared();

    test_now("an error that NCCL reports on rank 1");
    test_success(tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, comm, l->stream));
    let_go(l, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 1)
        simulator.inject("nccl-error:after=1");
    expect_error(tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, comm, l->stream), comm, l, "NCCL");
    simulator.reset();
    test_check(tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, comm, l->stream) != MPI_SUCCESS,
               "NCCL has failed, and took a call");
    MPI_Barrier(MPI_COMM_WORLD);
    expect_host(comm, l);
    MPI_Comm_free(&comm);
}

static void test_gaps(struct line *l)
{
    MPI_Comm comm = prepared();
    MPI_Datatype every_other, type = MPI_INT;
    int count = EACH;

    test_now("data with gaps on rank 1");
    MPI_Type_vector(EACH, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    if (test_rank == 1) {
        type = every_other;
        count = 1;
    }
    expect_error(tt.bcast(l->to, count, type, 0, comm, l->stream), comm, l, "gaps");
    MPI_Barrier(MPI_COMM_WORLD);
    expect_host(comm, l);
    MPI_Type_free(&every_other);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    struct line lines[STREAMS];
    MPI_Comm comm;

    test_begin(&argc, &argv, 120);
    find_functions();
    for (int s = 0; s < STREAMS; s++)
        line_make(&lines[s]);
    pin_all("nccl");
    test_unprepared(&lines[0]);
    comm = prepared();
    test_two_streams(comm, lines);
    test_chain(comm, &lines[0]);
    test_order(comm, lines);
    test_movers(comm, &lines[0]);
    test_reductions(comm, &lines[0]);
    test_arrays(comm, &lines[1]);
    test_cost(comm, &lines[0]);
    MPI_Comm_free(&comm);
    test_reported(&lines[0]);
    test_gaps(&lines[1]);
    pin_all(NULL);
    for (int s = 0; s < STREAMS; s++)
        line_free(&lines[s]);
    return test_end();
}
