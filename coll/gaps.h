/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of a side, which may have gaps in and between its blocks, packed and unpacked where they are. */
#ifndef TT_GAPS_H
#define TT_GAPS_H

#include "coll/job.h"

/* Are a side's data one piece of memory? *at: where it begins, seen from the side's buffer. */
bool tt_side_solid(const struct tt_side *side, MPI_Aint *at);

/* The bytes that a side's data lie in: [*low, *high), seen from its buffer. */
void tt_side_span(const struct tt_side *side, MPI_Aint *low, MPI_Aint *high);

/* A datatype of absolute addresses may have pieces on the host and on devices, or on several of these. Then no place
 * reaches all of them: the side counts as on a device, but is at home on the host, and its pieces are copied one by
 * one. Looks at every piece of such a side; 0, or -1 with tt_fault() set. */
int tt_side_scan(struct tt_side *side);

static inline bool tt_side_mixed(const struct tt_side *side)
{
    return side->on_device && side->place == tt_host_place();
}

/* Packs all data, or writes them back, gaps being neither read nor written. packed is at home in side->place. Both are
 * over when they return. 0, or -1 with tt_fault() set. */
int tt_side_pack(const struct tt_side *side, char *packed);
int tt_side_unpack(const struct tt_side *side, const char *packed);

/* The same where packed is on the host, wherever the side is. */
int tt_side_read(const struct tt_side *side, char *packed);
int tt_side_write(const struct tt_side *side, const char *packed);

/* The same with an image of the side on the host; image is where its buffer would be. */
int tt_image_pack(const struct tt_side *side, const char *image, char *packed);
int tt_image_unpack(const struct tt_side *side, char *image, const char *packed);

#endif
