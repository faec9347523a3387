/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's functions are looked up by name when they are wanted, so that the same program is linked with Tutti and
 * without it. */
#include "tools/mpi_tutti.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

bool tool_tutti_is_on(void)
{
    const char *said = getenv("TUTTI");

    return find("tutti_set") && !(said && strcmp(said, "off") == 0);
}

int tool_tutti_set(const char *name, const char *value)
{
    int (*set)(const char *, const char *) = (int (*)(const char *, const char *))find("tutti_set");

    return set ? set(name, value) : MPI_ERR_OTHER;
}

const char *tool_tutti_choice(MPI_Comm comm, const char *collective)
{
    const char *(*choice)(MPI_Comm, const char *) = (const char *(*)(MPI_Comm, const char *))find("tutti_choice");

    return choice ? choice(comm, collective) : NULL;
}

const char *tool_tutti_version(void)
{
    const char *(*version)(void) = (const char *(*)(void))find("tutti_version");

    return version ? version() : NULL;
}

int tool_tutti_type(enum tutti_format format, MPI_Datatype *type)
{
    int (*make)(enum tutti_format, MPI_Datatype *) = (int (*)(enum tutti_format, MPI_Datatype *))find("tutti_type");

    return make ? make(format, type) : MPI_ERR_OTHER;
}

int tool_tutti_progress(bool thread)
{
    int (*progress)(int) = (int (*)(int))find("tutti_progress");

    return progress ? progress(thread) : MPI_ERR_OTHER;
}
