/* SPDX-License-Identifier: BSD-3-Clause */
/* Record files (coll/record.def), for who reads them. */
#ifndef TT_RECORD_READ_H
#define TT_RECORD_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "coll/record_format.h"

/* What could be read of one file. Texts end; a number may be anything. */
struct record {
    char *path;
    struct tt_record_head head;
    uint32_t ncomms, nmodules, nnames, nfaults, nspots, nlines;
    struct tt_record_comm *comms; /* those that are there, of each */
    struct tt_record_module *modules;
    struct tt_record_name *names; /* all: by number */
    struct tt_record_fault *faults;
    struct tt_record_spot *spots;
    struct tt_record_line *lines; /* by serial; their times, and the spots', are nanoseconds of rank 0's clock */
    char amiss[256];              /* what could not be read, or empty */
};

/* Reads an image of a file. most: so many lines at most, the last ones. NULL, with why filled, if nothing can be made
 * of it. */
struct record *record_parse(const void *image, size_t bytes, uint32_t most, char *why, size_t size);
struct record *record_read(const char *path, uint32_t most, char *why, size_t size);
void record_free(struct record *r);

/* Ticks of that process, or nanoseconds of its CLOCK_MONOTONIC, as nanoseconds of rank 0's; 0 stays 0. */
int64_t record_time(const struct record *r, uint64_t ticks);
int64_t record_time_of_ns(const struct record *r, int64_t ns);

/* A name by its number; "" if there is none. And an entry by its ordinal, or NULL. */
const char *record_name(const struct record *r, uint16_t name);
const struct tt_record_comm *record_comm(const struct record *r, uint32_t ordinal);
const char *record_fault(const struct record *r, uint32_t ordinal);

/* The line of a call on a communicator; NULL if it is not there, or not any more. */
const struct tt_record_line *record_line(const struct record *r, uint32_t comm, uint64_t number);

#endif
