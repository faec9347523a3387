/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON files that people write, read by tables of fields: what may be there, what must be, and what an error names are
 * one list. An error says file, line, which field, what is wrong and what may be there. Apart from the core, because it
 * needs jansson, which the library that goes into programs must not. */
#ifndef TT_JSON_FILE_H
#define TT_JSON_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { TT_MAX_WORDS = 512 };

struct tt_json_file {
    const char *name;
    char *text;
    json_t *root;
    char *why; /* what is wrong, in so many bytes */
    size_t size;
};

/* One key of an object: how its value is read, where to, and whether it must be there. */
struct tt_field {
    const char *key;
    bool (*read)(struct tt_json_file *f, const json_t *value, const char *path, void *to, const struct tt_field *field);
    size_t at;
    bool optional;
    int least, most;               /* of a whole number; of words, the most letters */
    const struct tt_field *inside; /* of an object, or of each element of a list: ends with a NULL key */
    const char *const *names;      /* of a choice: ends with NULL */
};

/* Opens and reads a file; a bare name is that of one that came with Tutti in `folder` ("topologies"), unless a file
 * here is called so. f->why is filled if it is false. To be closed in any case. */
bool tt_json_open(struct tt_json_file *f, const char *name, const char *folder, char *why, size_t size);
void tt_json_close(struct tt_json_file *f);

/* Fills why: "m.json:3: layers: ...", path being the field's. Returns false. */
bool tt_json_wrong(struct tt_json_file *f, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What is there instead, for an error: a string with its quotes, "a list", "7". words: TT_MAX_WORDS. */
const char *tt_json_seen(const json_t *value, char *words);

/* ---- how values are read: `read` of a field ---- */
bool tt_json_whole(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                   const struct tt_field *field);
bool tt_json_number(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                    const struct tt_field *field); /* a double, more than 0 */
bool tt_json_flag(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                  const struct tt_field *field);
bool tt_json_words(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                   const struct tt_field *field);
bool tt_json_time(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                  const struct tt_field *field);

/* Files say bytes per second, formulas want seconds per byte. */
bool tt_json_rate(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                  const struct tt_field *field);

/* One of field->names: an int, which of them. */
bool tt_json_choice(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                    const struct tt_field *field);

/* An object of the fields field->inside. */
bool tt_json_object(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                    const struct tt_field *field);

#endif
