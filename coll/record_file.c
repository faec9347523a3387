/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a record file: the prefix, the schema behind it, then the sections, each at a multiple of 64 bytes. */
#include "coll/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 64 };

static uint64_t rounded(uint64_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

/* Into text, or only its length if that is NULL. */
static size_t write_schema(char *text, size_t size)
{
    size_t length = 0;

    for (const struct tt_record_field *f = tt_record_fields; f->section; f++)
        length += (size_t)snprintf(text ? text + length : NULL, text ? size - length : 0, "%s %s %s %u\n", f->section,
                                   f->name, f->type, f->at);
    return length;
}

/* Fills all but the schema's text. Returns how long the file is. */
static uint64_t lay_out(struct tt_record_prefix *p)
{
    uint64_t at;

    *p = (struct tt_record_prefix){.format = TT_RECORD_FORMAT,
                                   .sections = TT_RECORD_NKINDS,
                                   .schema_at = rounded(sizeof *p),
                                   .schema_bytes = (uint32_t)write_schema(NULL, 0)};
    memcpy(p->magic, TT_RECORD_MAGIC, sizeof p->magic);
    at = rounded(p->schema_at + p->schema_bytes + 1);
    for (int i = 0; i < TT_RECORD_NKINDS; i++) {
        const struct tt_record_kind *k = &tt_record_kinds[i];
        struct tt_record_section *s = &p->section[i];

        memcpy(s->name, k->name, strlen(k->name));
        s->at = at;
        s->stride = k->stride;
        s->count = k->count;
        at = rounded(at + (uint64_t)k->stride * k->count);
    }
    return at;
}

static void *section(char *map, const struct tt_record_prefix *p, enum tt_record_kind_id kind)
{
    return map + p->section[kind].at;
}

static void point(struct tt_record_file *f, char *map, const struct tt_record_prefix *p)
{
    f->head = section(map, p, TT_RECORD_HEAD);
    f->comms = section(map, p, TT_RECORD_COMM);
    f->modules = section(map, p, TT_RECORD_MODULE);
    f->names = section(map, p, TT_RECORD_NAME);
    f->faults = section(map, p, TT_RECORD_FAULT);
    f->spots = section(map, p, TT_RECORD_SPOT);
    f->lines = section(map, p, TT_RECORD_LINE);
}

/* Its room is allocated: a hole in the file would be SIGBUS when the disk is full. */
static char *map_new(const char *path, uint64_t bytes, int *error)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    char *map = MAP_FAILED;

    *error = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)bytes);
    if (!*error) {
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        *error = map == MAP_FAILED ? errno : 0;
    }
    if (fd >= 0)
        close(fd);
    if (*error && fd >= 0)
        unlink(path);
    return map == MAP_FAILED ? NULL : map;
}

int tt_record_make(struct tt_record_file *f, const char *directory, uint64_t job, int rank, char *why, size_t size)
{
    struct tt_record_prefix prefix;
    const uint64_t bytes = lay_out(&prefix);
    char path[4096], *map;
    int error;

    mkdir(directory, 0777);
    snprintf(path, sizeof path, "%s/rank-%d.%016" PRIx64 TT_RECORD_SUFFIX, directory, rank, job);
    map = map_new(path, bytes, &error);
    if (!map) {
        snprintf(why, size, "%s cannot be written: %s", path, strerror(error));
        return -1;
    }
    write_schema(map + prefix.schema_at, prefix.schema_bytes + 1);
    point(f, map, &prefix);
    memcpy(map, &prefix, sizeof prefix);
    return 0;
}

/* ---- code that is loaded ---- */

struct modules {
    struct tt_record_module *at;
    uint32_t n;
};

static int add_module(struct dl_phdr_info *info, size_t size, void *to)
{
    struct modules *m = to;
    const char *name = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    char path[4096];

    (void)size;
    for (int i = 0; i < info->dlpi_phnum && m->n < TT_RECORD_MODULES; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        struct tt_record_module *to_fill = &m->at[m->n];

        if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
            continue;
        to_fill->from = info->dlpi_addr + h->p_vaddr;
        to_fill->to = to_fill->from + h->p_memsz;
        to_fill->base = info->dlpi_addr;
        if (!realpath(name, path))
            snprintf(path, sizeof path, "%s", name);
        snprintf(to_fill->path, sizeof to_fill->path, "%.*s", (int)sizeof to_fill->path - 1, path);
        m->n++;
    }
    return 0;
}

void tt_record_modules(struct tt_record_file *f)
{
    struct modules m = {f->modules, 0};

    dl_iterate_phdr(add_module, &m);
}
