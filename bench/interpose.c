/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs to have Tutti between a program and its MPI: nanoseconds per call that MPI_Allreduce takes more than
 * PMPI_Allreduce, when the call goes to the MPI below all the same (TUTTI_ALLREDUCE=native). One rank, 8 bytes, so that
 * the MPI's own work is small; the two are measured in turn, in short batches, and the median of the differences is
 * taken, so that drift of the machine hits both alike.
 *
 * tutti run -- mpiexec -n 1 bench/interpose           with Tutti
 * mpiexec -n 1 bench/interpose                        without: the noise of the method, about 0 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#include "bench/median.h"

enum { BATCHES = 2001, CALLS = 1000 };

typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

/* ns per call */
static double batch(allreduce *call)
{
    double in = 1, out;
    const double start = MPI_Wtime();

    for (int i = 0; i < CALLS; i++)
        call(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    return (MPI_Wtime() - start) / CALLS * 1e9;
}

int main(int argc, char **argv)
{
    static double native[BATCHES], through[BATCHES], more[BATCHES];
    int (*set)(const char *, const char *);

    MPI_Init(&argc, &argv);
    *(void **)&set = dlsym(RTLD_DEFAULT, "tutti_set");
    if (set)
        set("TUTTI_ALLREDUCE", "native");
    for (int i = 0; i < BATCHES; i++) {
        native[i] = batch(PMPI_Allreduce);
        through[i] = batch(MPI_Allreduce);
        more[i] = through[i] - native[i];
    }
    printf("%s: PMPI_Allreduce %.0f ns, MPI_Allreduce %.0f ns, interposing costs %.0f ns per call (medians of %d "
           "batches)\n",
           set ? "with Tutti" : "without Tutti", median(native, BATCHES), median(through, BATCHES), median(more, BATCHES), BATCHES);
    MPI_Finalize();
    return 0;
}
