/* SPDX-License-Identifier: BSD-3-Clause */
/* A call on its way: what was asked, what it means, and what it is bound to. */
#ifndef TT_JOB_H
#define TT_JOB_H

#include "coll/cache.h"
#include "coll/call.h"
#include "coll/comm.h"
#include "coll/exec.h"
#include "coll/types.h"

/* Elements of one datatype, some bytes away from the start of a side's buffer. */
struct tt_block {
    MPI_Aint at;
    MPI_Count count;
    MPI_Datatype type;
    struct tt_layout layout;
};

/* One of the two buffers of a call, on this rank. To a plan it is its blocks' data, one behind the other. */
struct tt_side {
    bool significant; /* the standard has this rank's arguments mean something; else nothing of it may be looked at */
    char *buf;
    int nblocks;                 /* one; or, where counts are an array with displacements, one for each of these */
    struct tt_block only, *many; /* the one; or all, in the job's room. See tt_block_of */
    size_t bytes;                /* of data in all blocks */
    bool plain;                  /* the data are `bytes` bytes from buf on, in the order of blocks and signature */
    bool lasting;   /* the handle is MPI's own or Tutti's: it cannot be freed and come back as another type */
    bool on_device; /* for kernels, not for the host; then mem says more */
    struct tt_mem mem;
    struct tt_place *place; /* where it is at home: the host's, or its device's */
};

static inline const struct tt_block *tt_block_of(const struct tt_side *side, int i)
{
    return side->many ? &side->many[i] : &side->only;
}

struct tt_job {
    const struct tt_call *call;
    const struct tt_row *row;
    struct tt_comm *comm;
    bool inplace, is_root; /* is_root: always true where there is no root */
    bool bystander;        /* on an intercommunicator, in the root's group, but not the root */
    struct tt_side send, recv;
    struct tt_shape shape;
    const struct tt_cell *cell;
    bool applies; /* there is no cell, but a plan can have MPI_Reduce_local apply the op, to host memory: elements
                     travel packed, so that each is as long on all ranks */
    const char *foreign; /* why only the MPI below can do it, or NULL; equal on all ranks */
    bool ours;           /* the MPI below cannot: the type is Tutti's */
    bool uneven;         /* this rank sends blocks of another length than it receives, which nobody can serve */
    bool aliased;        /* both sides are one buffer, which is not allowed */
    void *room;          /* one allocation for arrays that a call with a count per rank needs; NULL for others */
};

/* The last call of a collective on a communicator. Programs ask the same question over and over with other buffers, and
 * working out its meaning anew would cost more than the rest of a small call. */
struct tt_memo {
    bool valid;
    unsigned generation;    /* of the configuration */
    struct tt_call call;    /* what was asked; its buffers count only for which of them are MPI_IN_PLACE */
    struct tt_job job;      /* what it means */
    void *arrays; /* what the arrays held that the call points to, one behind the other; NULL: there are none */
    struct tt_entry *entry; /* what was decided, if its slot still has this hash: */
    uint64_t hash;
    unsigned staged;
    unsigned bar;   /* enum tt_bar, as far as it follows from the question */
    bool delegated; /* to the MPI below, which needs nothing of ours unless a buffer is on a device; */
    unsigned delegated_under; /* and this barred NCCL then */
    bool brief;               /* it may be done in one breath, if nothing is on a device; */
    MPI_Aint first[2];        /* the data of SEND and RECV then begin there in their buffers */
};

/* ---- describe.c: from arguments to meaning ---- */

/* Fills all of job but the sides' memory. Returns MPI_SUCCESS; or the error class that the arguments deserve, *what
 * then saying why: the MPI below is to judge them (MPI_ERR_NO_MEM is no such judgement: there was no memory for the
 * arrays). job->call and job->comm must be set; tt_job_end is due in every case. */
int tt_job_describe(struct tt_job *job, const char **what);
void tt_job_end(struct tt_job *job);

/* The arrays that a call like the job's points to, as far as they mean something on this rank, into the list: how many.
 */
struct tt_array {
    const void *at;
    size_t bytes;
};
enum { TT_MOST_ARRAYS = 6 };
int tt_job_arrays(const struct tt_job *job, const struct tt_call *c, struct tt_array list[TT_MOST_ARRAYS]);

/* TT_NCOLLS of them, or NULL. */
void tt_memos_free(struct tt_memo *memos);

/* For how many ranks the two sides of a call have blocks: how many send to this one, and how many receive from it. */
int tt_count_peers(const struct tt_call *c, const struct tt_comm *comm, int *senders, int *receivers);

