/* SPDX-License-Identifier: BSD-3-Clause */
/* From a directory to a job. Files of several jobs may lie there: the newest counts, and the others are told of.
 * Whether a process lives is asked of the kernel where it is this one, by its number and the time of its birth. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "coll/ticks.h"
#include "tools/doctor.h"

enum { ALL_LINES = 1 << 22, FEWEST_LINES = 64 }; /* that are kept of all ranks; of one */
static const int64_t OFTEN = 1500000000;         /* ns: who has tested a request since then does so again and again */

void doctor_remark(struct doctor_job *job, const char *format, ...)
{
    char **more = realloc(job->remarks, ((size_t)job->nremarks + 1) * sizeof *more);
    va_list args;

    if (!more)
        return;
    job->remarks = more;
    va_start(args, format);
    if (vasprintf(&more[job->nremarks], format, args) >= 0)
        job->nremarks++;
    va_end(args);
}

/* ---- which files ---- */

struct found {
    char *path, job[20]; /* its job's number, as in its name */
    struct timespec when;
    bool tried; /* its job's files are of no use */
};

struct list {
    struct found *files;
    size_t n;
    char newest[20];
};

/* rank-3.0123456789abcdef.tutti */
static bool is_record(const char *name, char *job)
{
    int used = 0;

    return sscanf(name, "rank-%*[0-9].%16[0-9a-f]%n", job, &used) == 1 && used > 0 &&
           strcmp(name + used, TT_RECORD_SUFFIX) == 0;
}

static bool add_file(struct list *l, const char *directory, const char *name)
{
    struct found *more, f = {0};
    struct stat s;

    if (!is_record(name, f.job))
        return true;
    more = realloc(l->files, (l->n + 1) * sizeof *more);
    if (!more || asprintf(&f.path, "%s/%s", directory, name) < 0)
        return false;
    l->files = more;
    f.when = stat(f.path, &s) == 0 ? s.st_mtim : (struct timespec){0, 0};
    l->files[l->n++] = f;
    return true;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Of the jobs that have not been tried; false: there is none. */
static bool find_newest(struct list *l)
{
    const struct found *newest = NULL;

    for (size_t i = 0; i < l->n; i++)
        if (!l->files[i].tried && (!newest || is_later(&l->files[i].when, &newest->when)))
            newest = &l->files[i];
    if (newest)
        memcpy(l->newest, newest->job, sizeof l->newest);
    return newest;
}

static bool list_files(struct list *l, const char *directory, char *why, size_t size)
{
    DIR *d = opendir(directory);
    struct dirent *e;

    if (!d) {
        snprintf(why, size, "%s cannot be read: %s", directory, strerror(errno));
        return false;
    }
    while ((e = readdir(d)))
        if (!add_file(l, directory, e->d_name))
            break;
    closedir(d);
    if (!l->n)
        snprintf(why, size, "there are no records in %s: run with TUTTI_RECORD=%s, or tutti run --record %s", directory,
                 directory, directory);
    return l->n > 0;
}

static void list_free(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->files[i].path);
    free(l->files);
}

/* ---- processes ---- */

/* Its state and time of birth, of /proc/PID/stat; false: there is none. */
static bool ask_kernel(int pid, char *state, unsigned long long *born)
{
    char path[64], line[1024] = "", *at;
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    in = fopen(path, "r");
    if (!in)
        return false;
    at = fgets(line, sizeof line, in) ? strrchr(line, ')') : NULL;
    fclose(in);
    return at && sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                        state, born) == 2;
}

static enum doctor_life life_of(const struct record *r, bool *reads)
{
    const struct tt_record_head *h = &r->head;
    unsigned long long born;
    char state;

