/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that several commands take. What is wrong is named together with what would be right. */
#include "tools/tools.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "coll/sizes.h"

void tool_die(const struct argp_state *state, int status, const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "%s: ", state->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(status);
}

bool tool_reduces(enum tt_coll coll)
{
    return tt_coll_traits(coll) & TT_REDUCES;
}

bool tool_rooted(enum tt_coll coll)
{
    return tt_coll_traits(coll) & TT_ROOTED;
}

bool tool_in_blocks(enum tt_coll coll)
{
    return tt_coll_traits(coll) & (TT_SEND_BLOCKS | TT_RECV_BLOCKS);
}

void tool_print_colls(FILE *out)
{
    for (int c = 0; c < TT_NCOLLS; c++)
        fprintf(out, "%s%s", c ? ", " : "", tt_coll_name((enum tt_coll)c));
}

void tool_print_algs(FILE *out, enum tt_coll coll)
{
    const char *comma = "";

    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], coll)) {
            fprintf(out, "%s%s", comma, tt_algs[i]->name);
            comma = ", ";
        }
}

enum tt_coll tool_coll(const struct argp_state *state, const char *name)
{
    const enum tt_coll coll = name ? tt_coll_find(name, strlen(name)) : TT_NCOLLS;

    if (coll < TT_NCOLLS)
        return coll;
    if (name)
        fprintf(stderr, "%s: there is no collective \"%s\"; there are: ", state->name, name);
    else
        fprintf(stderr, "%s: say which collective; there are: ", state->name);
    tool_print_colls(stderr);
    fputc('\n', stderr);
    exit(TOOL_USAGE);
}

const struct tt_alg *tool_alg(const struct argp_state *state, enum tt_coll coll, const char *name)
{
    const struct tt_alg *alg = tt_alg_find(coll, name, strlen(name));

    if (alg)
        return alg;
    fprintf(stderr, "%s: there is no algorithm \"%s\" for %s; there are: ", state->name, name, tt_coll_name(coll));
    tool_print_algs(stderr, coll);
    fputc('\n', stderr);
    exit(TOOL_USAGE);
}

int tool_positive(const struct argp_state *state, const char *option, const char *text)
{
    int value;

    if (tt_int_parse(text, &value))
        tool_die(state, TOOL_USAGE, "%s wants a positive number, not \"%s\"", option, text);
    return value;
}

int tool_natural(const struct argp_state *state, const char *option, const char *text)
{
    int value = 0;

    if (strcmp(text, "0") && tt_int_parse(text, &value))
        tool_die(state, TOOL_USAGE, "%s wants a number from 0 up, not \"%s\"", option, text);
    return value;
}

int64_t tool_size(const struct argp_state *state, const char *option, const char *text)
{
    int64_t bytes;

    if (tt_size_parse(text, &bytes))
        tool_die(state, TOOL_USAGE, "%s wants a size such as 4096, 64K or 4MB, not \"%s\"", option, text);
    return bytes;
}

void tool_check_root(const struct argp_state *state, const struct tt_shape *s)
{
    if (s->root != 0 && !tool_rooted(s->coll))
        tool_die(state, TOOL_USAGE, "%s has no root", tt_coll_name(s->coll));
    if (s->root >= s->size)
        tool_die(state, TOOL_USAGE, "root %d is not among %d ranks, 0 to %d", s->root, s->size, s->size - 1);
}
