/* SPDX-License-Identifier: BSD-3-Clause */
/* An HPC code: Jacobi's iteration for Laplace's equation on a square plate, one edge of which is hot, cut into stripes
 * of rows. Each step a rank exchanges a halo row with its neighbours (point-to-point), and every few steps all ask
 * together how far they still are from the solution (a dot product, by MPI_Allreduce). Plain MPI: nothing here is
 * Tutti's, and the plate may be in GPU memory.
 *
 *   mpicc jacobi.c -lcudart;  tutti run -- mpiexec -n 4 ./a.out */
#include <math.h>

#include "shared.h"

enum { N = 32, MOST = 5000, ASK = 50 };

struct stripe {
    int rank, size;
    int rows;           /* of its own, between two halo rows */
    double *now, *next; /* rows + 2 rows of N + 2 */
};

static double *row(double *plate, int i)
{
    return plate + (size_t)i * (N + 2);
}

static int rows_of(int rank, int size)
{
    return N / size + (rank < N % size);
}

/* The first rank's upper halo row is the plate's hot edge; all other edges are cold. */
static void make(struct stripe *s)
{
    s->rows = rows_of(s->rank, s->size);
    s->now = shared_new((size_t)(s->rows + 2) * (N + 2) * sizeof(double));
    s->next = shared_new((size_t)(s->rows + 2) * (N + 2) * sizeof(double));
    for (int j = 0; s->rank == 0 && j < N + 2; j++)
        s->now[j] = s->next[j] = 1;
}

static void exchange(struct stripe *s)
{
    const int up = s->rank > 0 ? s->rank - 1 : MPI_PROC_NULL,
              down = s->rank + 1 < s->size ? s->rank + 1 : MPI_PROC_NULL;

    MPI_Sendrecv(row(s->now, 1), N + 2, MPI_DOUBLE, up, 0, row(s->now, s->rows + 1), N + 2, MPI_DOUBLE, down, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(s->now, s->rows), N + 2, MPI_DOUBLE, down, 0, row(s->now, 0), N + 2, MPI_DOUBLE, up, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Returns this rank's part of the square of the change. */
static double relax(struct stripe *s)
{
    double sum = 0, *swap = s->now;

    for (int i = 1; i <= s->rows; i++)
        for (int j = 1; j <= N; j++) {
            const double mean =
                (row(s->now, i - 1)[j] + row(s->now, i + 1)[j] + row(s->now, i)[j - 1] + row(s->now, i)[j + 1]) / 4;
            const double change = mean - row(s->now, i)[j];

            row(s->next, i)[j] = mean;
            sum += change * change;
        }
    s->now = s->next;
    s->next = swap;
    return sum;
}

static double dot(double mine)
{
    double *sum = shared_new(sizeof *sum), all;

    *sum = mine;
    MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    all = *sum;
    shared_free(sum);
    return all;
}

/* By symmetry four plates, each hot at another edge, add up to one that is hot all over: so the middle is at 1/4. The
 * four elements about it are. */
static double middle(const struct stripe *s)
{
    double mine = 0;
    int first = 1;

    for (int r = 0; r < s->rank; r++)
        first += rows_of(r, s->size);
    for (int i = N / 2; i <= N / 2 + 1; i++)
        if (i >= first && i < first + s->rows)
            mine += row(s->now, i - first + 1)[N / 2] + row(s->now, i - first + 1)[N / 2 + 1];
    return dot(mine) / 4;
}

int main(int argc, char **argv)
{
    struct stripe s;
    double change = 1, found;
    int steps = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.size);
    shared_open("jacobi");
    make(&s);
    while (steps < MOST && change > 1e-6) {
        double mine;

        exchange(&s);
        mine = relax(&s);
        if (++steps % ASK == 0)
            change = sqrt(dot(mine));
    }
    found = middle(&s);
    if (s.rank == 0)
        printf("%d steps, the last change was %.1e; in the middle it is %.5f, expected 0.25\n", steps, change, found);
    shared_free(s.now);
    shared_free(s.next);
    MPI_Finalize();
    return fabs(found - 0.25) < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
}