    if (h->phase == TT_FINALIZED)
        return DOCTOR_FINALIZED;
    if (h->phase == TT_GONE)
        return DOCTOR_ENDED;
    if (h->boot != tt_boot_hash())
        return DOCTOR_UNKNOWN;
    if (!ask_kernel(h->pid, &state, &born) || born != h->born || state == 'Z' || state == 'X')
        return DOCTOR_IS_GONE;
    *reads = state == 'D';
    return state == 'T' || state == 't' ? DOCTOR_STOPPED : DOCTOR_LIVES;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The last time that is written of it. */
static int64_t last_seen(const struct record *r)
{
    int64_t last = record_time_of_ns(r, r->head.late_ns);

    for (uint32_t i = r->nlines > 64 ? r->nlines - 64 : 0; i < r->nlines; i++)
        last = later(last, later((int64_t)r->lines[i].entered, (int64_t)r->lines[i].left));
    for (uint32_t i = 0; i < r->nspots; i++)
        last = later(later(last, (int64_t)r->spots[i].asked),
                     later((int64_t)r->spots[i].since, (int64_t)r->spots[i].left));
    return last;
}

static const struct tt_record_line *line_of(const struct record *r, uint64_t serial)
{
    for (uint32_t i = r->nlines; i-- > 0 && serial;)
        if (r->lines[i].serial == serial)
            return &r->lines[i];
    return NULL;
}

/* One that is not over, of those that block or of those that do not. */
static const struct tt_record_line *last_open(const struct record *r, bool blocks)
{
    for (uint32_t i = r->nlines; i-- > 0;)
        if (!r->lines[i].left && (r->lines[i].flavour == 0) == blocks)
            return &r->lines[i];
    return NULL;
}

/* The collective that a rank in a wait is held up by. If it is not known what it waits for, the last that is not over.
 * One that the MPI below has is not over for all that is known. */
static const struct tt_record_line *awaited(const struct record *r, const struct tt_record_spot *s)
{
    const struct tt_record_line *l = line_of(r, s->line);

    if (s->line || s->awaits[0])
        return l && (!l->left || l->handed) ? l : NULL;
    return strncmp(s->name, "Wait", 4) == 0 ? last_open(r, false) : NULL;
}

static void look_at(struct doctor_rank *rank)
{
    const struct record *r = rank->r;

    rank->life = life_of(r, &rank->reads);
    rank->seen = last_seen(r);
    if (r->head.phase != TT_RUNNING)
        return;
    for (uint32_t i = 0; i < r->nspots; i++)
        if (r->spots[i].name[0])
            rank->spot = &r->spots[i];
    rank->inside = last_open(r, true);
    if (!rank->inside && rank->spot)
        rank->inside = awaited(r, rank->spot);
}

/* Who tests without end waits, too. */
static void look_for_tests(const struct doctor_job *job, struct doctor_rank *rank)
{
    const struct record *r = rank->r;

    if (!r || rank->spot || rank->inside || r->head.phase != TT_RUNNING)
        return;
    for (uint32_t i = 0; i < r->nspots; i++)
        if (r->spots[i].asked && job->now - (int64_t)r->spots[i].asked < OFTEN) {
            rank->spot = &r->spots[i];
            rank->asks = true;
            rank->inside = awaited(r, rank->spot);
        }
}

static void look_at_all(struct doctor_job *job)
{
    for (int i = 0; i < job->size; i++) {
        struct doctor_rank *rank = &job->ranks[i];

        if (!rank->r)
            continue;
        look_at(rank);
        job->lives |= rank->life == DOCTOR_LIVES || rank->life == DOCTOR_STOPPED;
        job->now = later(job->now, rank->seen);
    }
    /* the clock goes on: one of a process of this host tells how far */
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].life == DOCTOR_LIVES || job->ranks[i].life == DOCTOR_STOPPED) {
            job->now = later(job->now, record_time_of_ns(job->ranks[i].r, tt_nanoseconds(CLOCK_MONOTONIC)));
            break;
        }
    for (int i = 0; i < job->size; i++)
        look_for_tests(job, &job->ranks[i]);
}

