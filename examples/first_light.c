/* SPDX-License-Identifier: BSD-3-Clause */
/* An ordinary MPI and CUDA program: it knows nothing of Tutti. It puts numbers into GPU memory, hands the pointers
 * to plain MPI collectives, which most MPIs would crash on, and checks every element that comes back. Build it
 * with any C compiler and -lcudart (mpicc first_light.c -lcudart), or nvcc -cudart shared.
 *
 * One line per collective from rank 0; the exit status is 1 if any result was wrong. */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 25000 }; /* elements of a block: odd sizes are what programs have */

struct world {
    int rank, size;
    int wrong; /* collectives that came out wrong, on any rank */
};

/* What element i of the contribution of a rank is: small integers, so that sums are exact. */
static float part(int rank, int i)
{
    return (float)(rank + 1 + i % 7);
}

static float sum_of_parts(const struct world *w, int i)
{
    return (float)(w->size * (w->size + 1) / 2 + w->size * (i % 7));
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "first_light: %s: %s\n", what, cudaGetErrorString(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static float *host_new(int n)
{
    float *p = malloc((size_t)n * sizeof *p);

    if (!p)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

/* n elements on the GPU, filled with part(rank, i). */
static float *device_new(int rank, int n)
{
    float *host = host_new(n), *device;

    for (int i = 0; i < n; i++)
        host[i] = part(rank, i);
    must(cudaMalloc((void **)&device, (size_t)n * sizeof *device), "cudaMalloc");
    must(cudaMemcpy(device, host, (size_t)n * sizeof *device, cudaMemcpyHostToDevice), "cudaMemcpy to the GPU");
    free(host);
    return device;
}

/* Brings n elements back and compares each with expected(w, i); tells the world, and says the line. */
static void check(struct world *w, const char *name, const float *device, int n,
                  float (*expected)(const struct world *w, int i))
{
    float *host = host_new(n);
    int bad = 0, bad_anywhere;

    must(cudaMemcpy(host, device, (size_t)n * sizeof *host, cudaMemcpyDeviceToHost), "cudaMemcpy from the GPU");
    for (int i = 0; i < n; i++)
        if (host[i] != expected(w, i) && bad++ == 0)
            fprintf(stderr, "first_light: rank %d, %s: element %d is %g, expected %g\n", w->rank, name, i, host[i],
                    expected(w, i));
    free(host);
    MPI_Allreduce(&bad, &bad_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    w->wrong += bad_anywhere > 0;
    if (w->rank == 0)
        printf("%-25s %7d floats on the GPU, %d ranks: %s\n", name, n, w->size, bad_anywhere ? "WRONG" : "correct");
}

/* ---- what each collective must give ---- */

static float of_last_rank(const struct world *w, int i)
{
    return part(w->size - 1, i);
}

static float of_all_ranks(const struct world *w, int i)
{
    (void)w;
    return part(i / BLOCK, i % BLOCK);
}

static float own_block_of_sum(const struct world *w, int i)
{
    return sum_of_parts(w, w->rank * BLOCK + i);
}

static float own_block_of_all(const struct world *w, int i)
{
    return part(i / BLOCK, w->rank * BLOCK + i % BLOCK);
}

/* ---- */

static void run_all(struct world *w)
{
    const int all = w->size * BLOCK;
    float *in = device_new(w->rank, all), *out = device_new(-1, all);

    MPI_Allreduce(in, out, all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(w, "MPI_Allreduce", out, all, sum_of_parts);
    MPI_Allgather(in, BLOCK, MPI_FLOAT, out, BLOCK, MPI_FLOAT, MPI_COMM_WORLD);
    check(w, "MPI_Allgather", out, all, of_all_ranks);
    MPI_Reduce_scatter_block(in, out, BLOCK, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(w, "MPI_Reduce_scatter_block", out, BLOCK, own_block_of_sum);
    MPI_Alltoall(in, BLOCK, MPI_FLOAT, out, BLOCK, MPI_FLOAT, MPI_COMM_WORLD);
    check(w, "MPI_Alltoall", out, all, own_block_of_all);
    MPI_Bcast(in, all, MPI_FLOAT, w->size - 1, MPI_COMM_WORLD);
    check(w, "MPI_Bcast", in, all, of_last_rank);
    must(cudaFree(in), "cudaFree");
    must(cudaFree(out), "cudaFree");
}

/* One GPU per rank of a node, in turn, as programs do. */
static void choose_device(const struct world *w)
{
    MPI_Comm node;
    int devices, place;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_free(&node);
    must(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    must(cudaSetDevice(place % devices), "cudaSetDevice");
    if (w->rank == 0)
        printf("first_light: %d ranks, %d GPU%s per node\n", w->size, devices, devices == 1 ? "" : "s");
}

int main(int argc, char **argv)
{
    struct world w = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.size);
    choose_device(&w);
    run_all(&w);
    MPI_Finalize();
    return w.wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
