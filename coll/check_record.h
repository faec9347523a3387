/* SPDX-License-Identifier: BSD-3-Clause */
/* What each rank says of its call, and what is wrong with what all ranks say. Without MPI: a rank's words are made
 * elsewhere (fingerprint.h). */
#ifndef TT_CHECK_RECORD_H
#define TT_CHECK_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tt_checked {
#define TT_CHECKED(id, words, said) TT_CHECKED_##id,
#include "coll/check.def"
#undef TT_CHECKED
    TT_NCHECKED
};

/* One rank's. It travels as it is: all ranks have the same Tutti. */
struct tt_record {
    uint64_t value[TT_NCHECKED]; /* 0: this rank has no say in it */
    uint64_t pairs; /* what it sends to each rank, less what it expects of each: over all ranks they sum up to 0 */
    char call[48], root[16], op[48], place[16], block[72]; /* in words */
    char fault[200];                                       /* what is wrong with its arguments alone; empty: nothing */
    bool late;                                             /* it was asked before it came */
};

/* What some ranks' records come to, if all is well: of constant size, however many they are. It travels as it is. */
struct tt_digest {
    uint64_t value[TT_NCHECKED]; /* of those that have a say; 0: none has */
    uint64_t pairs;
    uint64_t amiss; /* 1: two of them differ, or a rank's own arguments are wrong */
};

struct tt_digest tt_digest_of(const struct tt_record *r);
void tt_digest_join(struct tt_digest *d, const struct tt_digest *more);

/* All ranks' being in it: is there nothing to tell? */
bool tt_digest_agrees(const struct tt_digest *d);

/* Do the records of n ranks agree? If not, text says in what, and who says what; on: the communicator, in words. */
bool tt_records_agree(const struct tt_record *records, int n, const char *on, char *text, size_t size);

#endif
