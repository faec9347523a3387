/* SPDX-License-Identifier: BSD-3-Clause */
/* `tutti doctor`: what it knows of a job, and what it makes of it. doctor_load.c finds the files of a job and looks
 * whether its processes live; doctor_comms.c joins what ranks say of a communicator; doctor_match.c, doctor_blame.c and
 * doctor_slow.c look for what is wrong, each adding findings; doctor_words.c has the words; the rest prints. */
#ifndef TT_DOCTOR_H
#define TT_DOCTOR_H

#include <stdio.h>

#include "tools/record_read.h"

/* From a communicator's first call: a number beyond it is spoilt. */
enum { DOCTOR_FARTHEST = 1 << 22 };

/* The peer of a call that is for nobody in particular (record.def). */
enum { DOCTOR_NOBODY = -32000, DOCTOR_SOMEBODY = -32001 }; /* peers: as in coll/watch.h */

/* What is known of a process beyond its file. */
enum doctor_life {
    DOCTOR_UNKNOWN, /* it ran on another host */
    DOCTOR_LIVES,
    DOCTOR_STOPPED,
    DOCTOR_IS_GONE, /* without a word */
    DOCTOR_ENDED,   /* without MPI_Finalize, by exit */
    DOCTOR_FINALIZED
};

struct doctor_rank {
    struct record *r; /* NULL: there is no file of it */
    enum doctor_life life;
    int64_t seen;                        /* when it was last known to live */
    const struct tt_record_line *inside; /* the blocking collective that it is in, or the nonblocking one that it waits
                                            for; NULL: none */
    const struct tt_record_spot *spot;   /* the other call of MPI that it is in; NULL: none */
    bool reads;                          /* the kernel has it wait for a disk, or for files of another host */
    bool asks;                           /* it is in none that waits, but tests the spot's request again and again */
};

/* A communicator, as its ranks see it. */
struct doctor_comm {
    uint64_t id;
    int size;
    bool inter; /* an intercommunicator: the one group's ranks, then the other's */
    char name[64];
    struct doctor_member {
        int world;                           /* its rank in MPI_COMM_WORLD; -1: not known */
        struct doctor_rank *rank;            /* NULL: not known */
        const struct tt_record_comm *entry;  /* NULL: it has called nothing on it */
        uint64_t first;                      /* calls from this one on */
        size_t n, room;                      /* so many, */
        const struct tt_record_line **lines; /* have these lines; NULL: it is lost */
    } * members;                             /* size of them */
};

/* Ranks of MPI_COMM_WORLD: a byte for each. */
struct doctor_set {
    int size;
    signed char *has;
};

enum doctor_kind {
    DOCTOR_FAULT,    /* this is why it hangs or failed */
    DOCTOR_MISMATCH, /* calls that do not belong together */
    DOCTOR_SLOW,     /* time that is lost */
    DOCTOR_REMARK
};

/* The first one of a job is the conclusion. */
struct doctor_finding {
    enum doctor_kind kind;
    const char *what; /* a word for programs: "behind", "count" */
    struct doctor_set blame;
    char call[64]; /* "MPI_Allreduce", or empty */
    char text[1024];
};

struct doctor_job {
    uint64_t id;
    int size;
    struct doctor_rank *ranks; /* size of them */
    int files;
    int64_t now, begun; /* rank 0's clock: when it is looked at, or was last heard of; when MPI_Init was over */
    bool lives;         /* some process does */
    int ncomms;
    struct doctor_comm *comms;
    int nfindings;
    struct doctor_finding *findings;
    int nremarks;
    char **remarks; /* what was amiss with files */
};

/* ---- doctor_load.c ---- */

/* The job in a directory: the newest, or that whose number begins with `which`. NULL with why filled. */
struct doctor_job *doctor_load(const char *directory, const char *which, char *why, size_t size);

/* The same of records at hand, which are the job's from now on; paths are for remarks, and may be NULL. NULL: out of
 * memory, or none of them is of use. */
struct doctor_job *doctor_gather(struct record **records, int n);
void doctor_free(struct doctor_job *job);
void doctor_remark(struct doctor_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- doctor_comms.c ---- */
bool doctor_join(struct doctor_job *job);
void doctor_part(struct doctor_job *job);
struct doctor_comm *doctor_comm_of(struct doctor_job *job, const struct doctor_rank *rank, uint32_t ordinal);

/* The rank of MPI_COMM_WORLD that the spot of a rank names as its peer; -1: it names none that is known. */
int doctor_peer(struct doctor_job *job, const struct doctor_rank *rank);
bool doctor_has_finished(const struct doctor_rank *rank); /* it has come to MPI_Finalize, and will send nothing more */

/* A member's line for a call; NULL: it is not there. Calls that were entered on it. */
const struct tt_record_line *doctor_line(const struct doctor_member *m, uint64_t number);
uint64_t doctor_calls(const struct doctor_member *m);

/* ---- who looks for what; each adds what it finds, the first of them the worst ---- */
void doctor_match(struct doctor_job *job);
void doctor_blame(struct doctor_job *job);
void doctor_slow(struct doctor_job *job);

/* ---- doctor_words.c ---- */
struct doctor_set doctor_set_make(int size);
int doctor_set_count(const struct doctor_set *s);

/* "rank 3", "ranks 0-30,32-63", "all ranks"; into one of a few buffers that are used in turn, as are the others. */
const char *doctor_ranks(const struct doctor_set *s);

/* "MPI_Allreduce of 1000 MPI_FLOAT at app.c:12", and "MPI_Allreduce at app.c:12, call 7 on MPI_COMM_WORLD". */
const char *doctor_call(const struct doctor_rank *rank, const struct tt_record_line *l);
const char *doctor_call_on(struct doctor_job *job, const struct doctor_rank *rank, const struct tt_record_line *l);

/* Is it the same place in the program? Its pieces may lie elsewhere in each process. */
bool doctor_same_caller(const struct record *ra, uint64_t a, const struct record *rb, uint64_t b);

/* "app.c:12 (main)", "libx.so+0x1234"; "" if nothing is known. */
const char *doctor_caller(const struct doctor_rank *rank, uint64_t caller);
const char *doctor_time(double ns);
const char *doctor_bytes(int64_t bytes);

/* Where a rank is now: "outside MPI for 31 s, since it left MPI_Allreduce at app.c:12"; without how long if not timed.
 */
const char *doctor_where(struct doctor_job *job, const struct doctor_rank *rank, bool timed);

/* Since when it is there. */
int64_t doctor_since(const struct doctor_rank *rank);

/* Of what a line says, what all ranks must say alike and two do not: "count"; NULL: nothing. */
const char *doctor_differ(const struct record *ra, const struct tt_record_line *a, const struct record *rb,
                          const struct tt_record_line *b);

/* Adds a finding, with its text to be filled by the caller. NULL: out of memory. */
struct doctor_finding *doctor_find(struct doctor_job *job, enum doctor_kind kind, const char *what,
                                   const struct doctor_set *blame, const char *call);

/* ---- printing ---- */
void doctor_print(FILE *out, struct doctor_job *job);
int doctor_json(FILE *out, struct doctor_job *job);
void doctor_trace(FILE *out, struct doctor_job *job);
void doctor_html(FILE *out, struct doctor_job *job);

#endif
