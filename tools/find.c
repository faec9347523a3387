/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands by name, as the shell finds them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/paths.h"

static bool executable(const char *path)
{
    struct stat s;

    return access(path, X_OK) == 0 && stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

bool tool_find_command(const char *command, char *path, size_t size)
{
    const char *search = getenv("PATH");

    if (strchr(command, '/'))
        return (size_t)snprintf(path, size, "%s", command) < size && executable(path);
    for (search = search ? search : "/usr/bin:/bin"; *search;) {
        const size_t n = strcspn(search, ":");

        if ((size_t)snprintf(path, size, "%.*s/%s", (int)n, n ? search : ".", command) < size && executable(path))
            return true;
        search += n + (search[n] == ':');
    }
    return false;
}
