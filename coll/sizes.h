/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes as people write them: one parser for the command line, the environment and rules files. */
#ifndef TT_SIZES_H
#define TT_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* Reads "4096", "64K", "1.5MiB", "4MB": K, M, G, T and KiB ... TiB are powers of 1024, KB ... TB powers of 1000, B is
 * one byte; letters of either case. Returns 0 and the bytes, or -1 when text is anything else, is not a whole
 * number of bytes, or does not fit. */
int tt_size_parse(const char *text, int64_t *bytes);

/* bytes in the unit that reads best, to a tenth: "8 B", "64 KiB", "1.5 MiB". Returns text. */
char *tt_size_print(char *text, size_t size, int64_t bytes);

/* A positive int and nothing else: 0, or -1. */
int tt_int_parse(const char *text, int *value);

#endif
