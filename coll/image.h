/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of a datatype at an address that may be a device's, and their image: their data, packed, on the host. A
 * function here that returns words returns NULL for success; else why it failed, until the next failure in the thread.
 */
#ifndef TT_IMAGE_H
#define TT_IMAGE_H

#include <mpi.h>

#include "coll/types.h"
#include "cuda/dev.h"

struct tt_elements {
    char *buf;
    MPI_Count count;
    MPI_Datatype type;
    struct tt_layout layout;
    bool on_device;
    struct tt_place *place; /* where they live */
};

/* From arguments to their meaning. MPI_SUCCESS, or the error class that they deserve; the MPI below is to judge. */
int tt_elements_describe(struct tt_elements *e, const void *buf, MPI_Count count, MPI_Datatype type);

/* Asks where they live; nobody asks while no CUDA driver is there, or they have no bytes. */
const char *tt_elements_look(struct tt_elements *e);

/* Where TUTTI_SYNC=1 asks for it, waits for what the program itself has under way where they live. */
const char *tt_elements_settle(const struct tt_elements *e);

/* Bytes of their data. */
static inline size_t tt_elements_bytes(const struct tt_elements *e)
{
    return (size_t)e->count * e->layout.size;
}

/* How many bytes the first n of them span, n > 0, and how far from buf the first of these is. Extents may be negative.
 */
MPI_Aint tt_elements_span(const struct tt_elements *e, MPI_Count n, size_t *bytes);

/* Their data to packed, in the order of the signature; and the first `bytes` of such data back to where they belong,
 * nothing else being written. Both are over when they return. */
const char *tt_elements_read(const struct tt_elements *e, char *packed);
const char *tt_elements_write(const struct tt_elements *e, const char *packed, size_t bytes);

/* What the MPI below works on instead of the elements. */
struct tt_image {
    struct tt_elements of;
    char *packed; /* pinned, where the elements are on a device; NULL: there is no image */
    MPI_Count count;
    MPI_Datatype type; /* as which the MPI gets it */
    bool made;         /* the type is the image's own */
};

const char *tt_image_open(struct tt_image *image, const struct tt_elements *of);

/* From the elements to the image. */
const char *tt_image_fill(struct tt_image *image);

/* The first `bytes` of it, at most all, to the elements. */
const char *tt_image_deliver(const struct tt_image *image, size_t bytes);

/* Nothing happens if there is none. */
void tt_image_close(struct tt_image *image);

#endif