/* An address some bytes away from another, which may be MPI_BOTTOM or where element 0 of a copy would be: no object of
 * C's has to lie there. */
static inline char *tt_away(const char *from, MPI_Aint bytes)
{
    return (char *)((uintptr_t)from + (uintptr_t)bytes);
}

/* How an element lies in memory, of a reduction: both sides have the one datatype, where they mean anything. */
static inline const struct tt_layout *tt_job_element(const struct tt_job *job)
{
    return &(job->recv.significant ? &job->recv : &job->send)->only.layout;
}

/* Where each significant side lives. 0, or -1 with tt_fault() set. */
int tt_job_look(struct tt_job *job);

/* ---- bind.c: from meaning to addresses ---- */

/* What of a binding goes back at its end: a block of a place's; or, where place is NULL, a mapping. */
struct tt_kept {
    struct tt_place *place;
    void *block;
    size_t bytes;
};
enum { TT_MAX_KEPT = 10 }; /* per side an image and a packed copy at both ends, TMP, PIN, an op's: never more than 9 */

/* Where the result is that a side is to be given in the end. */
enum tt_stand_in {
    TT_NO_STAND_IN, /* where it belongs */
    TT_AT_HOME,     /* a reduction's, at the plan's home: elements as they are */
    TT_PACKED,      /* without gaps, in the side's place */
    TT_PACKED_HERE, /* without gaps, on the host */
    TT_ON_GPU,      /* without gaps, on NCCL's GPU */
    TT_IMAGE        /* gaps and all, on the host */
};

/* What a job's buffers are for the plan, or for the MPI below: themselves, or stand-ins. */
struct tt_bound {
    struct tt_binding with;       /* for the plan */
    struct tt_apply apply;        /* for the plan, where the job applies an op */
    struct tt_call native;        /* for the MPI below: the call, with stand-ins for device memory */
    const struct tt_side *result; /* the side whose stand-in is to be copied back, or NULL */
    enum tt_stand_in how;
    char *stand_in; /* where it begins: of an image, where the side's buffer would */
    char *packed_here,
        *packed_there; /* of an image: room for the data without gaps, on the host and in the side's place; TT_ON_GPU: of
                          data with gaps, the former */
    struct tt_kept kept[TT_MAX_KEPT];
    int nkept;
};

/* The place where a plan's reductions and scratch are: the GPU of a buffer that is on one, if it has code for the cell;
 * else the host. */
struct tt_place *tt_job_home(const struct tt_job *job);

/* Is any buffer of this rank on a device? */
static inline bool tt_job_touches_device(const struct tt_job *job)
{
    return job->send.on_device || job->recv.on_device;
}

/* Which buffers a plan for home would find on the device: bits 1 << enum tt_buf. */
unsigned tt_job_on_device(const struct tt_job *job, const struct tt_place *home);

/* Can a plan work on what the user gave, as it stands, if all of it is the host's? Then *first: where the data of SEND
 * and RECV begin in their buffers. */
bool tt_bind_as_is(const struct tt_job *job, MPI_Aint first[2]);

/* Provides all that the plan names; comm, wire and home are set. 0, or -1 with why filled; tt_bound_end is due in both
 * cases. */
int tt_bind_plan(struct tt_bound *b, const struct tt_job *job, const struct tt_plan *plan, char *why, size_t size);

/* What NCCL works on, all of it on its GPU. NULL: this rank has no such buffer, or is in place. */
struct tt_on_gpu {
    char *send, *recv, *spare;
};

/* Provides them, with so many bytes for spare; b->with.home, NCCL's GPU, is set. Likewise. */
int tt_bind_nccl(struct tt_bound *b, const struct tt_job *job, size_t spare, struct tt_on_gpu *at, char *why,
                 size_t size);

/* The same for the MPI below: host memory with the user's own datatypes. */
int tt_bind_native(struct tt_bound *b, const struct tt_job *job, char *why, size_t size);

/* Copies results from stand-ins to where the user wants them. 0, or -1 with why filled. */
int tt_bound_deliver(struct tt_bound *b, char *why, size_t size);
void tt_bound_end(struct tt_bound *b);

/* ---- error.c: through the communicator's error handler; both return the error code ---- */

/* An error of Tutti's own class: "Tutti: rank 2: MPI_Allreduce: why". */
int tt_call_fail(const struct tt_call *c, const struct tt_comm *comm, const char *why);

/* An error of one of MPI's classes, for arguments that the MPI below would refuse alike; why goes to standard error. */
int tt_call_reject(const struct tt_call *c, const struct tt_comm *comm, int class, const char *why);

#endif
