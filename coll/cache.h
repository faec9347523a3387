/* SPDX-License-Identifier: BSD-3-Clause */
/* What was decided for a shape: which row, why, and the finished plan. One cache per communicator, bounded in number
 * and in memory; the least recently used decision goes first. */
#ifndef TT_CACHE_H
#define TT_CACHE_H

#include "cuda/cells.h"
#include "coll/plan.h"
#include "selector/select.h"

/* So many decisions at most; and so many bytes of plans, or one plan that is larger. */
enum { TT_CACHE_SLOTS = 64, TT_CACHE_BYTES = 8 << 20 };

/* All that the decision and the plan depend on. */
struct tt_key {
    enum tt_coll coll; /* the call's own */
    struct tt_shape shape;
    const struct tt_cell *cell; /* NULL where nothing is reduced, or only the MPI below knows how */
    uint64_t foreign;           /* what only the MPI below knows, told apart; 0 otherwise */
    unsigned generation;        /* of the configuration */
    bool on_gpus;               /* all ranks know that all buffers are there */
    unsigned char bar;          /* enum tt_bar: why NCCL was no candidate, if it was none */
    unsigned staged;            /* this rank's buffers that go through pinned memory: changes its plan, not the wire */
};

struct tt_brief; /* coll/brief.h */

struct tt_entry {
    uint64_t hash; /* 0: empty */
    uint64_t used; /* time of last use */
    struct tt_key key;
    struct tt_choice choice;
    struct tt_plan *plan; /* NULL if another library carries it out */
    struct tt_brief *brief; /* the plan, if it can be done in one breath, made ready for that: one block; or NULL */
    bool told;            /* it has been used, and explained */
    int64_t *lengths;     /* what the key's counts and sends point to */
};

struct tt_cache {
    uint64_t clock;
    int n;                    /* decisions */
    size_t bytes;             /* of their plans and lengths */
    struct tt_entry *entries; /* TT_CACHE_SLOTS, allocated at first use */
};

/* The entry of key, or NULL. */
struct tt_entry *tt_cache_find(struct tt_cache *cache, const struct tt_key *key);

/* Counts as a use of the entry. */
static inline void tt_cache_touch(struct tt_cache *cache, struct tt_entry *entry)
{
    entry->used = ++cache->clock;
}

/* Puts an entry in, taking plan and copies of counts and sends; evicts what was used longest ago. NULL if out of
 * memory (plan is then freed). */
struct tt_entry *tt_cache_put(struct tt_cache *cache, const struct tt_key *key, const struct tt_choice *choice,
                              struct tt_plan *plan);
void tt_cache_free(struct tt_cache *cache);

#endif
