/* SPDX-License-Identifier: BSD-3-Clause */
/* A record file as its writer sees it: mapped, so that what has been stored is the kernel's at once, and outlives the
 * process however that ends. All its room is taken when it is made: a disk that fills up later does no harm. */
#ifndef TT_RECORD_FILE_H
#define TT_RECORD_FILE_H

#include <stddef.h>

#include "coll/record_format.h"

struct tt_record_file {
    struct tt_record_head *head;
    struct tt_record_comm *comms;
    struct tt_record_module *modules;
    struct tt_record_name *names;
    struct tt_record_fault *faults;
    struct tt_record_spot *spots;
    struct tt_record_line *lines;
};

/* Makes DIR/rank-RANK.JOB.tutti, and DIR if need be. 0, or -1 with why filled. It is never unmapped: other threads may
 * be in the midst of a call when the program ends. */
int tt_record_make(struct tt_record_file *f, const char *directory, uint64_t job, int rank, char *why, size_t size);

/* Notes what code is loaded now. */
void tt_record_modules(struct tt_record_file *f);

#endif
