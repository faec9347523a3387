/* SPDX-License-Identifier: BSD-3-Clause */
/* TUTTI_CHECK=1: before a collective moves data, its ranks meet and compare what each of them calls. */
#ifndef TT_CHECK_H
#define TT_CHECK_H

#include "coll/fingerprint.h"

struct tt_checks; /* of a communicator: coll/check.c */

/* One call's, on one rank. */
struct tt_check {
    struct tt_comm *comm;
    struct tt_checks *all; /* comm's */
    unsigned line;         /* of these: persistent calls have some of their own, as they may be started in any order */
    struct tt_job job; /* what it means; stays until the end, as do the call and what it points to */
    enum tt_call_form form;
    uint64_t number; /* of those in its line: they are over in this order, on all ranks */
    int state;
    int64_t since;  /* nanoseconds: waiting, since it has heard of rank 0; */
    bool impatient; /* rank 0 has been told so; */
    bool gives_up;  /* rank 0: it only wants to know who is there */
    char on[144];   /* the communicator, in words */
    struct tt_comparison *meeting; /* what is under way */
    bool failed;
    bool alone; /* and the others may not know */
    char why[480];
};

/* Made with a communicator's state, so that all ranks have them. NULL: there is no memory. Nothing is checked until
 * there is a party to meet; owns_comm: its communicator is freed with them. */
struct tt_checks *tt_checks_new(unsigned slots);
void tt_checks_begin(struct tt_checks *all, const struct tt_party *party, bool owns_comm);
const struct tt_party *tt_checks_party(const struct tt_checks *all);
void tt_checks_free(struct tt_checks *all);

/* Is this communicator's ranks' agreement checked? A branch. */
bool tt_checks(const struct tt_comm *comm);

/* Begins: notes what this rank calls, or why that makes no sense, or fault, why it cannot do it. Checks must be opened
 * in the order in which the calls are made. Blocking, nonblocking and persistent calls are all checked by this, and
 * differ only in who polls. */
void tt_check_open(struct tt_check *check, const struct tt_call *c, struct tt_comm *comm, enum tt_call_form form,
                   const char *fault);

/* True when all ranks have met and agree, or check->failed says that they do not, or that some have not come. Never
 * blocks. If they agree, the call is to begin, and then the check to be closed, before any other of the communicator's is
 * polled: so all begin in the same order on all ranks. */
bool tt_check_poll(struct tt_check *check);
void tt_check_close(struct tt_check *check);

/* All of the above, of a call that may wait for the others: MPI_SUCCESS, or an error code that the error handler has
 * seen. */
int tt_check_call(const struct tt_call *c, struct tt_comm *comm, enum tt_call_form form, const char *fault);

/* Raises why through comm's error handler: the same text on every rank. Returns the error code. */
int tt_check_raise(const struct tt_check *check, MPI_Comm comm);

/* Was a call on comm given up? Then messages may lie about on the private communicator that nobody takes in, and that
 * would be another's, were the MPI to use its context again: it is not to be freed. */
bool tt_checks_died(const struct tt_comm *comm);

#endif
