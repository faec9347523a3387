/* SPDX-License-Identifier: BSD-3-Clause */
/* A file may be cut short, spoilt, in the midst of being written, or of another version of Tutti: whatever of it can be
 * read is used, and what could not be is said. Nothing in it is trusted: sections are looked up by name and have to lie
 * in the file; so are fields, by the schema, and have to lie in their section's struct. */
#include "tools/record_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/ticks.h"

/* Of a job: more is a number that is spoilt. */
enum { MOST_RANKS = 1 << 20 };

struct image {
    const char *at;
    size_t bytes;
    struct tt_record_prefix prefix;
    const char *schema;
    size_t schema_bytes;
};

static __attribute__((format(printf, 2, 3))) void complain(struct record *r, const char *format, ...)
{
    va_list args;

    if (r->amiss[0])
        return;
    va_start(args, format);
    vsnprintf(r->amiss, sizeof r->amiss, format, args);
    va_end(args);
}

/* ---- the schema ---- */

/* Where a field of that name and type is in its section's struct; -1: it is not there. */
static int64_t field_find(const struct image *m, const struct tt_record_field *f)
{
    const char *line = m->schema, *end = m->schema + m->schema_bytes;
    char wanted[128];
    const size_t n = (size_t)snprintf(wanted, sizeof wanted, "%s %s %s ", f->section, f->name, f->type);

    while (line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        int64_t at = 0;

        next = next ? next : end;
        if ((size_t)(next - line) > n && (size_t)(next - line) < n + 10 && memcmp(line, wanted, n) == 0) {
            for (const char *c = line + n; c < next && *c >= '0' && *c <= '9'; c++)
                at = at * 10 + (*c - '0');
            return at;
        }
        line = next + 1;
    }
    return -1;
}

static const struct tt_record_section *section_find(const struct image *m, const char *name)
{
    for (uint32_t i = 0; i < m->prefix.sections && i < TT_RECORD_SECTIONS; i++)
        if (strncmp(m->prefix.section[i].name, name, sizeof m->prefix.section[i].name) == 0)
            return &m->prefix.section[i];
    return NULL;
}

/* How many entries of a section lie in the file. */
static uint32_t entries_in(const struct image *m, const struct tt_record_section *s)
{
    const uint64_t room = s->at <= m->bytes ? m->bytes - s->at : 0;
    const uint64_t fit = s->stride ? room / s->stride : 0;

    return fit < s->count ? (uint32_t)fit : s->count;
}

/* ---- one section into structs of ours ---- */

static void end_texts(char *entries, uint32_t n, const struct tt_record_kind *kind, const struct tt_record_field *f)
{
    const bool is_text = strncmp(f->type, "text", 4) == 0;

    for (uint32_t i = 0; i < n && is_text; i++)
        entries[(size_t)i * kind->stride + f->at + f->size - 1] = '\0';
}

static void copy_field(const struct image *m, const struct tt_record_section *s, const struct tt_record_field *f,
                       uint32_t n, const struct tt_record_kind *kind, char *to, struct record *r)
{
    const int64_t from = field_find(m, f);

    if (from < 0 || (uint64_t)from + f->size > s->stride) {
        complain(r, "it has no field \"%s %s\": another version of Tutti wrote it", f->section, f->name);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * kind->stride + f->at, m->at + s->at + (uint64_t)i * s->stride + (uint64_t)from,
               f->size);
    end_texts(to, n, kind, f);
}

/* Does it lie in the file as it does here? Then thousands of files are read in one copy each. */
static bool lies_alike(const struct image *m, const struct tt_record_section *s, const struct tt_record_kind *kind)
{
    bool alike = s->stride == kind->stride;

    for (const struct tt_record_field *f = tt_record_fields; f->section && alike; f++)
        alike = strcmp(f->section, kind->name) != 0 || field_find(m, f) == f->at;
    return alike;
}

static void copy_whole(const struct image *m, const struct tt_record_section *s, uint32_t n,
                       const struct tt_record_kind *kind, char *to)
{
    memcpy(to, m->at + s->at, (size_t)n * kind->stride);
    for (const struct tt_record_field *f = tt_record_fields; f->section; f++)
        if (strcmp(f->section, kind->name) == 0)
            end_texts(to, n, kind, f);
}

/* All entries that there are; *n: how many. NULL: out of memory. */
static void *copy_section(const struct image *m, const struct tt_record_kind *kind, uint32_t *n, struct record *r)
{
    const struct tt_record_section *s = section_find(m, kind->name);
    char *to;

    *n = s ? entries_in(m, s) : 0;
    if (!s)
        complain(r, "it has no section \"%s\"", kind->name);
    else if (*n < s->count)
        complain(r, "it is cut short: of the section \"%s\" %u of %u entries are there", kind->name, *n, s->count);
    to = calloc((size_t)*n + 1, kind->stride);
    if (to && *n && lies_alike(m, s, kind)) {
        copy_whole(m, s, *n, kind, to);
        return to;
    }
    for (const struct tt_record_field *f = tt_record_fields; to && *n && f->section; f++)
        if (strcmp(f->section, kind->name) == 0)
            copy_field(m, s, f, *n, kind, to, r);
    return to;
}

