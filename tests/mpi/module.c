/* SPDX-License-Identifier: BSD-3-Clause */
/* A module that local.c loads: it uses MPI and a GPU, and all it needs comes with it, invisible to the rest of the
 * process. Built twice: with Tutti coming by LD_PRELOAD, and linked with it. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

enum { N = 1000, ANY_KIND = 4 };

int run_module(void);

typedef int allocate_function(void **address, size_t bytes);
typedef int copy_function(void *to, const void *from, size_t bytes, int kind);

static int sum_on_device(void *runtime, int size)
{
    allocate_function *allocate;
    copy_function *copy;
    double numbers[N];
    void *at = NULL;
    int wrong = 0;

    *(void **)&allocate = dlsym(runtime, "cudaMalloc");
    *(void **)&copy = dlsym(runtime, "cudaMemcpy");
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    if (allocate(&at, sizeof numbers) != 0)
        return 1;
    copy(at, numbers, sizeof numbers, ANY_KIND);
    MPI_Allreduce(MPI_IN_PLACE, at, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    copy(numbers, at, sizeof numbers, ANY_KIND);
    for (int i = 0; i < N; i++)
        wrong += numbers[i] != (double)size * i;
    return wrong;
}

int run_module(void)
{
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
    int rank, size, wrong;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong = runtime ? sum_on_device(runtime, size) : 1;
    if (wrong)
        fprintf(stderr, "FAIL rank %d: %d sums of device memory are wrong\n", rank, wrong);
    MPI_Finalize();
    if (rank == 0 && wrong == 0)
        printf("module: all as it should be\n");
    return wrong != 0;
}
