/* SPDX-License-Identifier: BSD-3-Clause */
/* From a call to a task: what is asked, where its buffers are, who does it. */
#ifndef TT_BEGIN_H
#define TT_BEGIN_H

#include "coll/task.h"

enum tt_flavour { TT_BLOCKING, TT_NONBLOCKING, TT_PERSISTENT };

enum tt_begun {
    TT_REFUSED, /* before anything was sent; *error is a class of MPI's, or TT_TASK_FAILED for one of Tutti's own; and
                   task->why says why. tt_refuse tells the user */
    TT_PASS,    /* the MPI below is to have the call as it stands */
    TT_BEGUN    /* the task is to be polled, and ended */
};

/* Begins a call on comm. keep: where the job may be, whose room is NULL before, and tt_job_end is due for it in any
 * case; or it stays with the communicator, that of a blocking call. What is passed on, of a nonblocking call, is also
 * all that the MPI below can do by itself. */
enum tt_begun tt_begin(const struct tt_call *c, struct tt_comm *comm, enum tt_flavour flavour, struct tt_job *keep,
                       struct tt_task *task, int *error);

/* A blocking call on comm that asks what the last one of its kind did, and can be carried out in one breath: what that
 * takes, all set but the slot. NULL: tt_begin is due. */
const struct tt_entry *tt_begin_again(const struct tt_call *c, struct tt_comm *comm, struct tt_job **job,
                                      struct tt_breath *breath);

/* Does a call with these arguments make sense here? MPI_SUCCESS, no task having been begun, and *job says what it means;
 * or the class of error that they deserve, MPI_ERR_NO_MEM if this rank could not find out. */
int tt_would_begin(const struct tt_call *c, struct tt_comm *comm, struct tt_job *job);

/* Is a call in a stream to be NCCL's? By what all ranks share, all buffers counting as being on GPUs. Under NCCL's
 * lock. */
bool tt_streams_by_nccl(struct tt_job *job);

/* Tells the user of a refusal, through the communicator's error handler. Returns the error code. */
int tt_refuse(const struct tt_call *c, const struct tt_comm *comm, int error, const char *why);

#endif
