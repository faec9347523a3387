/* SPDX-License-Identifier: BSD-3-Clause */
/* A preload that counts the messages which Tutti sends by the MPI: those that the MPI sends for its own collectives do
 * not come by here. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>

static atomic_long sends;

long test_sends(void)
{
    return sends;
}

int PMPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    static int (*real)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Isend");
    sends++;
    return real(buf, count, type, to, tag, comm, request);
}
