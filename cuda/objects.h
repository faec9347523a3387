/* SPDX-License-Identifier: BSD-3-Clause */
/* Has the program loaded a shared object since one last looked? The loader counts them, but to ask for its count takes two
 * locks, a tenth of the time of a small call. It also keeps all objects in a list, at the end of which it adds each that
 * is loaded: so an object of our own is kept there, and whether one has come behind it is told by one load. If one has,
 * ours is unloaded, and loaded again: then it is the last one. */
#ifndef TT_CUDA_OBJECTS_H
#define TT_CUDA_OBJECTS_H

#include <stdbool.h>

/* From the next look on the object at `path` (last.c) is kept there; if it cannot be, one is always told to look. Not
 * where several threads may ask at the same time. */
void tt_objects_watch(const char *path);

/* Never again: several may from now on. By any thread. */
void tt_objects_unwatch(void);

/* Is there anything to look for? False: nothing has been loaded since the last look. */
bool tt_objects_may_be_new(void);

/* One is about to look: what is loaded from now on is new. */
void tt_objects_seen(void);

#endif
