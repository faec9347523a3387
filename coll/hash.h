/* SPDX-License-Identifier: BSD-3-Clause */
/* FNV-1a: no secret to keep, only what ranks have to compare. */
#ifndef TT_HASH_H
#define TT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Of nothing; more is hashed on from there. */
#define TT_HASH_OF_NOTHING UINT64_C(14695981039346656037)

static inline uint64_t tt_hash(uint64_t h, const void *what, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)what)[i]) * UINT64_C(1099511628211);
    return h;
}

#endif
