/* SPDX-License-Identifier: BSD-3-Clause */
/* TUTTI_REPORT: where the time of a job went. */
#ifndef TT_REPORT_H
#define TT_REPORT_H

#include <stdbool.h>

/* What is known of the calls on a communicator that have not been summed up yet. */
struct tt_arrivals;
struct tt_comm;

/* The user frees c, on all ranks: what is left is summed up as soon as the others have told when they came. */
void tt_report_freed(struct tt_comm *c);

/* Must the end of all nonblocking calls be known here, those that the MPI below could have as they stand included? */
extern bool tt_report_runs;

#endif