/* ---- times ---- */

static int64_t whole(double ns)
{
    return ns > -4e18 && ns < 4e18 ? (int64_t)ns : 0;
}

/* The offset moves on evenly from when it was measured first to when it was last. */
int64_t record_time_of_ns(const struct record *r, int64_t ns)
{
    const struct tt_record_head *h = &r->head;
    const double span = (double)h->last_aligned_ns - (double)h->aligned_ns;
    const double part = span > 0 ? ((double)ns - (double)h->aligned_ns) / span : 0;
    const double drift = (double)h->last_offset_ns - (double)h->offset_ns;

    return whole((double)ns + (double)h->offset_ns + (part > 0 ? part : 0) * drift);
}

int64_t record_time(const struct record *r, uint64_t ticks)
{
    const struct tt_record_head *h = &r->head;
    const double apart = (double)h->late_ticks - (double)h->early_ticks;
    const double rate = apart > 0 ? ((double)h->late_ns - (double)h->early_ns) / apart : 1;
    const double since = ticks >= h->late_ticks ? (double)(ticks - h->late_ticks) : -(double)(h->late_ticks - ticks);

    return ticks ? record_time_of_ns(r, whole((double)h->late_ns + since * rate)) : 0;
}

static void convert(const struct record *r, uint64_t *ticks)
{
    const int64_t ns = record_time(r, *ticks);

    *ticks = ns > 0 ? (uint64_t)ns : 0;
}

/* ---- lines ---- */

static int by_serial(const void *a, const void *b)
{
    const uint64_t x = ((const struct tt_record_line *)a)->serial, y = ((const struct tt_record_line *)b)->serial;

    return (x > y) - (x < y);
}

/* In a ring of n the line with serial s is number s - 1 modulo n: another is one that is torn or spoilt. */
static void keep_lines(struct record *r, uint32_t ring, uint32_t most)
{
    uint32_t kept = 0, bad = 0;

    for (uint32_t i = 0; i < r->nlines; i++) {
        const uint64_t serial = r->lines[i].serial;

        if (serial && (serial - 1) % ring == i)
            r->lines[kept++] = r->lines[i];
        else
            bad += serial != 0;
    }
    if (bad)
        complain(r, "%u of its lines are spoilt", bad);
    qsort(r->lines, kept, sizeof *r->lines, by_serial);
    if (kept > most)
        memmove(r->lines, r->lines + (kept - most), (size_t)most * sizeof *r->lines);
    r->nlines = kept < most ? kept : most;
    for (uint32_t i = 0; i < r->nlines; i++) {
        struct tt_record_line *l = &r->lines[i];

        convert(r, &l->entered);
        convert(r, &l->begun);
        convert(r, &l->moved);
        convert(r, &l->left);
    }
}

/* Room of those that are not kept: of thousands of ranks it would be gigabytes. A copy, so that the next file's find
 * the room where it is. */
static void give_back_lines(struct record *r)
{
    const size_t bytes = r->nlines * sizeof *r->lines;
    struct tt_record_line *fewer = malloc(bytes + 1);

    if (!fewer)
        return;
    memcpy(fewer, r->lines, bytes);
    free(r->lines);
    r->lines = fewer;
}

/* Entries that are not there are left out. */
static void keep_others(struct record *r)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->ncomms; i++)
        if (r->comms[i].ordinal)
            r->comms[n++] = r->comms[i];
    r->ncomms = n;
    for (n = 0; n < r->nmodules && r->modules[n].to; n++)
        ;
    r->nmodules = n;
    n = 0;
    for (uint32_t i = 0; i < r->nspots; i++)
        if (r->spots[i].since) {
            r->spots[n] = r->spots[i];
            convert(r, &r->spots[n].since);
            convert(r, &r->spots[n].asked);
            convert(r, &r->spots[n++].left);
        }
    r->nspots = n;
}

/* ---- a file ---- */

static bool open_image(struct image *m, const void *at, size_t bytes, char *why, size_t size)
{
    *m = (struct image){.at = at, .bytes = bytes};
    if (bytes < sizeof m->prefix) {
        snprintf(why, size, "it has %zu bytes, which is less than the beginning of a record file", bytes);
        return false;
    }
    memcpy(&m->prefix, at, sizeof m->prefix);
    if (memcmp(m->prefix.magic, TT_RECORD_MAGIC, sizeof m->prefix.magic)) {
        snprintf(why, size, "it does not begin with %s: it is no record file, or was not finished", TT_RECORD_MAGIC);
        return false;
    }
    if (m->prefix.format != TT_RECORD_FORMAT) {
        snprintf(why, size, "its format is %u, and this Tutti reads %d", m->prefix.format, TT_RECORD_FORMAT);
        return false;
    }
    if (m->prefix.schema_at > bytes || m->prefix.schema_bytes > bytes - m->prefix.schema_at) {
        snprintf(why, size, "it is cut short: what tells of its fields is not there");
        return false;
    }
    m->schema = m->at + m->prefix.schema_at;
    m->schema_bytes = m->prefix.schema_bytes;
    return true;
}

