/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment, read once at MPI_Init. Strict, because a setting that is silently ignored is worse than an
 * error: an unknown value is refused with the list of what is known, and a TUTTI_ variable that nobody reads is
 * pointed out. */
#include "coll/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/hash.h"
#include "coll/plan.h"
#include "coll/sizes.h"

extern char **environ;

enum { SHARED = 1, START = 2 };

struct row {
    const char *name, *def, *values;
    int traits;
    size_t offset;
};

static const struct row rows[] = {
#define TT_CONFIG(id, name, def, values, traits, help) {name, def, values, traits, offsetof(struct tt_config, id)},
#include "coll/config.def"
#undef TT_CONFIG
};
enum { NROWS = sizeof rows / sizeof *rows };

/* Read by others than the library: the simulated device, and the tests. */
static const char *const prefixes_of_others[] = {"TUTTI_SIM_", "TUTTI_TEST_"};
enum { NOTHERS = sizeof prefixes_of_others / sizeof *prefixes_of_others };

unsigned tt_config_generation;
struct tt_config tt_config = {
    .enabled = 1,
    .log = TT_WARN,
    .chunk = 1 << 20,
};

/* A variable's value; an empty one says nothing, as an unset one does. */
static const char *setting(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* The place of value among words "a|b|c", or -1. A last word "file" is any other. */
static int64_t word_find(const char *words, const char *value)
{
    const size_t length = strlen(value);

    for (int i = 0;; i++) {
        const size_t n = strcspn(words, "|");

        if (n == length && memcmp(words, value, n) == 0)
            return i;
        if (!words[n])
            return n == 4 && i > 0 && memcmp(words, "file", n) == 0 ? i : -1;
        words += n + 1;
    }
}

/* Two ranks may name different files, as long as the same is in them. */
static int hash_file(const char *name, const char *file, int64_t *out, char *why, size_t size)
{
    FILE *in = fopen(file, "r");
    uint64_t h = TT_HASH_OF_NOTHING;
    char part[4096];
    size_t n;

    while (in && (n = fread(part, 1, sizeof part, in)) > 0)
        h = tt_hash(h, part, n);
    if (!in || ferror(in)) {
        snprintf(why, size, "%s=%s cannot be read: %s", name, file, strerror(errno));
        if (in)
            fclose(in);
        return -1;
    }
    fclose(in);
    *out = (int64_t)h;
    return 0;
}

static int parse_number(const struct row *row, const char *value, int64_t *out, char *why, size_t size)
{
    char *end;

    *out = strtol(value, &end, 10);
    if (isdigit((unsigned char)*value) && !*end && *out >= 1 && *out <= 1000000)
        return 0;
    snprintf(why, size, "%s=%s is not a number from 1 to 1000000", row->name, value);
    return -1;
}

static int row_parse(const struct row *row, const char *value, int64_t *out, char *why, size_t size)
{
    if (strcmp(row->values, "size") == 0) {
        if (strcmp(value, "auto") == 0 && strcmp(row->def, value) == 0)
            return 0; /* the 0 that is there */
        if (tt_size_parse(value, out) == 0 && *out > 0 && *out <= 1 << 30)
            return 0;
        snprintf(why, size, "%s=%s is not a size from 1 to 1G: write it as 65536, 64K or 4MB", row->name, value);
        return -1;
    }
    if (strcmp(row->values, "off|number") == 0)
        return strcmp(value, "off") == 0 ? 0 : parse_number(row, value, out, why, size);
    if (strcmp(row->values, "number") == 0)
        return parse_number(row, value, out, why, size);
    if (strcmp(row->values, "file") == 0)
        return strcmp(value, "none") == 0 ? 0 : hash_file(row->name, value, out, why, size);
    if (strcmp(row->values, "directory") == 0) {
        *out = strcmp(value, "none") != 0;
        return 0;
    }
    *out = word_find(row->values, value);
    if (*out >= 0)
        return 0;
    snprintf(why, size, "%s=%s is not known: it may be %s", row->name, value, row->values);
    return -1;
}

char *tt_config_pin_name(enum tt_coll coll, char *name, size_t size)
{
    snprintf(name, size, "TUTTI_%s", tt_coll_name(coll));
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return name;
}

static int pin_load(struct tt_config *config, enum tt_coll coll, char *why, size_t size)
{
    char name[64];
    const char *value = setting(tt_config_pin_name(coll, name, sizeof name));

    if (value)
        config->pin[coll] = tt_pin_parse(name, coll, value, why, size);
    return value && !config->pin[coll] ? -1 : 0;
}

/* What ranks compare of it is what it decides, not how it is written. */
static int rules_load(struct tt_config *config, char *why, size_t size)
{
    const char *file = setting("TUTTI_RULES");
    const int used = snprintf(why, size, "TUTTI_RULES: ");

    if (!config->rules || !file)
        return 0;
    config->read = tt_rules_read(file, why + used, size - (size_t)used);
    config->rules = (int64_t)tt_rules_hash(config->read);
    return config->read ? 0 : -1;
}

static void give_up(struct tt_config *config)
{
    tt_rules_free(config->read);
    for (int c = 0; c < TT_NCOLLS; c++)
        tt_rules_free(config->pin[c]);
}

static bool variable_known(const char *name, size_t length)
{
    char pin[64];

    for (int i = 0; i < NOTHERS; i++)
        if (strncmp(name, prefixes_of_others[i], strlen(prefixes_of_others[i])) == 0)
            return true;
    for (int i = 0; i < NROWS; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return true;
    for (int c = 0; c < TT_NCOLLS; c++)
        if (strlen(tt_config_pin_name((enum tt_coll)c, pin, sizeof pin)) == length && memcmp(pin, name, length) == 0)
            return true;
    return false;
}

bool tt_config_known(const char *name)
{
    return variable_known(name, strlen(name));
}

bool tt_config_is_for_start(const char *name)
{
    for (int i = 0; i < NROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].traits & START;
    return false;
}

void tt_config_point_out_unknown(void)
{
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "TUTTI_", 6) == 0 && !variable_known(*e, strcspn(*e, "=")))
            tt_log(TT_WARN, "%.*s is set but nothing reads it: see `tutti info` for the names", (int)strcspn(*e, "="),
                   *e);
}

