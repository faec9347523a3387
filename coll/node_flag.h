/* SPDX-License-Identifier: BSD-3-Clause */
/* Words by which two processes tell each other how far they are. Raising one releases all that was written before it;
 * reading it acquires that: on x86 plain stores and loads, on aarch64 stlr and ldar (or ldapr), which is all that is
 * needed, since nobody ever waits for an order between his own store and his own load of another word. In a header of
 * its own, so that a test can put every interleaving, and every value that a weak memory may show, in its place. */
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

#endif
