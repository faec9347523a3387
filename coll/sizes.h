/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, times and rates as people write them: one parser for the command line, the environment and rules files. */
#ifndef TT_SIZES_H
#define TT_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads "4096", "64K", "1.5MiB", "4MB": K, M, G, T and KiB ... TiB are powers of 1024, KB ... TB powers of 1000, B is
 * one byte; letters of either case. Returns 0 and the bytes, or -1 when text is anything else, is not a whole
 * number of bytes, or does not fit. */
int tt_size_parse(const char *text, int64_t *bytes);

/* Was a size that can be read written in powers of 1000, "64KB"? Then it is printed so. */
bool tt_size_is_decimal(const char *text);

/* bytes in the unit that reads best, to a tenth: "8 B", "64 KiB", "1.5 MiB". Returns text. */
char *tt_size_print(char *text, size_t size, int64_t bytes);

/* The same in powers of 1000: "64 KB", "1.5 MB". */
char *tt_size_print_tens(char *text, size_t size, int64_t bytes);

/* Reads "20us", "1.5ms", "3ns", "2s", or "0", which needs no unit: seconds. Returns 0, or -1 when text is anything
 * else. */
int tt_time_parse(const char *text, double *seconds);

/* Reads a size "/s", or as networks are sold: "25GB/s", "12.5GB/s", "1GiB/s", "400Gbit/s": bytes per second, more than
 * none. A b for bytes is refused, since nobody can tell what is meant. Returns 0 or -1. */
int tt_rate_parse(const char *text, double *bytes_per_second);

/* To three figures, in the unit that reads best: "4.02 ms", "0 s"; to four, in powers of 1000: "12.5 GB/s". Return
 * text. */
char *tt_time_print(char *text, size_t size, double seconds);
char *tt_rate_print(char *text, size_t size, double bytes_per_second);

/* A positive int and nothing else: 0, or -1. */
int tt_int_parse(const char *text, int *value);

#endif
