/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI test programs share: checks that are counted and, when they fail, say what was being done; memory of
 * every kind with guard bytes around it; random numbers that can be had again; a watchdog that says who waits.
 * The programs are ordinary ones: they are linked with the MPI and the CUDA runtime, and Tutti comes to them by
 * LD_PRELOAD. The native result is what PMPI_ gives on host memory. */
#ifndef HARNESS_H
#define HARNESS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simcuda/simcuda.h"

extern int test_rank, test_size; /* of MPI_COMM_WORLD */
extern int test_gpus;            /* visible to this process; 0: every test is on host memory */

extern bool test_open_mpi; /* the MPI below is Open MPI */

/* MPI_STATUSES_IGNORE and MPI_UNWEIGHTED, which gcc takes for arrays that are too short. */
extern MPI_Status *const no_statuses;
int *no_weights(void);

/* MPI_Init, the GPU of this rank, and MPI_ERRORS_RETURN on MPI_COMM_WORLD and MPI_COMM_SELF. seconds: until the
 * watchdog bites. */
void test_begin(int *argc, char ***argv, unsigned seconds);

/* The same by MPI_Init_thread with MPI_THREAD_MULTIPLE; false if the MPI has no such. Checks, regions and cases may
 * then be used by several threads at once; settings may not be changed meanwhile. */
bool test_begin_threads(int *argc, char ***argv, unsigned seconds);

/* What this rank does from now on, for failures and for the watchdog. */
__attribute__((format(printf, 1, 2))) void test_now(const char *format, ...);

/* Counts; says what is wrong, and what was being done, unless ok. Returns ok. */
__attribute__((format(printf, 2, 3))) bool test_check(bool ok, const char *format, ...);

/* error must be MPI_SUCCESS. */
bool test_success(int error);

/* Does this process survive what(of)? Asked in a child, whose death is the answer. */
bool test_survives(void (*what)(const void *), const void *of);

/* Prints the totals of all ranks as Check does, and ends MPI. Returns the exit status. */
int test_end(void);

/* ---- Tutti's own functions, found in what was preloaded ---- */
void test_set(const char *name, const char *value);    /* tutti_set; must succeed */
int test_try_set(const char *name, const char *value); /* the same; what it returns */
const char *test_algorithm(const char *collective, int i);
void test_pin(const char *collective, const char *algorithm);   /* TUTTI_<COLLECTIVE>=algorithm */
const char *test_choice(MPI_Comm comm, const char *collective); /* tutti_choice; "" in place of NULL */
int test_format(int format, MPI_Datatype *type);                /* tutti_type */

/* ---- random numbers ---- */

/* A function of the seed, which rank 0 prints, and of key: the same on all ranks for the same key. TUTTI_TEST_SEED
 * sets the seed. */
uint64_t test_random(uint64_t key);

/* ---- memory ---- */
enum memory { HOST, PINNED, MANAGED, DEVICE, OTHER_DEVICE, NMEMORIES };
extern const char *const memory_names[NMEMORIES];

/* Is there such memory here? OTHER_DEVICE is that of another GPU than the rank's own. */
bool memory_exists(enum memory memory);
char *memory_take(enum memory memory, size_t bytes);
void memory_give(enum memory memory, char *block);
void memory_put(enum memory memory, char *to, const void *from, size_t bytes);
void memory_get(enum memory memory, void *to, const char *from, size_t bytes);

/* A stretch of memory used again and again, with guard bytes before and after what it holds. */
struct region {
    enum memory memory;
    size_t capacity, bytes;
    char *block, *at;
};
void region_make(struct region *r, enum memory memory, size_t capacity);
void region_free(struct region *r);

/* Holds bytes of data from now on, at `shift` bytes behind an address that is a multiple of 256 bytes. Returns
 * where. */
char *region_set(struct region *r, size_t shift, const void *data, size_t bytes);

/* Fetches what it holds; false if a guard byte was written. */
bool region_get(const struct region *r, void *data);

/* Does it still hold data, and are the guards whole? */
bool region_holds(const struct region *r, const void *data);

/* ---- elements ---- */

/* How the bytes of an element compare: `payload` of each `extent` bytes mean something. -1, or the first element
 * that differs. */
long first_difference(const void *a, const void *b, size_t n, size_t extent, size_t payload);

/* ---- the simulated device; NULL functions on a real one ---- */
struct simulator {
    void (*counters)(struct simcuda_counters *);
    void (*reset)(void);
    void *(*alias)(const void *);
    int (*inject)(const char *);
};
extern struct simulator simulator;

/* ---- the CUDA runtime, as far as it is used here: of any version ---- */
int cudaGetDeviceCount(int *count);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaMalloc(void **address, size_t bytes);
int cudaMallocManaged(void **address, size_t bytes, unsigned flags);
int cudaMallocHost(void **address, size_t bytes);
int cudaFree(void *address);
int cudaFreeHost(void *address);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamSynchronize(void *stream);
int cudaStreamDestroy(void *stream);
int cudaDeviceReset(void);

#endif
