/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-in for NCCL from inside. The ranks of a communicator are processes of this machine, whatever nodes they are
 * said to be on; they meet on a board, a file in memory that all of them map. What a call asks for is written there as
 * a card, so that each rank sees what the others asked for before it does anything; data are read from the files that
 * back device memory. All waiting is done on a stream's thread, or on one of the communicator's own. */
#ifndef SIM_NCCL_H
#define SIM_NCCL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/nccl_abi.h"
#include "tests/simcuda/guest.h"

#pragma GCC visibility push(default)
#include "tests/simcuda/simnccl.h"
#define TT_NCCL(name, result, need, since, params) result nccl##name params;
#include "cuda/nccl.def"
#pragma GCC visibility pop

/* ---- words and counters ---- */

extern struct simnccl_counters nccl_counts; /* touched with __atomic only */
#define COUNT(name) __atomic_add_fetch(&nccl_counts.name, 1, __ATOMIC_RELAXED)

/* Misuse: on stderr, counted, and kept for ncclGetLastError. Returns result. */
ncclResult_t nccl_report(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What goes wrong by no fault of the caller's: kept only. */
ncclResult_t nccl_fail(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));

int nccl_version(void); /* 0: each call fails */

/* ---- what is asked for ---- */

enum nccl_kind {
    NCCL_ALL_REDUCE,
    NCCL_REDUCE,
    NCCL_BROADCAST,
    NCCL_ALL_GATHER,
    NCCL_REDUCE_SCATTER,
    NCCL_ALL_TO_ALL,
    NCCL_GATHER,
    NCCL_SCATTER,
    NCCL_SEND, /* from here on between two */
    NCCL_RECV,
    NCCL_NKINDS
};

struct nccl_kind_row {
    const char *name;
    bool reduces, rooted;
};
extern const struct nccl_kind_row nccl_kinds[NCCL_NKINDS];

size_t nccl_type_size(ncclDataType_t type); /* 0: there is none such */
const char *nccl_type_name(ncclDataType_t type);

/* Memory as another process finds it. */
struct nccl_piece {
    int fd; /* of the owner's; -1: there is none */
    uint64_t offset;
};

/* What a rank shows the others. */
struct nccl_card {
    enum nccl_kind kind;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root; /* or -1 */
    size_t count;
    uint64_t order; /* of the launch, among all of the process */
    struct nccl_piece send, recv;
};

/* One call. */
struct nccl_task {
    struct nccl_card card;
    int peer;          /* of send and recv */
    char *send, *recv; /* where they really are; NULL: this rank has none */
    bool stuck, fails; /* injected */
    uint64_t number;   /* send and recv: which between these two */
    enum { TASK_NEW, TASK_SHOWN, TASK_DONE } state;
};

/* ---- the board ---- */

struct nccl_seat {
    atomic_uint state; /* enum, growing */
    int pid, version;
    uint64_t process; /* no two have the same */
    CUuuid gpu;
    atomic_ulong stage; /* STAGES for each collective */
    struct nccl_card cards[2];
};
enum { SEAT_FREE, SEAT_TAKEN, SEAT_READY, SEAT_LEAVING };

/* From one rank to another, or to itself. */
struct nccl_channel {
    atomic_ulong shown, taken;
    atomic_uint refused; /* the receiver expected something else */
    struct nccl_card card;
};

struct nccl_comm;

struct nccl_board {
    uint64_t nonce;
    atomic_uint nranks; /* 0: nobody has come yet */
    atomic_uint bell;
    struct nccl_seat seats[];
};

ncclResult_t nccl_board_new(ncclUniqueId *id);
ncclResult_t nccl_board_open(struct nccl_comm *comm, const ncclUniqueId *id); /* board, file */
void nccl_board_forget(const ncclUniqueId *id);                               /* nobody opens it any more */
void nccl_board_close(struct nccl_comm *comm);
struct nccl_channel *nccl_channel(struct nccl_comm *comm, int from, int to);
bool nccl_board_hold(struct nccl_comm *comm);           /* from now on the others see that this process lives */
bool nccl_board_held(struct nccl_comm *comm, int rank); /* does that one? */

