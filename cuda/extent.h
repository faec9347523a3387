/* SPDX-License-Identifier: BSD-3-Clause */
/* Is there memory where a buffer is said to be? */
#ifndef TT_EXTENT_H
#define TT_EXTENT_H

#include <stddef.h>

/* Looks at `bytes` bytes from p on: memory of a GPU must be one allocation, and the host must be able to read its first
 * and its last byte. 0, or -1 with why filled: "4096 bytes at 0x..., reaches 96 bytes beyond ...". A few system or
 * driver calls: for who looks for faults. */
int tt_mem_check(const void *p, size_t bytes, char *why, size_t size);

#endif
