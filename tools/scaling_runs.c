/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs, from words or reports, and the arithmetic of two of them. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json_load.h"
#include "tools/scaling.h"

/* Total compute that differs by less than this is the same: caches and clocks change it by that much. */
static const double same = 1.25;

/* ---- by hand ---- */

static const char *number(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && isfinite(*value) && *value > 0 ? end : NULL;
}

bool tool_run_parse(const char *word, struct tool_run *run)
{
    double ranks;
    const char *at = number(word, &ranks);

    *run = (struct tool_run){.name = word};
    if (!at || *at != ':' || ranks != floor(ranks) || ranks > 1e9)
        return false;
    run->ranks = (int)ranks;
    at = number(at + 1, &run->rate);
    if (at && *at == ':')
        at = number(at + 1, &run->problem);
    return at && !*at;
}

/* ---- from a report ---- */

static const char *const keys[TOOL_NPARTS] = {
#define TT_PART(id, words, help) #id "_s",
#include "coll/report.def"
#undef TT_PART
};

static const char *read_parts(const json_t *time, struct tool_run *run)
{
    for (int i = 0; i < TOOL_NPARTS; i++) {
        const json_t *value = json_object_get(time, keys[i]);

        if (!json_is_number(value) || !(json_number_value(value) >= 0))
            return "\"time\" lacks a part, or it is no number";
        run->part[i] = json_number_value(value);
    }
    return NULL;
}

/* NULL, or what is wrong. */
static const char *read_report(const json_t *all, struct tool_run *run)
{
    const json_t *kind = json_object_get(all, "tutti"), *ranks = json_object_get(all, "ranks"),
                 *seconds = json_object_get(all, "seconds");

    if (!json_is_string(kind) || strcmp(json_string_value(kind), "report") != 0)
        return "this is no report: TUTTI_REPORT=FILE.json writes one";
    if (json_integer_value(json_object_get(all, "version")) != 1)
        return "a report of another version of Tutti";
    if (!json_is_integer(ranks) || json_integer_value(ranks) < 1 || json_integer_value(ranks) > 1000000000)
        return "\"ranks\" is no positive number";
    if (!json_is_number(seconds) || !(json_number_value(seconds) > 0))
        return "\"seconds\" is no positive number";
    run->ranks = (int)json_integer_value(ranks);
    run->seconds = json_number_value(seconds);
    run->rate = 1 / run->seconds;
    run->calls = json_number_value(json_object_get(all, "calls_per_rank"));
    run->simulated = json_is_true(json_object_get(all, "simulated"));
    return read_parts(json_object_get(all, "time"), run);
}

int tool_run_read(const char *file, struct tool_run *run, char *why, size_t size)
{
    json_t *all = tool_json_load(file, why, size);
    const char *wrong;

    *run = (struct tool_run){.name = file};
    wrong = all ? read_report(all, run) : NULL;
    if (wrong)
        snprintf(why, size, "%s: %s", file, wrong);
    json_decref(all);
    return all && !wrong ? 0 : -1;
}

/* ---- two of them ---- */

static double ratio_of_ranks(const struct tool_run *a, const struct tool_run *b)
{
    return (double)b->ranks / a->ranks;
}

double tool_run_speedup(const struct tool_run *a, const struct tool_run *b)
{
    return b->rate / a->rate;
}

double tool_run_efficiency(const struct tool_run *a, const struct tool_run *b)
{
    return tool_run_speedup(a, b) / ratio_of_ranks(a, b);
}

double tool_run_serial(const struct tool_run *a, const struct tool_run *b)
{
    const double n = ratio_of_ranks(a, b);

    return n > 1 ? (1 / tool_run_speedup(a, b) - 1 / n) / (1 - 1 / n) : 0;
}

static bool is_near(double ratio)
{
    return ratio < same && ratio > 1 / same;
}

/* A problem that was stated is the same only if it is so to the last digit. */
static enum tool_problem judge(double growth, double ranks, bool stated)
{
    if (stated ? growth == 1 : is_near(growth))
        return TOOL_SAME;
    return is_near(growth / ranks) ? TOOL_GREW : TOOL_CHANGED;
}

enum tool_problem tool_run_problem(const struct tool_run *a, const struct tool_run *b)
{
    const double ranks = ratio_of_ranks(a, b);
    const double computed = a->part[TOOL_PART_compute];

    if (a->problem > 0 && b->problem > 0)
        return judge(b->problem / a->problem, ranks, true);
    if (!(a->seconds > 0) || !(b->seconds > 0) || !(computed > 0))
        return TOOL_SAME;
    return judge(ranks * b->part[TOOL_PART_compute] / computed, ranks, false);
}
