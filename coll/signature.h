/* SPDX-License-Identifier: BSD-3-Clause */
/* What data consist of, whatever datatypes they are told by: the sequence of their basic types, as its length and a
 * hash that can be worked out piece by piece. Types that are the same to the machine are the same here: MPI_INT,
 * MPI_INT32_T and MPI_INTEGER. */
#ifndef TT_SIGNATURE_H
#define TT_SIGNATURE_H

#include <mpi.h>
#include <stdint.h>

struct tt_signature {
    uint64_t n; /* basic elements */
    uint64_t hash;
};

struct tt_signature tt_signature_join(struct tt_signature a, struct tt_signature b);
struct tt_signature tt_signature_repeat(struct tt_signature s, uint64_t n);

/* Of count elements of a datatype. An error of the MPI below, or of no memory, leaves an empty one. */
struct tt_signature tt_signature_of(MPI_Datatype type, uint64_t count);

#endif
