/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the two ways of a call in a stream: driven by the host (enqueue.c), and NCCL's (enqueue_nccl.c). */
#ifndef TT_ENQUEUE_H
#define TT_ENQUEUE_H

#include "coll/job.h"
#include "cuda/driver.h"

/* Is the call NCCL's? Decided from what all ranks share; and *job, of which tt_job_end is due in both cases, is then
 * what it means. */
bool tt_enqueue_is_nccls(const struct tt_call *c, struct tt_comm *comm, struct tt_job *job);

/* Gives it to NCCL, in that stream; fault: NULL, or why this rank cannot. MPI_SUCCESS; or an error code, the error
 * handler having been called: NCCL has failed on this communicator then, for all ranks. */
int tt_enqueue_nccl(const struct tt_job *job, CUstream stream, const char *fault);

/* An error of a call that has returned, which is what the next one returns. Any thread. */
void tt_enqueue_note(int error);

/* Forgets what is kept for further calls, after MPI_Finalize. */
void tt_enqueue_close(void);

#endif