void tt_config_point_out_idle(const char *why)
{
    for (int i = 0; i < NROWS; i++)
        if (rows[i].traits & START && setting(rows[i].name))
            tt_log(TT_WARN, "%s has no effect: %s", rows[i].name, why);
}

/* TUTTI, the first row, turns everything off, what is wrong with the others included. */
static int load(struct tt_config *config, char *why, size_t size)
{
    for (int i = 0; i < NROWS; i++) {
        const char *value = i == 0 || config->enabled ? setting(rows[i].name) : NULL;

        if (row_parse(&rows[i], value ? value : rows[i].def, (int64_t *)((char *)config + rows[i].offset), why, size))
            return -1;
    }
    if (!config->enabled)
        return 0;
    for (int c = 0; c < TT_NCOLLS; c++)
        if (pin_load(config, (enum tt_coll)c, why, size))
            return -1;
    return rules_load(config, why, size);
}

int tt_config_load(char *why, size_t size)
{
    struct tt_config config = {0};

    if (load(&config, why, size)) {
        give_up(&config);
        return -1;
    }
    give_up(&tt_config);
    tt_config = config;
    tt_config_generation++;
    return 0;
}

int tt_config_shared(uint64_t *hashes, int max)
{
    int n = 0;

    for (int i = 0; i < NROWS && n < max; i++)
        if (rows[i].traits & SHARED)
            hashes[n++] = (uint64_t) * (const int64_t *)((const char *)&tt_config + rows[i].offset);
    for (int c = 0; c < TT_NCOLLS && n < max; c++)
        hashes[n++] = tt_rules_hash(tt_config.pin[c]);
    return n;
}

static const struct row *shared_row(int i)
{
    for (int r = 0; r < NROWS; r++)
        if (rows[r].traits & SHARED && i-- == 0)
            return &rows[r];
    return NULL;
}

const char *tt_config_shared_name(int i)
{
    static char pin[64];
    const struct row *row = shared_row(i);
    int shared = 0;

    if (row)
        return row->name;
    while (shared_row(shared))
        shared++;
    return tt_config_pin_name((enum tt_coll)(i - shared), pin, sizeof pin);
}

char *tt_config_shared_value(int i, char *text, size_t size)
{
    const struct row *row = shared_row(i);
    const char *value = setting(tt_config_shared_name(i));

    if (!value)
        snprintf(text, size, "the default, %s", row ? row->def : "none");
    else if (row && strcmp(row->values, "file") == 0)
        snprintf(text, size, "%s, whose contents sum up to %016" PRIx64, value,
                 (uint64_t) * (const int64_t *)((const char *)&tt_config + row->offset));
    else
        snprintf(text, size, "%s", value);
    return text;
}

void tt_log(enum tt_log_level level, const char *format, ...)
{
    static const char *const names[] = {"error: ", "warning: ", "", ""};
    char line[1024];
    va_list args;

    if ((int64_t)level > tt_config.log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "tutti: %s%s\n", names[level], line);
}
