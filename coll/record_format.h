/* SPDX-License-Identifier: BSD-3-Clause */
/* How a record file is laid out. In front the prefix, which says where its sections are, and where the schema: text, a
 * line for each field, "section name type offset". Sections are arrays of structs made from record.def; the last is
 * the ring of collectives. Numbers are of the writer's byte order, which is little-endian on all machines this runs on.
 * Who reads looks fields up by name (tools/record_read.c), so that versions need not be the same. */
#ifndef TT_RECORD_FORMAT_H
#define TT_RECORD_FORMAT_H

#include <stdint.h>

#define TT_RECORD_MAGIC "TUTTIREC"
#define TT_RECORD_SUFFIX ".tutti"

enum { TT_RECORD_FORMAT = 1, TT_RECORD_SECTIONS = 8 };

struct tt_record_section {
    char name[16];
    uint64_t at;
    uint32_t stride, count;
};

struct tt_record_prefix {
    char magic[8];
    uint32_t format; /* of this struct, and of the schema's text */
    uint32_t sections;
    uint64_t schema_at;
    uint32_t schema_bytes;
    uint32_t unused;
    struct tt_record_section section[TT_RECORD_SECTIONS];
};

#define TT_RECORD_u64(name) uint64_t name;
#define TT_RECORD_i64(name) int64_t name;
#define TT_RECORD_u32(name) uint32_t name;
#define TT_RECORD_i32(name) int32_t name;
#define TT_RECORD_u16(name) uint16_t name;
#define TT_RECORD_u8(name) uint8_t name;
#define TT_RECORD_text16(name) char name[16];
#define TT_RECORD_text24(name) char name[24];
#define TT_RECORD_text32(name) char name[32];
#define TT_RECORD_text40(name) char name[40];
#define TT_RECORD_text64(name) char name[64];
#define TT_RECORD_text128(name) char name[128];
#define TT_RECORD_text220(name) char name[220];
#define TT_RECORD_text224(name) char name[224];

struct tt_record_head {
#define TT_HEAD(type, name, meaning) TT_RECORD_##type(name)
#include "coll/record.def"
};

struct tt_record_comm {
#define TT_COMM(type, name, meaning) TT_RECORD_##type(name)
#include "coll/record.def"
};

struct tt_record_module {
#define TT_MODULE(type, name, meaning) TT_RECORD_##type(name)
#include "coll/record.def"
};

struct tt_record_name {
#define TT_NAME(type, name, meaning) TT_RECORD_##type(name)
#include "coll/record.def"
};

struct tt_record_fault {
#define TT_FAULT(type, name, meaning) TT_RECORD_##type(name)
#include "coll/record.def"
};

struct tt_record_spot {
#define TT_SPOT(type, name, meaning) TT_RECORD_##type(name)
#include "coll/record.def"
};

struct tt_record_line {
#define TT_LINE(type, name, meaning) TT_RECORD_##type(name)
#include "coll/record.def"
};

/* One field of a section's struct. */
struct tt_record_field {
    const char *section, *name, *type;
    uint32_t at, size;
};

/* All fields, of all sections; the last has no section. */
extern const struct tt_record_field tt_record_fields[];

/* The sections: how many entries a writer of this version has of each. The last has no name. */
struct tt_record_kind {
    const char *name;
    uint32_t stride, count;
};
extern const struct tt_record_kind tt_record_kinds[];

enum tt_record_kind_id {
    TT_RECORD_HEAD,
    TT_RECORD_COMM,
    TT_RECORD_MODULE,
    TT_RECORD_NAME,
    TT_RECORD_FAULT,
    TT_RECORD_SPOT,
    TT_RECORD_LINE,
    TT_RECORD_NKINDS
};

/* How many entries: powers of two where one is found by a serial modulo that, on every call. 4,096 calls take half a
 * megabyte. */
enum {
    TT_RECORD_COMMS = 512,
    TT_RECORD_MODULES = 64,
    TT_RECORD_NAMES = 256,
    TT_RECORD_FAULTS = 16,
    TT_RECORD_SPOTS = 8,
    TT_RECORD_LINES = 4096
};
enum { TT_NO_GPU = 255 };

enum tt_record_phase { TT_RUNNING, TT_FINALIZING, TT_FINALIZED, TT_GONE };

#endif
