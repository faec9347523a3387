/* SPDX-License-Identifier: BSD-3-Clause */
/* A file put together field by field, as the table has them: in the writer's order, or in any other. */
#include "tests/record_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 16, SCHEMA = 8192, MS = 1000000 };

static void *room_for(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        abort();
    return p;
}

uint16_t image_name(struct record *r, const char *text, uint16_t kin)
{
    if (r->nnames == MOST_NAMES)
        abort();
    snprintf(r->names[r->nnames].text, sizeof r->names->text, "%s", text);
    r->names[r->nnames].kin = kin;
    return (uint16_t)r->nnames++;
}

struct tt_record_line *image_line(struct record *r)
{
    struct tt_record_line *l = &r->lines[r->nlines++];
    struct tt_record_comm *world = &r->comms[0];

    *l = (struct tt_record_line){.serial = r->nlines,
                                 .number = world->calls++,
                                 .count = 100,
                                 .bytes = 400,
                                 .sent = 400,
                                 .received = 400,
                                 .comm = 1,
                                 .root = -1,
                                 .collective = 1,
                                 .type = 2,
                                 .op = 3,
                                 .gpu = TT_NO_GPU};
    l->entered = (l->number + 1) * MS;
    l->begun = l->entered + 1000;
    l->left = l->entered + MS / 10;
    r->head.written = l->serial;
    return l;
}

struct record *image_rank(int rank, int size, int calls, int left, int room)
{
    struct record *r = room_for(1, sizeof *r);

    r->head =
        (struct tt_record_head){.job = 77, .rank = rank, .size = size, .boot = 1, .host = "nowhere", .program = "app"};
    r->head.early_ticks = 1;
    r->head.early_ns = 1;
    r->head.late_ticks = 1000001;
    r->head.late_ns = 1000001;
    r->comms = room_for(1, sizeof *r->comms);
    r->comms[0] = (struct tt_record_comm){.id = 77, .ordinal = 1, .rank = rank, .size = size, .name = "MPI_COMM_WORLD"};
    r->ncomms = 1;
    r->names = room_for(MOST_NAMES, sizeof *r->names);
    image_name(r, "", 0);
    image_name(r, "MPI_Allreduce", 0);
    image_name(r, "MPI_FLOAT", 1);
    image_name(r, "MPI_SUM", 0);
    r->lines = room_for((size_t)(room > calls ? room : calls), sizeof *r->lines);
    for (int i = 0; i < calls; i++) {
        struct tt_record_line *l = image_line(r);

        l->left = i < left ? l->left : 0;
    }
    r->comms[0].done = (uint64_t)left;
    r->modules = room_for(1, sizeof *r->modules);
    r->faults = room_for(1, sizeof *r->faults);
    r->spots = room_for(1, sizeof *r->spots);
    r->nspots = 1;
    return r;
}

/* ---- the file ---- */

struct part {
    const void *entries;
    uint32_t n;
};

static struct part part_of(const struct record *r, enum tt_record_kind_id kind)
{
    switch (kind) {
    case TT_RECORD_HEAD:
        return (struct part){&r->head, 1};
    case TT_RECORD_COMM:
        return (struct part){r->comms, r->ncomms};
    case TT_RECORD_MODULE:
        return (struct part){r->modules, r->nmodules};
    case TT_RECORD_NAME:
        return (struct part){r->names, r->nnames};
    case TT_RECORD_FAULT:
        return (struct part){r->faults, r->nfaults};
    case TT_RECORD_SPOT:
        return (struct part){r->spots, r->nspots};
    default:
        return (struct part){r->lines, r->nlines};
    }
}

static uint32_t place_of(const struct tt_record_field *f, const struct tt_record_kind *kind, enum image_layout layout)
{
    return layout == IMAGE_AS_NOW ? f->at : kind->stride - f->at - f->size;
}

static size_t put_schema(char *to, enum image_layout layout)
{
    size_t length = 0;

    for (const struct tt_record_field *f = tt_record_fields; f->section; f++)
        for (int k = 0; k < TT_RECORD_NKINDS; k++)
            if (strcmp(tt_record_kinds[k].name, f->section) == 0)
                length += (size_t)snprintf(to + length, SCHEMA - length, "%s %s %s %u\n", f->section, f->name, f->type,
                                           place_of(f, &tt_record_kinds[k], layout));
    return length;
}

static void put_section(char *to, const struct record *r, enum tt_record_kind_id k, enum image_layout layout)
{
    const struct tt_record_kind *kind = &tt_record_kinds[k];
    const struct part part = part_of(r, k);

    for (const struct tt_record_field *f = tt_record_fields; f->section; f++)
        for (uint32_t i = 0; i < part.n && strcmp(f->section, kind->name) == 0; i++)
            memcpy(to + (size_t)i * kind->stride + place_of(f, kind, layout),
                   (const char *)part.entries + (size_t)i * kind->stride + f->at, f->size);
}

char *image_of(const struct record *r, enum image_layout layout, size_t *bytes)
{
    struct tt_record_prefix p = {.format = TT_RECORD_FORMAT, .sections = TT_RECORD_NKINDS, .schema_at = sizeof p};
    char *image;

    memcpy(p.magic, TT_RECORD_MAGIC, sizeof p.magic);
    *bytes = sizeof p + SCHEMA;
    for (int k = 0; k < TT_RECORD_NKINDS; k++) {
        memcpy(p.section[k].name, tt_record_kinds[k].name, strlen(tt_record_kinds[k].name));
        p.section[k].at = *bytes;
        p.section[k].stride = tt_record_kinds[k].stride;
        p.section[k].count = part_of(r, (enum tt_record_kind_id)k).n;
        *bytes += (size_t)p.section[k].stride * p.section[k].count;
    }
    image = room_for(*bytes, 1);
    p.schema_bytes = (uint32_t)put_schema(image + sizeof p, layout);
    memcpy(image, &p, sizeof p);
    for (int k = 0; k < TT_RECORD_NKINDS; k++)
        put_section(image + p.section[k].at, r, (enum tt_record_kind_id)k, layout);
    return image;
}

struct record *image_read(struct record *r, enum image_layout layout)
{
    char why[256];
    size_t bytes;
    char *image = image_of(r, layout, &bytes);
    struct record *read = record_parse(image, bytes, UINT32_MAX, why, sizeof why);

    free(image);
    record_free(r);
    return read;
}
