/* SPDX-License-Identifier: BSD-3-Clause */
/* What the Fortran tests need of C: memory on a GPU, the MPI's own results, and how often a C function was called. */
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

enum { CUDA_MEMCPY_DEFAULT = 4 };
int cudaGetDeviceCount(int *count);
int cudaSetDevice(int device);
int cudaMalloc(void **address, size_t bytes);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);

int help_gpus(int rank);
void *help_take(size_t bytes);
void help_copy(void *to, const void *from, size_t bytes);
int help_native(const void *from, void *to, int n, MPI_Fint type, MPI_Fint op);
int help_calls(const char *name);
int help_set(const char *name, const char *value);

/* How many GPUs there are; this rank takes one of them. */
int help_gpus(int rank)
{
    int n;

    if (cudaGetDeviceCount(&n) != 0 || n == 0)
        return 0;
    cudaSetDevice(rank % n);
    return n;
}

void *help_take(size_t bytes)
{
    void *address = NULL;

    return cudaMalloc(&address, bytes) == 0 ? address : NULL;
}

void help_copy(void *to, const void *from, size_t bytes)
{
    cudaMemcpy(to, from, bytes, CUDA_MEMCPY_DEFAULT);
}

/* What the MPI itself says: Fortran's PMPI_ names may lead to the C functions that are Tutti's. */
int help_native(const void *from, void *to, int n, MPI_Fint type, MPI_Fint op)
{
    return PMPI_Allreduce(from, to, n, PMPI_Type_f2c(type), PMPI_Op_f2c(op), MPI_COMM_WORLD);
}

/* As counted_calls of fortran_counts.c says; -2 where that is not preloaded. */
int help_calls(const char *name)
{
    int (*counted_calls)(const char *);

    *(void **)&counted_calls = dlsym(RTLD_DEFAULT, "counted_calls");
    return counted_calls ? counted_calls(name) : -2;
}

/* tutti_set; -2 where Tutti is not preloaded. */
int help_set(const char *name, const char *value)
{
    int (*set)(const char *, const char *);

    *(void **)&set = dlsym(RTLD_DEFAULT, "tutti_set");
    return set ? set(name, value) : -2;
}
