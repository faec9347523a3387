/* SPDX-License-Identifier: BSD-3-Clause */
/* Words by which two processes tell each other how far they are. Raising one releases all that was written before it;
 * reading it acquires that: on x86 plain stores and loads, on aarch64 stlr and ldar (or ldapr), which is all that is
 * needed, since nobody ever waits for an order between his own store and his own load of another word; but for who goes
 * to sleep, who has it made for all (node_park.h). In a header of its own, so that a test can put every interleaving,
 * and every value that a weak memory may show, in its place. */
#ifndef TT_NODE_FLAG_H
#define TT_NODE_FLAG_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint32_t tt_flag;

static inline uint32_t tt_flag_read(tt_flag *flag)
{
    return atomic_load_explicit(flag, memory_order_acquire);
}

static inline void tt_flag_raise(tt_flag *flag, uint32_t value)
{
    atomic_store_explicit(flag, value, memory_order_release);
}

/* Of words that several may change. */
static inline void tt_flag_count(tt_flag *flag, int more)
{
    atomic_fetch_add_explicit(flag, (uint32_t)more, memory_order_acq_rel);
}

/* A look that may be late, but is after what was stored before as far as the compiler is concerned. */
static inline uint32_t tt_flag_glance(tt_flag *flag)
{
    atomic_signal_fence(memory_order_seq_cst);
    return atomic_load_explicit(flag, memory_order_relaxed);
}

/* Every rank of the node passes a full fence. */
void tt_flag_fence_all(void);

#endif
