/* SPDX-License-Identifier: BSD-3-Clause */
/* The list is the one of <link.h>, which debuggers read. Whoever reads it while another thread loads an object sees the
 * end with or without it; what that thread has got from the object, such as memory of a GPU, comes to this one later,
 * and by then it is there. */
#include "cuda/objects.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>

enum { MOST_MOVES = 100 }; /* of some 50 us each: who loads objects all the time has them counted instead */

static bool is_watched;
static atomic_bool is_given_up; /* for good: what moves still ends, and nothing is moved, or unloaded, after it */
static char file[PATH_MAX];
static void *handle; /* of ours */
static _Atomic(const struct link_map *) last; /* where it is in the list; NULL: one has to look */
static int moves;

void tt_objects_watch(const char *path)
{
    is_watched = !atomic_load(&is_given_up) && snprintf(file, sizeof file, "%s", path) < (int)sizeof file;
}

/* Ours stays loaded: somebody may be reading what the loader says of it. */
void tt_objects_unwatch(void)
{
    atomic_store(&is_given_up, true);
    atomic_store(&last, NULL);
}

bool tt_objects_may_be_new(void)
{
    const struct link_map *map = atomic_load_explicit(&last, memory_order_relaxed);

    return !map || __atomic_load_n(&map->l_next, __ATOMIC_ACQUIRE);
}

static void load(void)
{
    struct link_map *map;

    handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    is_watched = handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0;
    atomic_store(&last, is_watched ? map : NULL);
    if (atomic_load(&is_given_up)) /* meanwhile, by another thread */
        atomic_store(&last, NULL);
}

void tt_objects_seen(void)
{
    if (atomic_load(&is_given_up) || !is_watched)
        return;
    atomic_store(&last, NULL);
    is_watched = moves++ < MOST_MOVES;
    if (!is_watched)
        return;
    if (handle)
        dlclose(handle);
    load();
}
