/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's own place is what the loader says, so a tree that was moved works. */
#include "coll/beside.h"

#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

int tt_find_beside(const char *installed, const char *built, char *path, size_t size)
{
    const char *const places[] = {installed, built};
    Dl_info self;
    char directory[4096];

    if (!dladdr((void *)tt_find_beside, &self) || !self.dli_fname)
        return -1;
    snprintf(directory, sizeof directory, "%s", self.dli_fname);
    dirname(directory);
    for (int i = 0; i < 2; i++) {
        snprintf(path, size, "%s/%s", directory, places[i]);
        if (access(path, R_OK) == 0)
            return 0;
    }
    return -1;
}
