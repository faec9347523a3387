/* SPDX-License-Identifier: BSD-3-Clause */
/* Data-parallel training: a small network of three layers learns sin(3x) cos(2y) from points of its own on each rank,
 * and gradients are averaged over all ranks. Twice from the same start: with one MPI_Allreduce per tensor, and with
 * Tutti's buckets, which reduce the last layer's gradient while the first's is still being worked out. Both must come
 * to the same weights, and the loss must have fallen.
 *
 *   mpicc mlp.c -ltutti -lcudart -lm;  TUTTI_REPRODUCIBLE=1 mpiexec -n 4 ./a.out
 *
 * The last lines say where a step's time went: speed is, per rank, computing less what of communication is not hidden.
 */
#include <math.h>
#include <tutti.h>

#include "shared.h"

enum { LAYERS = 3, WIDTH = 64, BATCH = 32, STEPS = 150, TENSORS = 2 * LAYERS };
static const int widths[LAYERS + 1] = {2, WIDTH, WIDTH, 1};

struct network {
    float *w[LAYERS], *b[LAYERS];   /* weights, row by output; biases */
    float *dw[LAYERS], *db[LAYERS]; /* their gradients: what is reduced */
};

static int rank, size;
static float x[LAYERS + 1][BATCH][WIDTH],
    dx[LAYERS + 1][BATCH][WIDTH]; /* of each layer's input; the last: the output */

static int count_of(int tensor)
{
    const int l = tensor / 2;

    return tensor % 2 ? widths[l + 1] : widths[l] * widths[l + 1];
}

/* The same numbers on all ranks for the same state. */
static float random_of(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 23) - 1;
}

static void network_make(struct network *n)
{
    unsigned state = 1;

    for (int l = 0; l < LAYERS; l++) {
        n->w[l] = shared_new((size_t)count_of(2 * l) * sizeof(float));
        n->dw[l] = shared_new((size_t)count_of(2 * l) * sizeof(float));
        n->b[l] = shared_new((size_t)count_of(2 * l + 1) * sizeof(float));
        n->db[l] = shared_new((size_t)count_of(2 * l + 1) * sizeof(float));
        for (int i = 0; i < count_of(2 * l); i++)
            n->w[l][i] = random_of(&state) * sqrtf(3.0f / (float)widths[l]);
    }
}

static void network_free(struct network *n)
{
    for (int l = 0; l < LAYERS; l++) {
        shared_free(n->w[l]);
        shared_free(n->dw[l]);
        shared_free(n->b[l]);
        shared_free(n->db[l]);
    }
}

/* Of this rank's points; sets the output's gradient. Returns the loss. */
static float forward(struct network *n, int step)
{
    unsigned state = (unsigned)(step * size + rank) * 2654435761u;
    float loss = 0;

    for (int k = 0; k < BATCH; k++) {
        float error;

        for (int i = 0; i < 2; i++)
            x[0][k][i] = random_of(&state);
        for (int l = 0; l < LAYERS; l++)
            for (int o = 0; o < widths[l + 1]; o++) {
                float sum = n->b[l][o];

                for (int i = 0; i < widths[l]; i++)
                    sum += n->w[l][o * widths[l] + i] * x[l][k][i];
                x[l + 1][k][o] = l + 1 < LAYERS ? tanhf(sum) : sum;
            }
        error = x[LAYERS][k][0] - sinf(3 * x[0][k][0]) * cosf(2 * x[0][k][1]);
        dx[LAYERS][k][0] = 2 * error / (BATCH * (float)size);
        loss += error * error / BATCH;
    }
    return loss;
}

/* The gradients of layer l, from that of its output. */
static void backward(struct network *n, int l)
{
    memset(n->dw[l], 0, (size_t)count_of(2 * l) * sizeof(float));
    memset(n->db[l], 0, (size_t)count_of(2 * l + 1) * sizeof(float));
    for (int k = 0; k < BATCH; k++) {
        for (int i = 0; i < widths[l]; i++)
            dx[l][k][i] = 0;
        for (int o = 0; o < widths[l + 1]; o++) {
            const float y = x[l + 1][k][o], d = dx[l + 1][k][o] * (l + 1 < LAYERS ? 1 - y * y : 1);

            n->db[l][o] += d;
            for (int i = 0; i < widths[l]; i++) {
                n->dw[l][o * widths[l] + i] += d * x[l][k][i];
                dx[l][k][i] += d * n->w[l][o * widths[l] + i];
            }
        }
    }
}

