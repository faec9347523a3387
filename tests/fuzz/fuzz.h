/* SPDX-License-Identifier: BSD-3-Clause */
/* A target: a parser fed with anything, and what must hold whatever that was. The entry is libFuzzer's, so that `make
 * fuzz` can hand it to clang; without clang tests/fuzz/loop.c feeds it, in `make check`. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What inputs are made from: whole ones, and words to put in. Each ends with NULL. */
extern const char *const fuzz_seeds[];
extern const char *const fuzz_words[];

/* Ends the process, saying what does not hold, unless ok. */
void fuzz_check(int ok, const char *what);

/* The text as a string of its own size, so that whoever reads beyond its end is found out; freed by the caller. */
char *fuzz_string(const uint8_t *data, size_t size);

#endif
