/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: what a collective may be called with, for every row by its traits, so that a new row gets arguments without
 * another word. A case is a row, a communicator, a count, a type, a root, in place or not; from these and a key follow
 * the blocks of both sides (uneven, and zero for some; with holes between them and out of order where the row has
 * displacements; of different types where it has those), the bytes in them, and, by the MPI below on host memory, what
 * must be in the receive buffer afterwards, holes included. The ranks agree on all of it without a message. */
#ifndef CASES_H
#define CASES_H

#include "tests/mpi/harness.h"
#include "tests/mpi/rows.h"

enum { MAX_RANKS = 16, CASE_BLOCKS = 32, CASE_BYTES = 1 << 20 /* that a side may span */ };

/* ---- types, and an op for each (kinds.c) ---- */

struct kind {
    const char *name, *op_name;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Aint extent, lb, span; /* lb, span: which bytes of memory one needs: the true lower bound and extent */
    MPI_Aint payload;          /* how many bytes of an extent mean something; the rest may become anything */
    void (*fill)(void *at, size_t n, uint64_t key); /* with what the op may be applied to */
};
extern const struct kind kinds[];
enum { NKINDS = 8 };

/* ---- communicators (groups.c) ---- */

struct group {
    MPI_Comm comm;
    int rank, size;
    const char *topology; /* or "" */
    bool narrow;          /* Cartesian, and so short that both neighbours in a dimension are one rank */
    bool lopsided;        /* some rank has not as many sources as destinations */
    int nsources, ndestinations;
    int sources[CASE_BLOCKS], destinations[CASE_BLOCKS]; /* the neighbours; some may be MPI_PROC_NULL */
};

/* The world in two parts, cut in front of rank `at`, the second part backwards; 0: the whole of it, again. Collective
 * on MPI_COMM_WORLD, as all of these are on theirs. */
struct group group_make(int at);
void group_free(struct group *g);

/* Every topology that neighbour collectives know, over the ranks of a group. */
enum { NTOPOLOGIES = 6 };
struct group group_arrange(const struct group *g, int topology);

/* ---- memory over the ranks (places.c) ---- */

enum side_name { SEND_SIDE, RECV_SIDE };

struct pattern {
    const char *name;
    enum memory (*of)(int rank, enum side_name side, uint64_t key);
    int gpus; /* that it takes */
};
enum { NPATTERNS = 9 };
extern const struct pattern patterns[NPATTERNS];

static inline bool pattern_exists(const struct pattern *p)
{
    return test_gpus >= p->gpus;
}

/* A region of each kind of memory for each side, each of CASE_BYTES. */
extern struct region regions[NMEMORIES][2];
void regions_make(void);
void regions_free(void);

/* ---- a case (cases.c) ---- */

struct block {
    int count;
    MPI_Aint at; /* bytes from the buffer's address */
    const struct kind *kind;
};

struct side {
    bool means; /* something, on this rank */
    int nblocks;
    struct block blocks[CASE_BLOCKS];
    MPI_Aint low; /* where its first byte is, seen from the buffer's address */
    size_t bytes; /* from there to its last, holes included */
    int counts[CASE_BLOCKS], displs[CASE_BLOCKS];
    MPI_Count wide_counts[CASE_BLOCKS];
    MPI_Aint wide_displs[CASE_BLOCKS];
    MPI_Datatype types[CASE_BLOCKS];
};

struct test_case {
    const struct row *row;
    const struct group *group;
    const struct kind *kind;
    int count, root;
    bool inplace, large, nonsense; /* nonsense: arguments that mean nothing are given as such */
    uint64_t key;                  /* of its random numbers */

    /* The type of a block between two ranks (NULL: kind). For rows with types it may differ between blocks and, if the
     * signature is the same, between the two ends; for others between ranks and sides only. */
    const struct kind *(*kind_of)(const struct test_case *t, enum side_name side, int sender, int receiver);

    bool here_inplace;
    struct side send, recv;
    char *sent, *before, *want; /* on the host: what is sent; the receive buffer before, and after */
    unsigned char *matters;     /* for each byte of the receive buffer: must it be as in want? */
};

/* A case with room for its bytes, to be used again and again. */
struct test_case case_make(void);
void case_free(struct test_case *t);

static inline bool has(const struct test_case *t, unsigned trait)
{
    return t->row->traits & trait;
}

/* Does the MPI below fail at this case? Then it is not to be Tutti's choice. Can it not even be asked what must come
 * out, some other way? Then there is no case. The same on all ranks. */
bool case_breaks_native(const struct test_case *t);
bool case_can_be_asked(const struct test_case *t);

/* Does it fail where the blocking call does not? */
bool case_breaks_nonblocking(const struct test_case *t);

/* The sides and their bytes; new bytes for the same sides with another key. */
void case_arrange(struct test_case *t);
void case_fill(struct test_case *t, uint64_t key);

/* What must come out: asks the MPI below. Collective. */
void case_ask_native(struct test_case *t);

/* The arguments, with buffers whose first bytes are at send and recv. */
struct tt_call case_call(const struct test_case *t, const char *send, char *recv);

/* The same with the case's bytes in two regions, which begin shift bytes behind a multiple of 256. */
struct tt_call case_put(const struct test_case *t, struct region *send, struct region *recv, size_t shift);

/* Is the receive buffer as it must be, and all else as it was? */
void case_check(const struct test_case *t, const struct region *send, const struct region *recv);

/* Words for test_now: "alltoallv of 7 int, sum, root 0, in place, rank 1 of 3, cart". */
const char *case_words(const struct test_case *t);

#endif
