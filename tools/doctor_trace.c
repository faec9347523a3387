/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline in the format of Chrome's trace viewer, which Perfetto reads too: each rank is a process, its
 * collectives are slices. Written as it goes, an event a line, since there may be millions. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor.h"

static void put(FILE *out, bool *first, json_t *event)
{
    fputs(*first ? "" : ",\n", out);
    *first = false;
    if (event)
        json_dumpf(event, out, JSON_COMPACT);
    else
        fputs("{}", out);
    json_decref(event);
}

static double us(const struct doctor_job *job, uint64_t ns)
{
    return (double)((int64_t)ns - job->begun) / 1e3;
}

static json_t *details(struct doctor_job *job, const struct doctor_rank *rank, const struct tt_record_line *l)
{
    const struct doctor_comm *c = doctor_comm_of(job, rank, l->comm);

    return json_pack("{s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:i, s:s}", "communicator", c ? c->name : "?", "call",
                     (json_int_t)l->number + 1, "count", (json_int_t)l->count, "type", record_name(rank->r, l->type),
                     "algorithm", record_name(rank->r, l->algorithm), "bytes sent", (json_int_t)l->sent,
                     "bytes received", (json_int_t)l->received, "root", (int)l->root, "caller",
                     doctor_caller(rank, l->caller));
}

/* A call that is not over lasts until now; a nonblocking one is on a row of its own, since such overlap. */
static void put_line(FILE *out, bool *first, struct doctor_job *job, int i, const struct tt_record_line *l)
{
    const struct doctor_rank *rank = &job->ranks[i];
    const double from = us(job, l->entered), to = us(job, l->left ? l->left : (uint64_t)job->now);
    const char *name = record_name(rank->r, l->collective);

    if (l->flavour == 0) {
        put(out, first,
            json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:o}", "name", name, "cat", "collective", "ph", "X", "ts",
                      from, "dur", to > from ? to - from : 0, "pid", i, "tid", (int)l->thread, "args",
                      details(job, rank, l)));
        return;
    }
    put(out, first,
        json_pack("{s:s, s:s, s:s, s:f, s:i, s:i, s:I, s:o}", "name", name, "cat", "nonblocking", "ph", "b", "ts", from,
                  "pid", i, "tid", (int)l->thread, "id", (json_int_t)l->serial, "args", details(job, rank, l)));
    put(out, first,
        json_pack("{s:s, s:s, s:s, s:f, s:i, s:i, s:I}", "name", name, "cat", "nonblocking", "ph", "e", "ts", to, "pid",
                  i, "tid", (int)l->thread, "id", (json_int_t)l->serial));
}

void doctor_trace(FILE *out, struct doctor_job *job)
{
    bool first = true;
    char name[128];

    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
    for (int i = 0; i < job->size; i++) {
        const struct record *r = job->ranks[i].r;

        if (!r)
            continue;
        snprintf(name, sizeof name, "rank %d on %s", i, r->head.host);
        put(out, &first,
            json_pack("{s:s, s:s, s:i, s:{s:s}}", "name", "process_name", "ph", "M", "pid", i, "args", "name", name));
        put(out, &first,
            json_pack("{s:s, s:s, s:i, s:{s:i}}", "name", "process_sort_index", "ph", "M", "pid", i, "args",
                      "sort_index", i));
        for (uint32_t k = 0; k < r->nlines; k++)
            put_line(out, &first, job, i, &r->lines[k]);
    }
    fputs("\n]}\n", out);
}
