/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's words: ranks in groups, calls, where they were called from, times. Source lines are asked of addr2line,
 * where it is installed and the program was built with -g; else the file and the address within it are told. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "coll/ranks.h"
#include "tools/doctor.h"

enum { BUFFERS = 64, LENGTH = 512 };

/* One of a few buffers, in turn. */
static char *buffer(void)
{
    static char buffers[BUFFERS][LENGTH];
    static int next;

    return buffers[next++ % BUFFERS];
}

static __attribute__((format(printf, 1, 2))) const char *say(const char *format, ...)
{
    char *text = buffer();
    va_list args;

    va_start(args, format);
    vsnprintf(text, LENGTH, format, args);
    va_end(args);
    return text;
}

/* ---- ranks ---- */

struct doctor_set doctor_set_make(int size)
{
    return (struct doctor_set){size, calloc((size_t)size + 1, 1)};
}

int doctor_set_count(const struct doctor_set *s)
{
    int n = 0;

    for (int i = 0; s->has && i < s->size; i++)
        n += s->has[i];
    return n;
}

const char *doctor_ranks(const struct doctor_set *s)
{
    const int n = doctor_set_count(s);

    return n == s->size && n > 2 ? say("all %d ranks", n)
                                 : tt_ranks_print(buffer(), LENGTH, s->has, s->has ? s->size : 0, 1);
}

/* ---- figures ---- */

const char *doctor_time(double ns)
{
    const double s = ns / 1e9;

    return s >= 100    ? say("%.0f s", s)
           : s >= 1    ? say("%.3g s", s)
           : s >= 1e-3 ? say("%.3g ms", s * 1e3)
                       : say("%.3g us", s * 1e6);
}

const char *doctor_bytes(int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    int u = 0;

    for (; n >= 1024 && u < 4; u++)
        n /= 1024;
    return u ? say("%.3g %s", n, units[u]) : say("%.0f B", n);
}

/* ---- callers ---- */

static const struct tt_record_module *module_of(const struct record *r, uint64_t address)
{
    for (uint32_t i = 0; i < r->nmodules; i++)
        if (address >= r->modules[i].from && address < r->modules[i].to)
            return &r->modules[i];
    return NULL;
}