/* unsigned heard = nccl_listen(b); look; nccl_sleep(b, heard): returns when somebody rang since, or after a few ms. */
unsigned nccl_listen(struct nccl_board *board);
void nccl_sleep(struct nccl_board *board, unsigned heard);
void nccl_ring(struct nccl_board *board);

uint64_t nccl_process(void); /* a number of this process */

/* ---- communicators ---- */

/* Lives until the last who needs it has dropped it: the handle, its thread, each launch under way. */
struct nccl_comm {
    atomic_uint refs;
    int rank, nranks;
    bool blocking;
    struct simcuda_guest_context home;
    ncclUniqueId id;
    struct nccl_board *board;
    size_t board_bytes;
    int file;          /* of the board, while it is being made */
    atomic_uint async; /* what ncclCommGetAsyncError says */
    atomic_bool aborted;
    atomic_ulong issued, done; /* launches, which go in order whatever streams they are in */
    pthread_t thread;          /* makes or finalizes it */
    bool threaded;
    bool used[NCCL_NKINDS];      /* the first of each kind has connections to make */
    uint64_t collectives;        /* of the launch that runs */
    uint64_t *shown, *taken;     /* per peer: sends and receives that were issued */
    struct nccl_reader *readers; /* per peer */
    char *scratch;               /* of the launch that runs, grown as needed */
    size_t scratch_bytes;
    int bounce;         /* a file for what others cannot read where it is; -1: not yet */
    bool absent, exits; /* injected */
};

/* A handle, never freed, so that what outlives its communicator is told so. */
struct ncclComm {
    struct ncclComm *next;
    uint64_t magic;
    int rank;
    enum { HANDLE_OPEN, HANDLE_FINALIZED, HANDLE_DESTROYED, HANDLE_ABORTED } state;
    struct nccl_comm *comm; /* NULL once destroyed or aborted */
};

void nccl_hold(struct nccl_comm *comm);
void nccl_drop(struct nccl_comm *comm);

/* The communicator of a handle that may be used now; else *result says why not, reported. */
struct nccl_comm *nccl_usable(ncclComm_t handle, const char *who, ncclResult_t *result);

/* Waits for the thread that makes it: what it has come to. */
ncclResult_t nccl_join(ncclComm_t handle);

bool nccl_stopped(struct nccl_comm *comm, const bool *ending);

/* Notes an asynchronous error, the first only. */
void nccl_async(struct nccl_comm *comm, ncclResult_t result);

/* In a group now? Then its end waits until the handle has become a communicator, or has not. */
bool nccl_group_takes(ncclComm_t *handle);

/* For a thread of the library's own: the program's signals are none of its business. */
int nccl_thread(pthread_t *thread, void *(*run)(void *), void *arg);

/* ---- doing it ---- */

struct nccl_launch {
    struct nccl_comm *comm;
    CUstream stream;
    uint64_t ticket;
    size_t ntasks;
    struct nccl_task *tasks;
};

CUresult nccl_run(void *launch, const bool *ending);

/* acc[i] = acc[i] op more[i]; and what an average does at the end. */
void nccl_reduce(const struct nccl_card *card, void *acc, const void *more, size_t n);
void nccl_average(const struct nccl_card *card, void *acc, size_t n, int nranks);

/* ---- what another rank has in its memory ---- */

bool nccl_read(struct nccl_comm *comm, int rank, const struct nccl_piece *piece, size_t at, void *dst, size_t bytes);
struct nccl_piece nccl_bounce(struct nccl_comm *comm, const char *data, size_t bytes, uint64_t at);
void nccl_work_close(struct nccl_comm *comm);

#endif
