/* SPDX-License-Identifier: BSD-3-Clause */
/* Small calls that ask again what the last one did: within a node they are carried out in one breath, where nothing is
 * in the way. So here something is, now and then: a rank is late, so that others wait for it, or so far behind that
 * their messages have no room; nonblocking calls are under way, on this communicator and on another one; messages of
 * the program's cross. Results are right in any case, whichever ranks went which way, at lengths that fit in one line,
 * in one record, and that do not. */
#include "tests/mpi/harness.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum what {
    BARRIER,
    BCAST,
    ALLREDUCE,
    REDUCE,
    SCAN,
    ALLGATHER,
    GATHER,
    SCATTER,
    ALLTOALL,
    SCATTERED_SUM,
    LISTED, /* from here on, the same by an array of counts */
    LISTED_ALLGATHER = LISTED,
    LISTED_GATHER,
    LISTED_SCATTER,
    LISTED_ALLTOALL,
    LISTED_SUM,
    NWHATS
};
static const char *const names[NWHATS] = {"barrier",    "bcast",   "allreduce", "reduce",    "scan",
                                          "allgather",  "gather",  "scatter",   "alltoall",  "reduce_scatter_block",
                                          "allgatherv", "gatherv", "scatterv",  "alltoallv", "reduce_scatter"};
static const enum what alike[] = {ALLGATHER, GATHER, SCATTER, ALLTOALL,
                                  SCATTERED_SUM}; /* what is listed is, but for that */
enum { MOST = 600, MAX_RANKS = 8, AGAIN = 10, BURST = 150, LATE_US = 300 };
static const int lengths[] = {1, 5, 6, 64, 511, 512, MOST};
enum { NLENGTHS = sizeof lengths / sizeof *lengths };

static double sent[MAX_RANKS * MOST], got[MAX_RANKS * MOST];
static MPI_Comm other;

/* The i-th number of a rank's block for another, or of its only one, which is block 0. */
static double number(int rank, int block, int turn, int i)
{
    return rank * 1000 + block * 100 + turn % 50 + i % 10;
}

static double sum(int ranks, int block, int turn, int i)
{
    double all = 0;

    for (int r = 0; r < ranks; r++)
        all += number(r, block, turn, i);
    return all;
}

/* How many blocks this rank has after it. */
static int blocks(enum what what, int root)
{
    const bool is_root = test_rank == root;

    switch (what) {
    case BARRIER:
        return 0;
    case REDUCE:
        return is_root;
    case GATHER:
        return is_root ? test_size : 0;
    case ALLGATHER:
    case ALLTOALL:
        return test_size;
    default:
        return 1;
    }
}

static double due(enum what what, int root, int block, int turn, int i)
{
    switch (what) {
    case BCAST:
        return number(root, 0, turn, i);
    case ALLREDUCE:
    case REDUCE:
        return sum(test_size, 0, turn, i);
    case SCAN:
        return sum(test_rank + 1, 0, turn, i);
    case SCATTER:
        return number(root, test_rank, turn, i);
    case ALLTOALL:
        return number(block, test_rank, turn, i);
    case SCATTERED_SUM:
        return sum(test_size, test_rank, turn, i);
    default:
        return number(block, 0, turn, i);
    }
}

/* The arrays are the same each time, and what is in them is not. */
static int call_listed(enum what what, int n, int root, void *to)
{
    static int counts[MAX_RANKS], displs[MAX_RANKS];
    const MPI_Comm comm = MPI_COMM_WORLD;

    for (int r = 0; r < test_size; r++) {
        counts[r] = n;
        displs[r] = r * n;
    }
    switch (what) {
    case LISTED_ALLGATHER:
        return MPI_Allgatherv(sent, n, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, comm);
    case LISTED_GATHER:
        return MPI_Gatherv(sent, n, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, root, comm);
    case LISTED_SCATTER:
        return MPI_Scatterv(sent, counts, displs, MPI_DOUBLE, to, n, MPI_DOUBLE, root, comm);
    case LISTED_ALLTOALL:
        return MPI_Alltoallv(sent, counts, displs, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, comm);
    default:
        return MPI_Reduce_scatter(sent, to, counts, MPI_DOUBLE, MPI_SUM, comm);
    }
}

static enum what plain_of(enum what what)
{
    return what < LISTED ? what : alike[what - LISTED];
}

static int call(enum what what, int n, int root)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    void *const to = blocks(plain_of(what), root) ? got : NULL; /* which means nothing where there is none */

    if (what >= LISTED)
        return call_listed(what, n, root, to);

    switch (what) {
    case BARRIER:
        return MPI_Barrier(comm);
    case BCAST:
        return MPI_Bcast(test_rank == root ? sent : got, n, MPI_DOUBLE, root, comm);
    case ALLREDUCE:
        return MPI_Allreduce(sent, to, n, MPI_DOUBLE, MPI_SUM, comm);
    case REDUCE:
        return MPI_Reduce(sent, to, n, MPI_DOUBLE, MPI_SUM, root, comm);
    case SCAN:
        return MPI_Scan(sent, to, n, MPI_DOUBLE, MPI_SUM, comm);
    case ALLGATHER:
        return MPI_Allgather(sent, n, MPI_DOUBLE, to, n, MPI_DOUBLE, comm);
    case GATHER:
        return MPI_Gather(sent, n, MPI_DOUBLE, to, n, MPI_DOUBLE, root, comm);
    case SCATTER:
        return MPI_Scatter(sent, n, MPI_DOUBLE, to, n, MPI_DOUBLE, root, comm);
    case ALLTOALL:
        return MPI_Alltoall(sent, n, MPI_DOUBLE, to, n, MPI_DOUBLE, comm);
    default:
        return MPI_Reduce_scatter_block(sent, to, n, MPI_DOUBLE, MPI_SUM, comm);
    }
}

