/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process has in its memory. */
#ifndef TESTS_MAPPED_H
#define TESTS_MAPPED_H

#include <stdio.h>
#include <string.h>

/* The file whose name has these words in it, as a number; 0: none is mapped. */
static long mapped_file(const char *words)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    long inode = 0;

    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, words))
            sscanf(line, "%*s %*s %*s %*s %ld", &inode);
    if (maps)
        fclose(maps);
    return inode;
}

#endif
