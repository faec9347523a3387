/* SPDX-License-Identifier: BSD-3-Clause */
/* What targets share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

void fuzz_check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "FAIL: %s\n", what);
    abort();
}

char *fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        exit(1);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}