static void update(struct network *n)
{
    const float rate = 0.1f;

    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < count_of(2 * l); i++)
            n->w[l][i] -= rate * n->dw[l][i];
        for (int i = 0; i < count_of(2 * l + 1); i++)
            n->b[l][i] -= rate * n->db[l][i];
    }
}

/* ---- a step, in two ways ---- */

static void reduce(float *gradient, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, gradient, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* buckets: NULL for one allreduce per tensor. Adds to *exposed what it waited for. */
static float step(struct network *n, int number, struct tutti_buckets *buckets, double *exposed)
{
    const float loss = forward(n, number);
    double waited = 0, from;

    for (int l = LAYERS - 1; l >= 0; l--) {
        backward(n, l);
        from = MPI_Wtime();
        if (buckets) { /* tensors in the order of backward: number 0 is the last layer's */
            tutti_buckets_ready(buckets, 2 * (LAYERS - 1 - l));
            tutti_buckets_ready(buckets, 2 * (LAYERS - 1 - l) + 1);
        } else {
            reduce(n->dw[l], count_of(2 * l));
            reduce(n->db[l], count_of(2 * l + 1));
        }
        waited += MPI_Wtime() - from;
    }
    from = MPI_Wtime();
    if (buckets)
        tutti_buckets_wait(buckets);
    *exposed += waited + MPI_Wtime() - from;
    update(n);
    return loss;
}

static struct tutti_buckets *make_buckets(struct network *n)
{
    struct tutti_buckets *b;
    char name[32];

    tutti_buckets_create(MPI_COMM_WORLD, MPI_FLOAT, MPI_SUM, TUTTI_ALL, TUTTI_BUCKET_MODEL, &b);
    for (int l = LAYERS - 1; l >= 0; l--) {
        snprintf(name, sizeof name, "layer %d, weights", l);
        tutti_buckets_add(b, name, n->dw[l], count_of(2 * l));
        snprintf(name, sizeof name, "layer %d, biases", l);
        tutti_buckets_add(b, name, n->db[l], count_of(2 * l + 1));
    }
    tutti_buckets_commit(b);
    return b;
}

/* Mean loss of the last steps. */
static float train(struct network *n, int bucketed)
{
    struct tutti_buckets *buckets = bucketed ? make_buckets(n) : NULL;
    struct tutti_overlap o;
    float first = 0, last = 0, both[2];
    double exposed = 0, start = MPI_Wtime(), took;

    for (int i = 0; i < STEPS; i++) {
        const float loss = step(n, i, buckets, &exposed);

        first += i < 10 ? loss / (10 * (float)size) : 0;
        last += i >= STEPS - 10 ? loss / (10 * (float)size) : 0;
    }
    took = MPI_Wtime() - start;
    both[0] = first;
    both[1] = last;
    reduce(both, 2);
    if (rank == 0)
        printf("%s: loss %.4f, then %.4f; a step took %.3f ms: %.3f ms of computing and %.3f ms of exposed "
               "communication\n",
               bucketed ? "buckets" : "an allreduce per tensor", both[0], both[1], took / STEPS * 1e3,
               (took - exposed) / STEPS * 1e3, exposed / STEPS * 1e3);
    if (buckets && tutti_buckets_overlap(buckets, &o) == MPI_SUCCESS && rank == 0)
        printf("%d bucket%s; of the last step %.0f %% was overlapped: %s\n", o.buckets, o.buckets == 1 ? "" : "s",
               o.overlap * 100, o.why);
    tutti_buckets_free(&buckets);
    return both[1] < both[0] / 2 ? both[1] : INFINITY;
}

static int differ(const struct network *a, const struct network *b)
{
    float most = 0;

    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < count_of(2 * l); i++)
            most = fmaxf(most, fabsf(a->w[l][i] - b->w[l][i]));
    if (rank == 0)
        printf("the weights differ by %g at most\n", (double)most);
    return most > 1e-3f;
}

int main(int argc, char **argv)
{
    struct network plain, bucketed;
    int wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    shared_open("mlp");
    network_make(&plain);
    network_make(&bucketed);
    wrong = !isfinite(train(&plain, 0));
    wrong |= !isfinite(train(&bucketed, 1));
    wrong |= differ(&plain, &bucketed);
    network_free(&plain);
    network_free(&bucketed);
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
