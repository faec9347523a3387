/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank says of its call to those whom it meets in it. */
#ifndef TT_FINGERPRINT_H
#define TT_FINGERPRINT_H

#include "coll/begin.h"
#include "coll/check_record.h"

/* How a collective is called: forms do not match one another. */
enum tt_call_form {
    TT_CALL_BLOCKING = TT_BLOCKING,
    TT_CALL_NONBLOCKING = TT_NONBLOCKING,
    TT_CALL_START = TT_PERSISTENT, /* of one that was made before */
    TT_CALL_INIT
};

/* The ranks that meet, on a communicator that has them all. Where the ranks of this one's group begin in it, and where
 * those begin that it deals with: both at 0, unless they are the two groups of an intercommunicator. */
struct tt_party {
    MPI_Comm comm;
    int rank, size, here, there;
};

/* The messages of a v-collective from ranks [from[0], from[1]) to ranks [to[0], to[1]). */
struct tt_pairs {
    int from[2], to[2];
};

/* Fills all of r but its fault. job: what the call means. */
void tt_fingerprint(struct tt_record *r, const struct tt_job *job, const struct tt_party *all, enum tt_call_form form);

/* Of a call whose arguments make no sense: which it is, and nothing else. */
void tt_fingerprint_call(struct tt_record *r, const struct tt_call *c, enum tt_call_form form);

/* This rank's share of record.pairs in some of the messages; and, of one message, what it is in words to the rank that
 * sends it (sends) or that expects it: "" if it is no affair of this rank's. */
uint64_t tt_pairs_sum(const struct tt_job *job, const struct tt_party *all, const struct tt_pairs *p);
void tt_pair_print(char *text, size_t size, const struct tt_job *job, const struct tt_party *all, int from, int to,
                   bool sends);

/* What is wrong with where the buffers are, into r->fault: two that overlap, memory that is not there. */
void tt_check_buffers(struct tt_record *r, struct tt_job *job);

#endif
