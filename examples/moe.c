/* SPDX-License-Identifier: BSD-3-Clause */
/* A mixture of experts: each rank has one expert and some tokens, and a router that likes the first experts better
 * sends every token to one of them. Who gets how many is told by MPI_Alltoall; the tokens go there, and back when the
 * expert has done its work, by MPI_Alltoallv. All wait for the expert that most tokens go to: that is the skew, which
 * is shown. Plain MPI: nothing here is Tutti's, and tokens may be in GPU memory.
 *
 *   mpicc moe.c -lcudart;  tutti run -- mpiexec -n 4 ./a.out */
#include "shared.h"

enum { TOKENS = 2000, WIDTH = 16 };

static int rank, size;

struct route {
    int *counts, *displs; /* elements for, or from, each rank */
    int total;
};

static void route_make(struct route *r)
{
    r->counts = calloc((size_t)size, sizeof *r->counts);
    r->displs = calloc((size_t)size, sizeof *r->displs);
}

static void route_settle(struct route *r)
{
    r->total = 0;
    for (int i = 0; i < size; i++) {
        r->displs[i] = r->total;
        r->total += r->counts[i];
    }
}

static void route_free(struct route *r)
{
    free(r->counts);
    free(r->displs);
}

/* Of the tokens that no expert before it has, each has two thirds; the last has what is left. */
static int expert_of(int token)
{
    unsigned dice = (unsigned)(rank * TOKENS + token) * 2654435761u;
    int e = 0;

    while (e < size - 1 && dice % 3 == 0) {
        dice /= 3;
        e++;
    }
    return e;
}

static float part_of(int owner, int token, int i)
{
    return (float)((owner * TOKENS + token) % 1000 + i);
}

/* Tokens lie sorted by expert. order[k]: which one is k-th. */
static void sort_tokens(const struct route *out, int *order, float *tokens)
{
    int *next = calloc((size_t)size, sizeof *next);

    for (int t = 0; t < TOKENS; t++) {
        const int e = expert_of(t), k = out->displs[e] / WIDTH + next[e]++;

        order[k] = t;
        for (int i = 0; i < WIDTH; i++)
            tokens[k * WIDTH + i] = part_of(rank, t, i);
    }
    free(next);
}

/* What an expert does to a token. */
static void work(float *tokens, int n)
{
    for (int i = 0; i < n; i++)
        tokens[i] = tokens[i] * 2 + (float)rank;
}

static int count_wrong(const struct route *out, const int *order, const float *tokens)
{
    int wrong = 0, e = 0;

    for (int k = 0; k < TOKENS; k++) {
        while (k * WIDTH >= out->displs[e] + out->counts[e])
            e++;
        for (int i = 0; i < WIDTH; i++)
            wrong += tokens[k * WIDTH + i] != part_of(rank, order[k], i) * 2 + (float)e;
    }
    return wrong;
}

static void tell(const struct route *in, int wrong)
{
    int mine[2] = {in->total / WIDTH, wrong}, most, sums[2];

    MPI_Reduce(mine, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(mine, sums, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d tokens; the busiest expert had %d, %.2f times as many as it would have if all were alike: while it "
               "works, "
               "the others wait. %d elements are wrong\n",
               sums[0], most, (double)most * size / sums[0], sums[1]);
}

int main(int argc, char **argv)
{
    struct route out, in;
    static int order[TOKENS];
    float *tokens, *arrived;
    int wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    shared_open("moe");
    route_make(&out);
    route_make(&in);
    for (int t = 0; t < TOKENS; t++)
        out.counts[expert_of(t)] += WIDTH;
    MPI_Alltoall(out.counts, 1, MPI_INT, in.counts, 1, MPI_INT, MPI_COMM_WORLD);
    route_settle(&out);
    route_settle(&in);
    tokens = shared_new(TOKENS * WIDTH * sizeof *tokens);
    arrived = shared_new((size_t)in.total * sizeof *arrived);
    sort_tokens(&out, order, tokens);
    MPI_Alltoallv(tokens, out.counts, out.displs, MPI_FLOAT, arrived, in.counts, in.displs, MPI_FLOAT, MPI_COMM_WORLD);
    work(arrived, in.total);
    MPI_Alltoallv(arrived, in.counts, in.displs, MPI_FLOAT, tokens, out.counts, out.displs, MPI_FLOAT, MPI_COMM_WORLD);
    wrong = count_wrong(&out, order, tokens);
    tell(&in, wrong);
    shared_free(tokens);
    shared_free(arrived);
    route_free(&out);
    route_free(&in);
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