bool doctor_same_caller(const struct record *ra, uint64_t a, const struct record *rb, uint64_t b)
{
    const struct tt_record_module *x = module_of(ra, a), *y = module_of(rb, b);

    return x && y && a - x->base == b - y->base && strcmp(x->path, y->path) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "function\nfile:line\n", of addr2line; false if it does not know the line. */
static bool ask_addr2line(const char *path, uint64_t at, char *text, size_t size)
{
    char command[512], function[256] = "", place[512] = "";
    FILE *words;

    if (strchr(path, '\'') || (size_t)snprintf(command, sizeof command, "addr2line -Cfe '%s' 0x%" PRIx64 " 2>/dev/null",
                                               path, at) >= sizeof command)
        return false;
    words = popen(command, "r");
    if (!words)
        return false;
    if (!fgets(function, sizeof function, words) || !fgets(place, sizeof place, words))
        place[0] = '\0';
    pclose(words);
    function[strcspn(function, "\n")] = place[strcspn(place, " \n")] = '\0';
    if (!place[0] || strstr(place, "??") || strstr(place, ":0"))
        return false;
    snprintf(text, size, "%s (%s)", base_name(place), function);
    return true;
}

/* Each address is asked for once; ranks share programs, and so addresses in them. */
static const char *line_of(const char *path, uint64_t at)
{
    static struct known {
        char path[224];
        uint64_t at;
        char text[256];
    } * known;
    static size_t n;
    struct known *more;

    for (size_t i = 0; i < n; i++)
        if (known[i].at == at && strcmp(known[i].path, path) == 0)
            return known[i].text;
    more = realloc(known, (n + 1) * sizeof *known);
    if (!more)
        return "";
    known = more;
    snprintf(known[n].path, sizeof known[n].path, "%s", path);
    known[n].at = at;
    if (!ask_addr2line(path, at - 1, known[n].text, sizeof known[n].text))
        snprintf(known[n].text, sizeof known[n].text, "%.200s+0x%" PRIx64, base_name(path), at);
    return known[n++].text;
}

const char *doctor_caller(const struct doctor_rank *rank, uint64_t caller)
{
    const struct tt_record_module *m = rank->r && caller ? module_of(rank->r, caller) : NULL;

    return m ? say("%s", line_of(m->path, caller - m->base)) : "";
}

/* ---- calls ---- */

static const char *at_line(const struct doctor_rank *rank, uint64_t caller)
{
    const char *text = doctor_caller(rank, caller);

    return *text ? say(" at %s", text) : "";
}

static const char *amount(const struct record *r, const struct tt_record_line *l)
{
    const char *type = record_name(r, l->type), *op = record_name(r, l->op);
    const char *root = l->root >= 0 ? say(" from root %d", l->root) : "";
    const char *with = *op ? say(" %s", op) : "";

    if (strcmp(record_name(r, l->collective), "MPI_Barrier") == 0)
        return "";
    if (l->count < 0)
        return say("%s%s", root, with);
    return say(" of %" PRId64 " %s%s%s", l->count, *type ? type : "elements of a derived type", with, root);
}

/* As the program called it: MPI_Iallreduce, MPI_Allreduce_init. */
static const char *called(const struct record *r, const struct tt_record_line *l)
{
    const char *name = record_name(r, l->collective);

    if (!*name)
        return "a collective";
    if (l->flavour == 1 && strlen(name) > 4)
        return say("MPI_I%c%s", name[4] | 32, name + 5);
    return l->flavour == 2 ? say("%s_init", name) : name;
}

const char *doctor_call(const struct doctor_rank *rank, const struct tt_record_line *l)
{
    return say("%s%s%s", called(rank->r, l), amount(rank->r, l), at_line(rank, l->caller));
}

const char *doctor_call_on(struct doctor_job *job, const struct doctor_rank *rank, const struct tt_record_line *l)
{
    const struct doctor_comm *c = doctor_comm_of(job, rank, l->comm);
    const struct tt_record_comm *e = record_comm(rank->r, l->comm);

    return say("%s%s, call %" PRIu64 " on %s", called(rank->r, l), at_line(rank, l->caller), l->number + 1,
               c                 ? c->name
               : e && e->name[0] ? e->name
                                 : "another communicator");
}

/* ---- where a rank is ---- */

static const char *peer_words(struct doctor_job *job, const struct doctor_rank *rank, const struct tt_record_spot *s)
{
    const struct doctor_comm *c = doctor_comm_of(job, rank, s->comm);
    const char *call = s->awaits[0] ? s->awaits : s->name;
    const char *way = strstr(call, "ecv") || strstr(call, "robe") ? "from" : "to";
    const int world = doctor_peer(job, rank);
    const char *tag = s->tag >= 0 ? say(" with tag %d", s->tag) : "";
    const char *on = c && c->id != job->id ? say(" on %s", c->name) : "";

    if (s->peer == DOCTOR_NOBODY || s->peer == DOCTOR_SOMEBODY)
        return "";
    if (s->peer < 0)
        return say(" %s any rank%s%s", way, tag, on);
    if (world < 0)
        return say(" %s rank %d of its communicator%s", way, s->peer, tag);
    return say(" %s rank %d%s%s%s", way, world,
               doctor_has_finished(&job->ranks[world]) ? " (which is in MPI_Finalize)" : "", tag, on);
}

static const struct tt_record_line *last_line(const struct record *r)
{
    return r->nlines ? &r->lines[r->nlines - 1] : NULL;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When it left the last call of MPI that is known; or MPI_Init. One that does not block was left as soon as it had begun. */
static int64_t left_mpi(const struct record *r)
{
    const struct tt_record_line *last = last_line(r);
    int64_t left = last ? later((int64_t)last->entered, later((int64_t)last->begun, (int64_t)last->left))
                        : record_time_of_ns(r, r->head.aligned_ns);

    for (uint32_t i = 0; i < r->nspots; i++)
        left = later(left, (int64_t)r->spots[i].left);
    return left;
}

/* A loop may have come to the same place before other calls. */
int64_t doctor_since(const struct doctor_rank *rank)
{
    if (rank->inside)
        return (int64_t)rank->inside->entered;
    if (rank->asks)
        return later((int64_t)rank->spot->since, left_mpi(rank->r));
    return rank->spot ? (int64_t)rank->spot->since : left_mpi(rank->r);
}

static const char *in_spot(struct doctor_job *job, const struct doctor_rank *rank, const char *lasting)
{
    const struct tt_record_spot *s = rank->spot;
    const bool looks = strcmp(s->awaits, "probe") == 0;
    const char *call = !rank->asks ? say("MPI_%s", s->name) : looks ? "a loop of MPI_Iprobe" : "a loop of MPI_Test";
    const char *what = s->awaits[0] && !looks ? say(" for MPI_I%s", s->awaits) : "";
    const char *others = s->awaits[0] && s->more ? say(" and %u more", s->more) : "";

    return say("in %s%s%s%s%s%s", call, what, peer_words(job, rank, s), others, at_line(rank, s->caller), lasting);
}

static const char *outside(struct doctor_job *job, const struct doctor_rank *rank, const char *lasting)
{
    const struct tt_record_line *last = last_line(rank->r);
    const char *disk = rank->reads ? " (in a read or write of a file that does not end)" : "";

    if (!last)
        return say("outside MPI%s%s, and has made no collective call", lasting, disk);
    return say("outside MPI%s%s, since %s", lasting, disk, doctor_call_on(job, rank, last));
}

const char *doctor_where(struct doctor_job *job, const struct doctor_rank *rank, bool timed)
{
    const struct record *r = rank->r;
    const char *lasting = "";

    if (!r)
        return "not recorded";
    if (r->head.phase == TT_FINALIZED)
        return "through with MPI_Finalize";
    if (r->head.phase == TT_FINALIZING)
        return "in MPI_Finalize";
    if (timed)
        lasting = say(" for %s", doctor_time((double)(job->now - doctor_since(rank))));
    if (rank->inside)
        return say("in %s%s", doctor_call_on(job, rank, rank->inside), lasting);
    return rank->spot ? in_spot(job, rank, lasting) : outside(job, rank, lasting);
}

/* ---- findings ---- */

struct doctor_finding *doctor_find(struct doctor_job *job, enum doctor_kind kind, const char *what,
                                   const struct doctor_set *blame, const char *call)
{
    struct doctor_finding *more = realloc(job->findings, ((size_t)job->nfindings + 1) * sizeof *more), *f;

    if (!more)
        return NULL;
    job->findings = more;
    f = &more[job->nfindings];
    *f = (struct doctor_finding){.kind = kind, .what = what, .blame = doctor_set_make(job->size)};
    if (!f->blame.has)
        return NULL;
    if (blame)
        memcpy(f->blame.has, blame->has, (size_t)job->size);
    snprintf(f->call, sizeof f->call, "%s", call);
    job->nfindings++;
    return f;
}
