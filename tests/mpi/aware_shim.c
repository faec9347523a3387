/* SPDX-License-Identifier: BSD-3-Clause */
/* A preload that makes the MPI below take pointers to the simulated device's memory, as a CUDA-aware MPI takes a
 * GPU's: it replaces them by where the simulator itself reaches that memory. Only what Tutti's wire and its probe
 * call is here; a test with it shows that device pointers then go straight through. */
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

/* Where the CPU may read and write what buffer points to. */
static void *reach(const void *buffer)
{
    static void *(*alias)(const void *);
    void *driver, *at = NULL;

    if (!alias && (driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)))
        *(void **)&alias = dlsym(driver, "simcuda_alias");
    if (alias)
        at = alias(buffer);
    return at ? at : (void *)buffer;
}

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int receive_function(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

int PMPI_Isend(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    static send_function *real;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Isend");
    return real(reach(buffer), count, type, peer, tag, comm, request);
}

int PMPI_Irecv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    static receive_function *real;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Irecv");
    return real(reach(buffer), count, type, peer, tag, comm, request);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Isend(buffer, count, type, peer, tag, comm, request);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Irecv(buffer, count, type, peer, tag, comm, request);
}
