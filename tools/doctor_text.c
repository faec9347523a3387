/* SPDX-License-Identifier: BSD-3-Clause */
/* The conclusion in the first line, then where ranks are, and how far they have come on each communicator. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/doctor.h"

static const char *in_words(const struct doctor_job *job)
{
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].r && job->ranks[i].life != DOCTOR_FINALIZED)
            return job->lives ? "is running, and nobody has waited for long"
                              : "is over, and not all ranks came through MPI_Finalize";
    return "came to its end";
}

static void print_conclusion(FILE *out, struct doctor_job *job)
{
    if (job->nfindings)
        fprintf(out, "%s.\n", job->findings[0].text);
    else
        fprintf(out, "Nothing is wrong: the job %s.\n", in_words(job));
    for (int i = 1; i < job->nfindings; i++)
        fprintf(out, "Also: %s.\n", job->findings[i].text);
}

static void print_job(FILE *out, struct doctor_job *job)
{
    const struct record *r = NULL;
    char when[32] = "";
    struct tm day;
    time_t begun;

    for (int i = 0; i < job->size && !r; i++)
        r = job->ranks[i].r;
    begun = (time_t)(((double)r->head.aligned_ns + (double)r->head.real_ns) / 1e9);
    if (localtime_r(&begun, &day))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &day);
    fprintf(out, "\n%s: %d ranks, %d of them recorded; began %s, %s %s later (job %016" PRIx64 ")\n", r->head.program,
            job->size, job->files, when, job->lives ? "looked at" : "last heard of",
            doctor_time((double)(job->now - job->begun)), job->id);
}

/* Ranks that are at the same place are one line. */
static void print_places(FILE *out, struct doctor_job *job)
{
    struct doctor_set told = doctor_set_make(job->size), same = doctor_set_make(job->size);
    char place[512];

    for (int i = 0; i < job->size && told.has && same.has; i++) {
        if (told.has[i])
            continue;
        memset(same.has, 0, (size_t)job->size);
        snprintf(place, sizeof place, "%s", doctor_where(job, &job->ranks[i], false));
        for (int k = i; k < job->size; k++)
            if (!told.has[k] && job->ranks[k].life == job->ranks[i].life &&
                strcmp(place, doctor_where(job, &job->ranks[k], false)) == 0)
                told.has[k] = same.has[k] = 1;
        fprintf(out, "  %s: %s\n", doctor_ranks(&same), doctor_where(job, &job->ranks[i], job->lives));
    }
    free(told.has);
    free(same.has);
}

static bool is_used(const struct doctor_comm *c)
{
    for (int m = 0; m < c->size; m++)
        if (doctor_calls(&c->members[m]))
            return true;
    return false;
}

static void print_comm(FILE *out, const struct doctor_job *job, const struct doctor_comm *c)
{
    struct doctor_set told = doctor_set_make(job->size), same = doctor_set_make(job->size);

    fprintf(out, "  %s:", c->name);
    for (int i = 0; i < c->size && told.has && same.has; i++) {
        const uint64_t calls = doctor_calls(&c->members[i]);
        const uint64_t done = c->members[i].entry ? c->members[i].entry->done : 0;

        if (c->members[i].world < 0 || told.has[c->members[i].world])
            continue;
        memset(same.has, 0, (size_t)job->size);
        for (int k = i; k < c->size; k++)
            if (c->members[k].world >= 0 && doctor_calls(&c->members[k]) == calls &&
                (c->members[k].entry ? c->members[k].entry->done : 0) == done)
                told.has[c->members[k].world] = same.has[c->members[k].world] = 1;
        fprintf(out, "%s %s %" PRIu64 " entered, %" PRIu64 " left", i ? ";" : "", doctor_ranks(&same), calls, done);
    }
    fputc('\n', out);
    free(told.has);
    free(same.has);
}

void doctor_print(FILE *out, struct doctor_job *job)
{
    print_conclusion(out, job);
    print_job(out, job);
    fputs("Where ranks are:\n", out);
    print_places(out, job);
    fputs("Collectives on each communicator:\n", out);
    for (int i = 0; i < job->ncomms; i++)
        if (is_used(&job->comms[i]))
            print_comm(out, job, &job->comms[i]);
    for (int i = 0; i < job->nremarks; i++)
        fprintf(out, "warning: %s\n", job->remarks[i]);
}
