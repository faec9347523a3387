/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue's marks are events, a few of them used in turn. A mark whose event serves a later one by now is reached when
 * that is: a queue is in order, so the answer may be late and is never early. Recording one costs about 1 us, so the
 * end of all of a queue's work is not asked for in this way. */
#include "cuda/marks.h"

int tt_mark(struct tt_marks *marks, const struct tt_driver *d, CUstream stream, uint64_t *mark)
{
    CUevent *event = &marks->events[(marks->made + 1) % TT_MARKS];

    if ((!*event && tt_driver_check(d, d->cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate")) ||
        tt_driver_check(d, d->cuEventRecord(*event, stream), "cuEventRecord"))
        return -1;
    *mark = ++marks->made;
    return 0;
}

/* The last mark that the event of this one serves. */
static uint64_t heir(const struct tt_marks *marks, uint64_t mark)
{
    return mark + (marks->made - mark) / TT_MARKS * TT_MARKS;
}

int tt_mark_reached(struct tt_marks *marks, const struct tt_driver *d, uint64_t mark)
{
    const uint64_t asked = heir(marks, mark);
    CUresult result;

    if (mark <= marks->reached)
        return 1;
    result = d->cuEventQuery(marks->events[mark % TT_MARKS]);
    if (result == CUDA_ERROR_NOT_READY)
        return 0;
    if (tt_driver_check(d, result, "work on the device"))
        return -1;
    marks->reached = asked;
    return 1;
}

void tt_marks_close(struct tt_marks *marks, const struct tt_driver *d)
{
    for (int i = 0; i < TT_MARKS; i++)
        if (marks->events[i])
            d->cuEventDestroy(marks->events[i]);
}
