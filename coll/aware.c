/* SPDX-License-Identifier: BSD-3-Clause */
/* The probe: the query functions of the MPIs were found wrong in both directions, and asking by trial inside this
 * process would crash it. So a small program, mpi-cuda-probe, is started on its own: it sends GPU memory to itself,
 * short and long, and exits with 0 if what arrived is right. What makes it crash, makes it only exit otherwise. */
#include "coll/aware.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "coll/beside.h"
#include "coll/config.h"

enum { PATIENCE_MS = 30000, STEP_MS = 5 };

extern char **environ;

/* The probe is a job of one process of its own: nothing in its environment may make it think that it is a part of this
 * one, nor load this library into it. The array is the caller's to free. */
static char **lone_environment(void)
{
    static const char *const drop[] = {
        "PMI",          "HYDI",     "HYDRA",      "MPIEXEC", "MPIR_",  "OMPI_COMM", "OMPI_UNIVERSE", "OMPI_MCA_orte",
        "OMPI_MCA_ess", "OMPI_APP", "OMPI_FIRST", "PRTE",    "SLURM_", "FLUX_",     "PALS_",         "TUTTI="};
    size_t n = 0, kept = 0;
    char **lone;

    while (environ[n])
        n++;
    lone = malloc((n + 2) * sizeof *lone);
    for (size_t i = 0; lone && i < n; i++) {
        bool keep = true;

        for (size_t d = 0; d < sizeof drop / sizeof *drop; d++)
            keep &= strncmp(environ[i], drop[d], strlen(drop[d])) != 0;
        if (keep)
            lone[kept++] = environ[i];
    }
    if (lone) {
        lone[kept++] = "TUTTI=off";
        lone[kept] = NULL;
    }
    return lone;
}

static int start(const char *path, pid_t *pid)
{
    char *const argv[] = {(char *)path, NULL};
    posix_spawn_file_actions_t quiet;
    char **env = lone_environment();
    int error;

    if (!env)
        return -1;
    posix_spawn_file_actions_init(&quiet);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", fd ? 1 : 0, 0);
    error = posix_spawn(pid, path, &quiet, NULL, argv, env);
    posix_spawn_file_actions_destroy(&quiet);
    free(env);
    return error ? -1 : 0;
}

/* Its exit status, or -1 if it crashed or did not end. */
static int await(pid_t pid)
{
    int status = -1;

    for (int ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
        const pid_t ended = waitpid(pid, &status, WNOHANG);

        if (ended)
            return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

static bool probe(void)
{
    char path[4200];
    pid_t pid;

    if (tt_find_beside("tutti/mpi-cuda-probe", "../mpi-cuda-probe", path, sizeof path) || start(path, &pid)) {
        tt_log(TT_INFO,
               "the program mpi-cuda-probe is not to be found or not to be started: GPU memory will be staged");
        return false;
    }
    tt_log(TT_INFO, "trying whether the MPI below takes GPU memory; TUTTI_MPI_CUDA=yes or no spares it");
    return await(pid) == 0;
}

static atomic_bool proven;

static void prove(void)
{
    proven = probe();
    tt_log(TT_INFO, "the MPI below %s GPU memory", proven ? "was tried and takes" : "does not take");
}

enum { NO, YES, PROBE }; /* TUTTI_MPI_CUDA */

bool tt_mpi_known_to_take_device_memory(void)
{
    return tt_config.mpi_cuda == YES || (tt_config.mpi_cuda == PROBE && proven);
}

bool tt_mpi_takes_device_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (tt_config.mpi_cuda != PROBE)
        return tt_config.mpi_cuda == YES;
    pthread_once(&once, prove);
    return proven;
}
