/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may read another process's memory is tried, not concluded: containers, namespaces of processes and several
 * security modules have rules of their own, and a number of a process may mean another one here. So each rank shows
 * where it has a random number, and who finds it there may read. Where only a process's children may look into it
 * (Yama), each rank gives leave, as MPIs do for the same purpose, and takes it back if that did not help. Once, in
 * MPI_Init: two system calls for each other rank of the node. */
#include "coll/node_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "coll/agree.h"

/* What a rank shows. */
struct sight {
    uint64_t at, mark;
    pid_t pid;
};

static void look(const struct sight *all, int n, int mine, pid_t *pids)
{
    uint64_t mark;

    for (int i = 0; i < n; i++) {
        const char *at = (const char *)(uintptr_t)all[i].at;

        pids[i] = 0;
        if (i != mine && all[i].mark && tt_memory_read(all[i].pid, &mark, at, sizeof mark) == 0 && mark == all[i].mark)
            pids[i] = all[i].pid;
    }
}

/* Collective. Does everybody see everybody? */
static bool all_see(MPI_Comm comm, int n, int mine, const pid_t *pids)
{
    bool sees = true;

    for (int i = 0; i < n; i++)
        sees &= i == mine || pids[i];
    return tt_all_have(comm, sees);
}

static bool look_with_leave(MPI_Comm comm, const struct sight *all, int n, int mine, pid_t *pids)
{
    bool helped;

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    PMPI_Barrier(comm);
    look(all, n, mine, pids);
    helped = all_see(comm, n, mine, pids);
    if (!helped)
        prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    return helped;
}

/* Into *reads: of each rank, whether this one may read it. */
static bool look_around(MPI_Comm comm, struct sight *all, int n, pid_t *pids, bool *reads)
{
    static uint64_t mark;
    struct sight mine = {.at = (uint64_t)(uintptr_t)&mark, .pid = getpid()};
    bool all_may;
    int rank;

    PMPI_Comm_rank(comm, &rank);
    if (getentropy(&mark, sizeof mark))
        mark = 0;
    mine.mark = mark;
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, comm);
    look(all, n, rank, pids);
    all_may = all_see(comm, n, rank, pids) || look_with_leave(comm, all, n, rank, pids);
    for (int i = 0; i < n; i++)
        reads[i] = pids[i] != 0;
    return all_may;
}

bool tt_memory_probe(MPI_Comm comm, pid_t *pids, bool *is_read)
{
    struct sight *all;
    bool all_may = false, *reads;
    int n;

    PMPI_Comm_size(comm, &n);
    all = calloc((size_t)n, sizeof *all);
    reads = calloc((size_t)n, sizeof *reads);
    if (tt_all_have(comm, all && reads)) {
        all_may = look_around(comm, all, n, pids, reads);
        PMPI_Alltoall(reads, sizeof *reads, MPI_BYTE, is_read, sizeof *is_read, MPI_BYTE, comm);
    }
    free(all);
    free(reads);
    return all_may;
}
