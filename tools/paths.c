/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the pieces lie. A tree that was moved, and one that was never installed, both work, because the command's own
 * place counts before what configure was told. */
#include "tools/paths.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the directory of the command. Built trees first: libtool puts what was linked into .libs. */
static const char *const library_places[] = {".libs", ".", "../lib", "../lib64", NULL};
static const char *const program_places[] = {".libs", ".", "../lib/tutti", "../lib64/tutti", NULL};
static const char *const simulator_places[] = {"tests/simcuda/.libs",
                                               "../tests/simcuda/.libs",
                                               "tests/simcuda",
                                               "../tests/simcuda",
                                               "../lib/tutti/sim",
                                               "../lib64/tutti/sim",
                                               NULL};

/* The directory this program was started from, without a slash at its end. */
static bool own_directory(char *path, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    if (length <= 0)
        return false;
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* Writes the directory, made absolute, if file lies in it. */
static bool holds(const char *directory, const char *file, char *path, size_t size)
{
    char resolved[PATH_MAX], whole[TOOL_PATH_MAX + 64];

    snprintf(whole, sizeof whole, "%s/%s", directory, file);
    return access(whole, R_OK) == 0 && realpath(directory, resolved) &&
           (size_t)snprintf(path, size, "%s", resolved) < size;
}

static bool look(const char *const *places, const char *last, const char *file, char *path, size_t size)
{
    char own[PATH_MAX], directory[TOOL_PATH_MAX];

    for (; *places && own_directory(own, sizeof own); places++)
        if ((size_t)snprintf(directory, sizeof directory, "%s/%s", own, *places) < sizeof directory &&
            holds(directory, file, path, size))
            return true;
    return holds(last, file, path, size);
}

bool tool_library_path(char *path, size_t size)
{
    char directory[TOOL_PATH_MAX];

    return look(library_places, TT_LIBDIR, "libtutti.so", directory, sizeof directory) &&
           (size_t)snprintf(path, size, "%s/libtutti.so", directory) < size;
}

bool tool_mpi_program_path(const char *program, char *path, size_t size)
{
    char directory[TOOL_PATH_MAX];

    return look(program_places, TT_LIBDIR "/tutti", program, directory, sizeof directory) &&
           (size_t)snprintf(path, size, "%s/%s", directory, program) < size;
}

bool tool_simulator_path(char *path, size_t size)
{
    return look(simulator_places, TT_LIBDIR "/tutti/sim", "libcuda.so.1", path, size);
}

const char *tool_library_places(void)
{
    return "beside this command and in " TT_LIBDIR;
}

const char *tool_mpi_program_places(void)
{
    return "beside this command and in " TT_LIBDIR "/tutti";
}

const char *tool_simulator_places(void)
{
    return "beside this command and in " TT_LIBDIR "/tutti/sim";
}
