/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA failures, as the simulated device injects them: faults memory | sticky | lost. One rank meets the failure, or
 * all do, in each collective and by each algorithm. Every rank must come back from the call (the watchdog says who
 * did not); the rank that failed gets an error that names Tutti, itself, the collective and the cause; nobody gets
 * MPI_SUCCESS with a wrong result; and when the failure is over, the next call works. A broken context ends a
 * process's CUDA, so each of these is a run of its own. */
#include "tests/mpi/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/rows.h"

enum { FAILING = 1, ROOM = 8 << 20, MAX_RANKS = 16 };

static char *send, *recv; /* device memory */
static double *host;
static MPI_Comm ring; /* where every rank has neighbours */

/* ---- what an error must say ---- */

static void check_words(int error, const char *collective, const char *cause)
{
    char text[MPI_MAX_ERROR_STRING], rank[32];
    int length;

    PMPI_Error_string(error, text, &length);
    snprintf(rank, sizeof rank, "rank %d", test_rank);
    test_check(strstr(text, "Tutti") && strstr(text, rank) && strcasestr(text, collective) && strcasestr(text, cause),
               "expected an error that names Tutti, %s, %s and \"%s\", got: %s", rank, collective, cause, text);
}

/* ---- calls ---- */

static struct tt_call arguments(const struct row *row, int n)
{
    return row_call(row, n, MPI_DOUBLE, row->traits & TT_NEIGHBOURS ? ring : MPI_COMM_WORLD, false);
}

/* n doubles in each block; every rank's are its rank + 1. */
static struct tt_call call_of(const struct row *row, int n)
{
    const size_t bytes = sizeof(double) * (size_t)n * (size_t)test_size;
    struct tt_call c = arguments(row, n);

    for (int i = 0; i < n * test_size; i++)
        host[i] = test_rank + 1;
    memory_put(DEVICE, send, host, bytes);
    memory_put(DEVICE, recv, host, bytes);
    c.send.buf = send;
    c.recv.out = recv;
    return c;
}

/* Is a reduction that says it succeeded right? */
static void check_sum(const char *id, int error, int n)
{
    const double want = test_size * (test_size + 1) / 2.0;
    const bool scattered = strncmp(id, "reduce_scatter", 14) == 0;
    int wrong = 0;

    if (error != MPI_SUCCESS || (strcmp(id, "allreduce") && !scattered))
        return;
    memory_get(DEVICE, host, recv, sizeof(double) * (size_t)n);
    for (int i = 0; i < n; i++)
        wrong += host[i] != want;
    test_check(wrong == 0, "MPI_SUCCESS, but %d of %d elements are not %g", wrong, n, want);
}

/* What a failure may do to a call: nothing; or an error on some rank that met it; or either. */
enum must { MUST_FAIL, MUST_NOT_FAIL, MAY_FAIL };

static bool says(int error, const char *cause)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    PMPI_Error_string(error, text, &length);
    return cause && strcasestr(text, cause);
}

/* The call; here: this rank met the failure. Ranks that need none of what is lacking fail only because others did,
 * and say so. */
static int call(const struct row *row, int n, const char *cause, bool here, enum must must)
{
    const struct tt_call c = call_of(row, n);
    const int error = row->ours(&c);
    int first = error != MPI_SUCCESS && says(error, cause), any = 0;

    if (must == MUST_NOT_FAIL)
        test_success(error);
    else if (error != MPI_SUCCESS)
        check_words(error, row->id, here && first ? cause : "sent 0 bytes");
    PMPI_Allreduce(&first, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    test_check(any || must != MUST_FAIL, "expected an error (%s) on some rank, got none", cause);
    check_sum(row->id, error, n);
    return error;
}

static void check_host(const char *when)
{
    double mine = test_rank + 1, all = 0;

    test_now("an allreduce on host memory %s", when);
    if (test_success(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)))
        test_check(all == test_size * (test_size + 1) / 2.0, "expected %g, got %g", test_size * (test_size + 1) / 2.0,
                   all);
}

/* ---- out of memory ---- */

static const struct fault {
    const char *name, *spec, *cause;
    enum must must; /* of an allreduce, whose every algorithm needs scratch */
} faults[] = {
    {"no device memory", "oom:from=1", "memory", MUST_FAIL},
    {"no memory can be pinned", "pinned:from=1", NULL, MUST_NOT_FAIL},
    {"one allocation of device memory fails", "oom:after=1", NULL, MUST_NOT_FAIL},
};
enum { NFAULTS = sizeof faults / sizeof *faults };

/* A new life of the context, in which Tutti has no scratch to use again. */
static void renew(void)
{
    memory_give(DEVICE, send);
    memory_give(DEVICE, recv);
    cudaDeviceReset();
    send = memory_take(DEVICE, ROOM);
    recv = memory_take(DEVICE, ROOM);
}

