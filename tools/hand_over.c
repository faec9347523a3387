/* SPDX-License-Identifier: BSD-3-Clause */
/* The launchers' variables for a rank are looked at here only to avoid saying a thing many times; who is which rank of
 * how many is for the MPI to say. */
#include "tools/hand_over.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/paths.h"
#include "tools/tools.h"

static int said[2] = {-1, -1}; /* standard output and error as they were */

static bool first(void)
{
    static const char *const ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (getenv(ranks[i]))
            return atoi(getenv(ranks[i])) == 0;
    return true;
}

void tool_hush_others(void)
{
    const int nowhere = first() ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);

    for (int i = 0; i < 2 && nowhere >= 0; i++) {
        said[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        dup2(nowhere, i + 1);
    }
}

static void speak_again(void)
{
    for (int i = 0; i < 2; i++)
        if (said[i] >= 0)
            dup2(said[i], i + 1);
}

void tool_hand_over(const struct argp_state *state, const char *program, const char *command, char **argv)
{
    char path[TOOL_PATH_MAX], **words;
    int n = 1;

    if (!tool_mpi_program_path(program, path, sizeof path))
        tool_die(state, TOOL_FAILED, "%s was not found %s: build it (make) or install it (make install)", program,
                 tool_mpi_program_places());
    while (argv[n])
        n++;
    words = calloc((size_t)n + 2, sizeof *words);
    if (!words)
        abort();
    words[0] = path;
    words[1] = strdup(command);
    memcpy(words + 2, argv + 1, (size_t)n * sizeof *words);
    speak_again();
    fflush(NULL);
    execv(path, words);
    tool_die(state, TOOL_CANNOT_RUN, "cannot run %s: %s", path, strerror(errno));
}