static void fill(int n, int turn)
{
    for (int block = 0; block < test_size; block++)
        for (int i = 0; i < n; i++)
            sent[block * n + i] = number(test_rank, block, turn, i);
}

static void check_result(enum what what, int n, int root, int turn)
{
    const double *at = what == BCAST && test_rank == root ? sent : got;
    int wrong = 0;

    for (int block = 0; block < blocks(what, root); block++)
        for (int i = 0; i < n; i++)
            wrong += at[block * n + i] != due(what, root, block, turn, i);
    test_check(wrong == 0, "%d of %d numbers are wrong", wrong, n * blocks(what, root));
}

/* ---- what is in the way ---- */

enum trouble { NONE, LATE, UNDER_WAY, ELSEWHERE, MESSAGE, NTROUBLES };

struct beside {
    MPI_Request request;
    double in[2], out[2];
};

static void begin_trouble(struct beside *b, enum trouble trouble, int victim, int turn)
{
    b->request = MPI_REQUEST_NULL;
    b->in[0] = test_rank + turn;
    b->in[1] = 2 * test_rank;
    if (trouble == LATE && victim == test_rank)
        usleep(LATE_US);
    if (trouble == UNDER_WAY || trouble == ELSEWHERE)
        test_success(MPI_Iallreduce(b->in, b->out, 2, MPI_DOUBLE, MPI_SUM,
                                    trouble == UNDER_WAY ? MPI_COMM_WORLD : other, &b->request));
    if (trouble == MESSAGE)
        test_success(MPI_Irecv(b->out, 2, MPI_DOUBLE, (test_rank + 1) % test_size, turn, MPI_COMM_WORLD, &b->request));
}

static void end_trouble(struct beside *b, enum trouble trouble, int turn)
{
    const int p = test_size, next = (test_rank + 1) % p;
    const bool is_message = trouble == MESSAGE;

    if (is_message)
        test_success(MPI_Send(b->in, 2, MPI_DOUBLE, (test_rank + p - 1) % p, turn, MPI_COMM_WORLD));
    if (b->request == MPI_REQUEST_NULL)
        return;
    test_success(MPI_Wait(&b->request, MPI_STATUS_IGNORE));
    test_check(b->out[0] == (is_message ? next + turn : p * (p - 1) / 2 + p * turn) &&
                   b->out[1] == (is_message ? 2 * next : p * (p - 1)),
               "what was under way beside it brought %g and %g", b->out[0], b->out[1]);
}

static void try(enum what what, int most, int root, uint64_t key)
{
    for (int turn = 0; turn < AGAIN; turn++) {
        const uint64_t luck = test_random(key + (uint64_t)turn);
        const enum trouble trouble = turn % 2 ? luck % NTROUBLES : NONE;
        const int n = what >= LISTED && turn % 4 == 3 && most > 1 ? most - 1 : most;
        struct beside beside;

        test_now("%s of %d doubles, root %d, turn %d, trouble %d", names[what], n, root, turn, trouble);
        fill(n, turn);
        begin_trouble(&beside, trouble, (int)(luck / NTROUBLES % (uint64_t)test_size), turn);
        test_success(call(what, n, root));
        check_result(plain_of(what), n, root, turn);
        end_trouble(&beside, trouble, turn);
    }
}

/* The root does not wait for the others, which sleep meanwhile, and then find all of it in order. */
static void try_burst(int n, int root)
{
    for (int turn = 0; turn < BURST; turn++) {
        test_now("bcast of %d doubles, root %d, burst %d", n, root, turn);
        if (test_rank != root && turn == 2)
            usleep(10 * LATE_US);
        fill(n, turn);
        test_success(call(BCAST, n, root));
        check_result(BCAST, n, root, turn);
    }
}

/* Short blocks behind one of more than 4 GiB, in place, which nobody touches. */
static void try_far_off(void)
{
    enum { MANY = 700000000 };
    const size_t bytes = ((size_t)MANY + MAX_RANKS) * sizeof(double);
    double *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int counts[MAX_RANKS], displs[MAX_RANKS];
    int good = all != MAP_FAILED;
    double one;

    test_success(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    for (int r = 0; r < test_size; r++) {
        counts[r] = r ? 1 : MANY;
        displs[r] = r ? MANY + r - 1 : 0;
    }
    for (int turn = 0; good && turn < 4; turn++) {
        test_now("gatherv to where 4 GiB are not enough, turn %d", turn);
        one = test_rank + 10 * turn;
        if (test_rank > 0)
            test_success(MPI_Gatherv(&one, 1, MPI_DOUBLE, NULL, NULL, NULL, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        else
            test_success(MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, all, counts, displs, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        for (int r = 1; test_rank == 0 && r < test_size; r++)
            test_check(all[MANY + r - 1] == r + 10 * turn, "rank %d's number is %g", r, all[MANY + r - 1]);
    }
    if (all != MAP_FAILED)
        munmap(all, bytes);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 100);
    test_success(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    for (enum what what = 0; what < NWHATS; what++)
        for (int i = 0; i < NLENGTHS; i++) {
            const uint64_t key = (uint64_t)(what * NLENGTHS + i) * 1000;

            try(what, lengths[i], (int)(test_random(key + 999) % (uint64_t)test_size), key);
        }
    for (int i = 0; i < NLENGTHS; i++)
        try_burst(lengths[i], i % test_size);
    try_far_off();
    MPI_Comm_free(&other);
    return test_end();
}
