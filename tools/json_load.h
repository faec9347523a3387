/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that `tutti` and the library wrote, read again. */
#ifndef TT_JSON_LOAD_H
#define TT_JSON_LOAD_H

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* What is in a file, for json_decref; NULL with why: which line is wrong, or why there is nothing to be read. */
static inline json_t *tool_json_load(const char *file, char *why, size_t size)
{
    json_error_t error;
    json_t *all = json_load_file(file, 0, &error);

    if (!all && error.line < 1)
        snprintf(why, size, "%s cannot be read: %s", file, strerror(errno));
    else if (!all)
        snprintf(why, size, "%s:%d: %s", file, error.line, error.text);
    return all;
}

#endif
