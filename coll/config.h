/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration: what the environment says, parsed once, strictly. */
#ifndef TT_CONFIG_H
#define TT_CONFIG_H

#include "selector/rules.h"

/* One field per row of config.def: a size in bytes, the hash of a file's contents, or the place of the word
 * among the row's values. */
struct tt_config {
#define TT_CONFIG(id, name, def, values, traits, help) int64_t id;
#include "coll/config.def"
#undef TT_CONFIG
    struct tt_rules *pin[TT_NCOLLS]; /* TUTTI_<COLLECTIVE>; NULL where not set */
    struct tt_rules *read;           /* TUTTI_RULES; NULL: none */
};

enum tt_log_level { TT_SILENT = -1, TT_ERROR, TT_WARN, TT_INFO, TT_DEBUG };

extern struct tt_config tt_config;

/* Counts the changes of tt_config: what was decided before one is decided anew after it. */
extern unsigned tt_config_generation;

/* Reads the environment into tt_config. Returns 0, or -1 with why (of size bytes) filled: which variable, what it
 * said, what it may say. On error tt_config is unchanged: nothing is half-loaded. */
int tt_config_load(char *why, size_t size);

/* "TUTTI_ALLREDUCE" for TT_COLL_allreduce, into name. Returns it. */
char *tt_config_pin_name(enum tt_coll coll, char *name, size_t size);

/* Is there a variable of this name? */
bool tt_config_known(const char *name);

/* Is it one that is read in MPI_Init and never again? */
bool tt_config_is_for_start(const char *name);

/* Warns of each TUTTI_ variable in the environment that nobody reads. */
void tt_config_point_out_unknown(void);

/* Warns of each that is set and read in MPI_Init alone, which has not been: why. */
void tt_config_point_out_idle(const char *why);

/* A hash of each setting that all ranks must share, for comparing; tt_config_shared_name(i) names the i-th. */
int tt_config_shared(uint64_t *hashes, int max);
const char *tt_config_shared_name(int i);

/* What the i-th is here, in words: "ring", "the default, 1M", "rules.txt (what is in it has the sum 1f3a)". */
char *tt_config_shared_value(int i, char *text, size_t size);

/* Says a line on standard error, "tutti: ...", if TUTTI_LOG lets this level through. */
void tt_log(enum tt_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