/* ---- the job ---- */

static bool take_size(struct doctor_job *job, int size)
{
    if (job->size)
        return job->size == size;
    job->ranks = calloc((size_t)size, sizeof *job->ranks);
    job->size = job->ranks ? size : 0;
    return job->ranks;
}

static void take(struct doctor_job *job, struct record *r)
{
    const char *path = r->path ? r->path : "a file";

    if (job->files && r->head.job != job->id)
        doctor_remark(job, "%s is left out: it is of another job", path);
    else if (!take_size(job, r->head.size))
        doctor_remark(job, "%s is left out: it is of a job of %d ranks, and this one has %d", path, r->head.size,
                      job->size);
    else if (job->ranks[r->head.rank].r)
        doctor_remark(job, "%s is left out: rank %d has another file", path, r->head.rank);
    else {
        if (r->amiss[0])
            doctor_remark(job, "%s: %s", path, r->amiss);
        job->id = job->files ? job->id : r->head.job;
        job->ranks[r->head.rank].r = r;
        job->files++;
        job->begun = later(job->begun, record_time_of_ns(r, r->head.aligned_ns));
        return;
    }
    record_free(r);
}

static void read_files(struct doctor_job *job, const struct list *l, const char *which)
{
    uint32_t most = l->n ? ALL_LINES / (uint32_t)l->n : 0;
    size_t others = 0;

    most = most > FEWEST_LINES ? most : FEWEST_LINES;
    for (size_t i = 0; i < l->n; i++) {
        char why[256];
        struct record *r;

        if (strncmp(l->files[i].job, which, strlen(which))) {
            others++;
            continue;
        }
        r = record_read(l->files[i].path, most, why, sizeof why);
        if (r)
            take(job, r);
        else
            doctor_remark(job, "%s is left out: %s", l->files[i].path, why);
    }
    if (others)
        doctor_remark(job, "%zu files are of other jobs: --job NUMBER, as in their names, looks at those", others);
}

/* The newest job of which any file can be read. */
static void read_newest(struct doctor_job *job, struct list *l)
{
    while (!job->files && find_newest(l)) {
        read_files(job, l, l->newest);
        for (size_t i = 0; i < l->n; i++)
            l->files[i].tried |= strcmp(l->files[i].job, l->newest) == 0;
    }
}

/* What remains to be done when all records are there. */
static struct doctor_job *finish(struct doctor_job *job)
{
    if (!job || !job->files) {
        doctor_free(job);
        return NULL;
    }
    look_at_all(job);
    if (doctor_join(job))
        return job;
    doctor_free(job);
    return NULL;
}

struct doctor_job *doctor_gather(struct record **records, int n)
{
    struct doctor_job *job = calloc(1, sizeof *job);

    for (int i = 0; i < n; i++)
        if (job)
            take(job, records[i]);
        else
            record_free(records[i]);
    return finish(job);
}

struct doctor_job *doctor_load(const char *directory, const char *which, char *why, size_t size)
{
    struct doctor_job *job = calloc(1, sizeof *job);
    struct list l = {0};

    snprintf(why, size, "out of memory");
    if (job && list_files(&l, directory, why, size)) {
        if (which)
            read_files(job, &l, which);
        else
            read_newest(job, &l);
        if (!job->files && job->nremarks)
            snprintf(why, size, "%s", job->remarks[0]);
    }
    list_free(&l);
    return finish(job);
}

void doctor_free(struct doctor_job *job)
{
    if (!job)
        return;
    for (int i = 0; i < job->size; i++)
        record_free(job->ranks[i].r);
    doctor_part(job);
    for (int i = 0; i < job->nfindings; i++)
        free(job->findings[i].blame.has);
    for (int i = 0; i < job->nremarks; i++)
        free(job->remarks[i]);
    free(job->ranks);
    free(job->comms);
    free(job->findings);
    free(job->remarks);
    free(job);
}