static void try_memory(const struct row *row, const char *algorithm, const struct fault *f, bool everywhere)
{
    const bool here = everywhere || test_rank == FAILING;
    const bool certain = row == rows && (everywhere || strcmp(algorithm, "ring") == 0);
    const enum must must = f->must == MUST_FAIL && !certain ? MAY_FAIL : f->must;
    const int n = 1000;

    renew();
    test_now("%s by %s of %d doubles, %s %s", row->id, algorithm, n, f->name,
             everywhere ? "on all ranks" : "on rank 1");
    PMPI_Barrier(MPI_COMM_WORLD);
    if (here)
        simulator.inject(f->spec);
    call(row, n, f->cause, here, must);
    simulator.reset();
    test_now("%s by %s of %d doubles, after %s", row->id, algorithm, n, f->name);
    call(row, n, NULL, false, MUST_NOT_FAIL);
}

static void try_memory_row(const struct row *row)
{
    const char *algorithm;

    for (int a = 0; (algorithm = test_algorithm(row->id, a)); a++) {
        if (strcmp(algorithm, "native") == 0)
            continue; /* a rank that cannot take part there leaves the others inside the MPI below */
        test_pin(row->id, algorithm);
        for (int f = 0; f < NFAULTS; f++)
            for (int everywhere = 0; everywhere < 2; everywhere++)
                try_memory(row, algorithm, &faults[f], everywhere);
    }
    test_pin(row->id, NULL);
}

static void run_memory(void)
{
    for (int r = 0; r < NROWS; r++)
        if (!(rows[r].traits & TT_NO_BUFFER))
            try_memory_row(&rows[r]);
    check_host("after the failures");
}

/* ---- a context that breaks, or goes ---- */

/* A program may well go on without its GPU: every collective on host memory must work on the rank whose context broke,
 * whatever the driver answers there. */
static void check_all_on_host(void)
{
    static double out[8 * MAX_RANKS], in[8 * MAX_RANKS];

    for (int i = 0; i < 8 * test_size; i++)
        out[i] = test_rank + 1;
    for (int r = 0; r < NROWS; r++) {
        struct tt_call c = arguments(&rows[r], 8);

        c.send.buf = out;
        c.recv.out = in;
        memset(in, 0, sizeof in);
        test_now("%s of host memory after a context broke", rows[r].id);
        if (!test_success(rows[r].ours(&c)))
            return;
        if (strcmp(rows[r].id, "allreduce") == 0)
            test_check(in[7] == test_size * (test_size + 1) / 2.0, "wrong sum: %g", in[7]);
        if (strcmp(rows[r].id, "allgather") == 0 || strcmp(rows[r].id, "allgatherv") == 0)
            test_check(in[8 * test_size - 1] == test_size, "wrong block: %g", in[8 * test_size - 1]);
    }
}

/* A rank that fails before it can take part, here because its device memory is out of its reach, leaves the others in a
 * call without it. Its next one must not meet them there: it is refused, though nothing is wrong with that one. */
static void check_left_behind(const char *out_of_reach)
{
    double one = 1, sum;
    MPI_Comm apart;

    MPI_Comm_dup(MPI_COMM_WORLD, &apart);
    MPI_Comm_set_errhandler(apart, MPI_ERRORS_RETURN);
    test_set("TUTTI_ALLREDUCE", "native");
    test_now("a rank that stayed away from a call");
    test_success(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, apart));
    if (test_rank == FAILING) {
        test_check(MPI_Allreduce(out_of_reach, &sum, 1, MPI_DOUBLE, MPI_SUM, apart) != MPI_SUCCESS,
                   "expected an error, since the send buffer is out of reach");
        check_words(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, apart), "allreduce", "behind the others");
    }
    test_set("TUTTI_ALLREDUCE", NULL);
    MPI_Comm_free(&apart);
}

/* is_still_memory: of a context that is gone the memory is, too, and its address means nothing. */
static void run_broken(const char *spec, const char *cause, bool is_still_memory)
{
    const bool here = test_rank == FAILING;
    const char *out_of_reach = send;

    test_pin("allreduce", "ring");
    test_now("allreduce before the failure");
    call(&rows[0], 5000, NULL, false, MUST_NOT_FAIL);
    test_now("allreduce by ring, %s on rank 1", spec);
    if (here)
        simulator.inject(spec);
    call(&rows[0], 5000, cause, here, MUST_FAIL);
    test_now("allreduce of device memory after %s on rank 1", spec);
    if (here)
        recv = (send = (char *)host) + ROOM / 2; /* it has no device memory any more, or none that it may touch */
    else
        call_of(&rows[0], 5000);
    MPI_Allreduce(send, recv, 5000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check_host("after a context broke");
    check_all_on_host();
    if (is_still_memory)
        check_left_behind(out_of_reach);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "memory";
    const int periodic = 1;

    test_begin(&argc, &argv, 60);
    if (!simulator.inject || test_size < 2) {
        fprintf(stderr, "FAIL: the simulated device and 2 ranks are needed: only it can be made to fail\n");
        return 1;
    }
    send = memory_take(DEVICE, ROOM);
    recv = memory_take(DEVICE, ROOM);
    host = malloc(ROOM);
    test_set("TUTTI_CHUNK", "4K");
    PMPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, &periodic, 0, &ring);
    PMPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    if (strcmp(mode, "sticky") == 0)
        run_broken("sticky:after=4", "illegal", true);
    else if (strcmp(mode, "lost") == 0)
        run_broken("lost:after=4", "context", false);
    else
        run_memory();
    MPI_Comm_free(&ring);
    return test_end();
}
