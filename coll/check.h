/* SPDX-License-Identifier: BSD-3-Clause */
/* TUTTI_CHECK=1: before a collective moves data, its ranks meet and compare what each of them calls. */
#ifndef TT_CHECK_H
#define TT_CHECK_H

#include "coll/fingerprint.h"

struct tt_checks; /* of a communicator: coll/check.c */

/* One call's, on one rank. Zeros with nothing behind them are none. */
struct tt_check {
    struct tt_comm *comm;
    struct tt_job *job; /* what it means; stays until the end */
    uint64_t number;    /* of those on comm: they are over in this order, on all ranks */
    int state;
    int64_t since;              /* nanoseconds: waiting */
    bool impatient;             /* rank 0 has been told so */
    char on[64];                /* the communicator, in words */
    struct tt_comparison *meeting; /* what is under way */
    bool failed;
    bool alone; /* and the others may not know */
    char why[480];
};

/* Is this communicator's ranks' agreement checked? A branch. */
bool tt_checks(const struct tt_comm *comm);

/* Begins: sends this rank's record to rank 0 of the communicator. job: as tt_job_describe left it; class and what: what
 * that returned, MPI_SUCCESS or why the arguments make no sense. Calls must be opened in the order in which they are
 * made.
 */
void tt_check_open(struct tt_check *check, struct tt_job *job, enum tt_flavour flavour, int class, const char *what);

/* True when all ranks have met and agree, or check->failed says that they do not, or that some have not come. Never
 * blocks. The call itself must then begin before any other of the communicator's is asked: tt_check_next says that it
 * has. */
bool tt_check_poll(struct tt_check *check);
void tt_check_next(struct tt_check *check);
void tt_check_end(struct tt_check *check);

/* A blocking call: all of the above. MPI_SUCCESS, or an error code that the error handler has seen. */
int tt_check_call(const struct tt_call *c, struct tt_comm *comm);

/* Raises why through comm's error handler: the same text on every rank. Returns the error code. */
int tt_check_raise(const struct tt_check *check, MPI_Comm comm);

/* Was a call on comm given up? Then messages may lie about on the private communicator that nobody takes in, and that
 * would be another's, were the MPI to use its context again: it is not to be freed. */
bool tt_checks_died(const struct tt_comm *comm);
void tt_checks_free(struct tt_checks *checks);

#endif
