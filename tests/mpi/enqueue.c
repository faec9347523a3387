/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives in the order of a CUDA stream: enqueue | enqueue functions | enqueue refused. While the GPU is held all
 * is enqueued, and every call returns, so none waits for the stream; once it is let go, each collective must have had
 * what the copy before it brought, and the copy behind it its results; arrays are changed at once, several streams have
 * collectives under way, and one of many kinds is called by each row. The streams wait by themselves, or by host
 * functions where no page can be pinned for that: counted. Refused: a stream under capture, no progress thread. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/tutti.h"
#include "tests/mpi/lines.h"

#define FUNCTIONS(F) F(allreduce) F(bcast) F(allgather) F(alltoallv) F(reduce_scatter) F(barrier)
static struct {
#define F(id) __typeof__(tutti_##id##_enqueue) *id;
    FUNCTIONS(F)
#undef F
} tt;

static bool by_functions;
static int (*begin_capture)(void *, unsigned), (*end_capture)(void *, void **);

static void find_functions(void)
{
#define F(id) *(void **)&tt.id = dlsym(RTLD_DEFAULT, "tutti_" #id "_enqueue");
    FUNCTIONS(F)
#undef F
    *(void **)&begin_capture = dlsym(RTLD_DEFAULT, "cuStreamBeginCapture_v2");
    *(void **)&end_capture = dlsym(RTLD_DEFAULT, "cuStreamEndCapture");
}

/* ---- */

static void test_two_streams(struct line *lines)
{
    test_now("allreduces in two streams");
    hold();
    for (int s = 0; s < STREAMS; s++) {
        bring(&lines[s], s + 2);
        test_success(tt.allreduce(lines[s].from, lines[s].to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, lines[s].stream));
        fetch(&lines[s]);
        test_check(lines[s].out[0] == -1, "a stream that is held has gone on");
    }
    let_go(lines, STREAMS);
    for (int s = 0; s < STREAMS; s++)
        check_sums(&lines[s], s + 2, N, 0);
}

/* How streams wait for as many collectives as have been enqueued since let_go. */
static void check_waits(unsigned long long n)
{
    struct simcuda_counters c;

    simulator.counters(&c);
    test_check(c.value_waits == (by_functions ? 0 : n) && c.host_functions == (by_functions ? n : 0),
               "%llu collectives: streams wait %llu times by themselves, %llu times by host functions", n,
               c.value_waits, c.host_functions);
}

/* One behind the other, each working on what the one before it left. */
static void test_chain(struct line *l)
{
    test_now("a chain in one stream");
    hold();
    bring(l, 1);
    test_success(tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, l->stream));
    test_success(tt.bcast(l->to, N, MPI_INT, test_size - 1, MPI_COMM_WORLD, l->stream));
    test_success(tt.barrier(MPI_COMM_WORLD, l->stream));
    test_success(tt.allreduce(MPI_IN_PLACE, l->to, N, MPI_INT, MPI_MAX, MPI_COMM_WORLD, l->stream));
    fetch(l);
    check_waits(4);
    let_go(l, 1);
    check_sums(l, 1, N, 0);
}

/* The arrays are spoilt as soon as the call has returned. */
static void test_arrays(struct line *l)
{
    const int each = N / test_size;
    int *counts = malloc((size_t)test_size * sizeof *counts), *displs = malloc((size_t)test_size * sizeof *displs);
    int wrong = 0;

    test_now("arrays that change");
    for (int r = 0; r < test_size; r++) {
        counts[r] = each;
        displs[r] = r * each;
    }
    hold();
    bring(l, 1000);
    test_success(
        tt.alltoallv(l->from, counts, displs, MPI_INT, l->to, counts, displs, MPI_INT, MPI_COMM_WORLD, l->stream));
    fetch(l);
    memset(counts, 0xff, (size_t)test_size * sizeof *counts);
    memset(displs, 0xff, (size_t)test_size * sizeof *displs);
    let_go(l, 1);
    for (int i = 0; i < each * test_size; i++)
        wrong += l->out[i] != 1000 * (i / each + 1) + test_rank * each + i % each;
    test_check(wrong == 0, "%d elements of an alltoallv are wrong", wrong);
    free(counts);
    free(displs);
}

static void test_capture(struct line *l)
{
    void *graph;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, error;

    test_now("capture");
    if (!begin_capture)
        return;
    test_check(begin_capture(l->stream, 0) == 0, "no capture");
    error = tt.allreduce(l->from, l->to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, l->stream);
    test_check(error != MPI_SUCCESS, "enqueued into a stream under capture");
    if (error != MPI_SUCCESS)
        MPI_Error_string(error, text, &length);
    test_check(strstr(text, "captured into a graph"), "seen \"%s\"", text);
    test_check(end_capture(l->stream, &graph) == 0, "the capture did not end");
    test_chain(l);
}

/* What is wrong with the arguments shows when the stream has come to it, and is what the next call returns. */
static void test_late_error(struct line *l)
{
    int error;

    test_now("an error that comes late");
    test_success(tt.allreduce(l->from, l->to, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, l->stream));
    test_check(cudaStreamSynchronize(l->stream) == 0, "a stream failed");
    error = tt.barrier(MPI_COMM_WORLD, l->stream);
    test_check(error != MPI_SUCCESS, "an error was lost");
    test_check(cudaStreamSynchronize(l->stream) == 0, "a stream failed");
}

static void test_no_thread(void)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, error = tt.barrier(MPI_COMM_WORLD, NULL);

    test_now("no thread");
    test_check(error != MPI_SUCCESS, "enqueued, though nobody would start it");
    if (error != MPI_SUCCESS)
        MPI_Error_string(error, text, &length);
    test_check(strstr(text, "TUTTI_PROGRESS=thread"), "seen \"%s\"", text);
}

int main(int argc, char **argv)
{
    struct line lines[STREAMS];

    test_begin(&argc, &argv, 120);
    find_functions();
    by_functions = argc > 1 && strcmp(argv[1], "functions") == 0;
    if (argc > 1 && !by_functions) {
        test_no_thread();
    } else if (test_gpus) {
        for (int s = 0; s < STREAMS; s++)
            line_make(&lines[s]);
        if (by_functions)
            test_check(simulator.inject && simulator.inject("pinned:after=1") == 0, "no fault was injected");
        test_two_streams(lines);
        test_chain(&lines[0]);
        test_arrays(&lines[1]);
        test_capture(&lines[0]);
        test_late_error(&lines[0]);
        for (int s = 0; s < STREAMS; s++)
            line_free(&lines[s]);
    }
    return test_end();
}