static bool copy_all(struct record *r, const struct image *m)
{
    uint32_t one = 0;
    struct tt_record_head *head = copy_section(m, &tt_record_kinds[TT_RECORD_HEAD], &one, r);

    if (head && one)
        r->head = *head;
    free(head);
    r->comms = copy_section(m, &tt_record_kinds[TT_RECORD_COMM], &r->ncomms, r);
    r->modules = copy_section(m, &tt_record_kinds[TT_RECORD_MODULE], &r->nmodules, r);
    r->names = copy_section(m, &tt_record_kinds[TT_RECORD_NAME], &r->nnames, r);
    r->faults = copy_section(m, &tt_record_kinds[TT_RECORD_FAULT], &r->nfaults, r);
    r->spots = copy_section(m, &tt_record_kinds[TT_RECORD_SPOT], &r->nspots, r);
    r->lines = copy_section(m, &tt_record_kinds[TT_RECORD_LINE], &r->nlines, r);
    return r->comms && r->modules && r->names && r->faults && r->spots && r->lines;
}

struct record *record_parse(const void *image, size_t bytes, uint32_t most, char *why, size_t size)
{
    struct record *r;
    struct image m;

    if (!open_image(&m, image, bytes, why, size))
        return NULL;
    r = calloc(1, sizeof *r);
    if (!r || !copy_all(r, &m)) {
        snprintf(why, size, "out of memory");
        record_free(r);
        return NULL;
    }
    if (r->head.rank < 0 || r->head.size <= r->head.rank || r->head.size > MOST_RANKS) {
        snprintf(why, size, "it says that it is of rank %d of %d, which cannot be", r->head.rank, r->head.size);
        record_free(r);
        return NULL;
    }
    if (r->nlines) {
        keep_lines(r, section_find(&m, tt_record_kinds[TT_RECORD_LINE].name)->count, most);
        give_back_lines(r);
    }
    keep_others(r);
    return r;
}

/* Room for one file at a time: the kernel need not clear it anew for each of thousands. NULL: out of memory. */
static char *room_for(size_t bytes)
{
    static char *room;
    static size_t has;

    if (bytes > has) {
        free(room);
        room = malloc(bytes);
        has = room ? bytes : 0;
    }
    return room;
}

struct record *record_read(const char *path, uint32_t most, char *why, size_t size)
{
    FILE *in = fopen(path, "r");
    struct record *r = NULL;
    char *image;
    long bytes;

    if (!in || fseek(in, 0, SEEK_END) || (bytes = ftell(in)) < 0 || fseek(in, 0, SEEK_SET)) {
        snprintf(why, size, "it cannot be read: %s", strerror(errno));
        if (in)
            fclose(in);
        return NULL;
    }
    image = room_for((size_t)bytes + 1);
    if (image)
        r = record_parse(image, fread(image, 1, (size_t)bytes, in), most, why, size);
    else
        snprintf(why, size, "out of memory");
    fclose(in);
    if (r)
        r->path = strdup(path);
    return r;
}

void record_free(struct record *r)
{
    if (!r)
        return;
    free(r->path);
    free(r->comms);
    free(r->modules);
    free(r->names);
    free(r->faults);
    free(r->spots);
    free(r->lines);
    free(r);
}

/* ---- looking up ---- */

const char *record_name(const struct record *r, uint16_t name)
{
    return name && name < r->nnames ? r->names[name].text : "";
}

const struct tt_record_comm *record_comm(const struct record *r, uint32_t ordinal)
{
    for (uint32_t i = 0; i < r->ncomms && ordinal; i++)
        if (r->comms[i].ordinal == ordinal)
            return &r->comms[i];
    return NULL;
}

const char *record_fault(const struct record *r, uint32_t ordinal)
{
    for (uint32_t i = 0; i < r->nfaults && ordinal; i++)
        if (r->faults[i].ordinal == ordinal)
            return r->faults[i].text;
    return "";
}

/* The last ones are the most likely to be asked for. */
const struct tt_record_line *record_line(const struct record *r, uint32_t comm, uint64_t number)
{
    for (uint32_t i = r->nlines; i-- > 0;)
        if (r->lines[i].comm == comm && r->lines[i].number == number)
            return &r->lines[i];
    return NULL;
}
