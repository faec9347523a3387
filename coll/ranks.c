/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours are one range, so that what is said of thousands of ranks is most often two or three words. */
#include "coll/ranks.h"

#include <stdio.h>

char *tt_ranks_print(char *text, size_t size, const signed char *group, int n, signed char which)
{
    enum { LONGEST = sizeof ",1000000000-1000000000,... (1000000000 in all)" };
    int members = 0;
    size_t used;

    for (int r = 0; r < n; r++)
        members += group[r] == which;
    used = (size_t)snprintf(text, size, members == 1 ? "rank" : "ranks");
    for (int r = 0, last; r < n; r = last + 1) {
        const char *before = used > sizeof "ranks" ? "," : " ";

        last = r;
        if (group[r] != which)
            continue;
        while (last + 1 < n && group[last + 1] == which)
            last++;
        if (used + LONGEST > size) {
            snprintf(text + used, size - used, "%s... (%d in all)", before, members);
            break;
        }
        used += (size_t)snprintf(text + used, size - used, last > r ? "%s%d-%d" : "%s%d", before, r, last);
    }
    return text;
}
