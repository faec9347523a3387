/* SPDX-License-Identifier: BSD-3-Clause */
/* Results for machines, and read again. Times are microseconds, bandwidths 10^9 bytes per second, sizes bytes; every
 * object of "results" tells by itself what it is a result of. */
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "tools/bench.h"
#include "tools/json_load.h"

static const double us = 1e6, giga = 1e9;

/* ---- writing ---- */

static json_t *number(double x)
{
    return x > 0 ? json_real(x) : json_null();
}

static json_t *row_of(const struct tool_results *r, const struct tool_row *row)
{
    json_t *all = json_pack("{s:s, s:I, s:s, s:s, s:i, s:s, s:s, s:s}", "collective", tt_coll_name(row->coll), "bytes",
                            (json_int_t)row->bytes, "type", r->type, "op", tool_reduces(row->coll) ? r->op : "none",
                            "ranks", r->ranks, "memory", tool_where_names[r->where], "path", tool_path_names[row->path],
                            "algorithm", row->algorithm);

    json_object_update_new(all, json_pack("{s:f, s:f, s:f, s:o, s:o, s:I}", "median_us", us * row->median, "min_us",
                                          us * row->least, "p99_us", us * row->p99, "algbw_GBs",
                                          number(tool_algbw(r, row) / giga), "busbw_GBs",
                                          number(tool_busbw(r, row) / giga), "wrong", (json_int_t)row->wrong));
    json_object_update_new(all,
                           json_pack("{s:f, s:f, s:f, s:f, s:f, s:i}", "noise_us", us * row->noise, "first_call_us",
                                     us * row->first, "mean_us", us * row->mean, "mean_least_us", us * row->mean_least,
                                     "mean_most_us", us * row->mean_most, "calls", row->calls));
    if (*row->why)
        json_object_set_new(all, "why", json_string(row->why));
    if (row->times > 0)
        json_object_set_new(all, "times_fastest", json_real(row->times));
    if (r->form == TOOL_NONBLOCKING)
        json_object_update_new(all, json_pack("{s:f, s:f, s:f, s:f}", "overall_us", us * row->overall, "compute_us",
                                              us * row->compute, "overlap_percent", tool_overlap(row), "work_percent",
                                              100 * row->kept));
    return all;
}

static json_t *words(const char *text)
{
    return *text ? json_string(text) : json_null();
}

/* "13.0" of 13000. */
static json_t *driver_version(int driver)
{
    return driver ? json_sprintf("%d.%d", driver / 1000, driver % 1000 / 10) : json_null();
}

/* "2.27.3" of 22703. */
static json_t *nccl_version(int nccl)
{
    return nccl ? json_sprintf("%d.%d.%d", nccl / 10000, nccl / 100 % 100, nccl % 100) : json_null();
}

int tool_bench_write(const struct tool_results *r, FILE *out)
{
    json_t *rows = json_array(), *all;
    int error;

    for (int i = 0; i < r->n; i++)
        json_array_append_new(rows, row_of(r, &r->rows[i]));
    all = json_pack(
        "{s:{s:s, s:i, s:i, s:i, s:i, s:o, s:b, s:s, s:s}, s:{s:o, s:s, s:o, s:o}, s:{s:s, s:b, s:i, s:o, s:b}, s:o}",
        "machine", "host", r->host, "nodes", r->nodes, "ranks", r->ranks, "cores", r->cores, "gpus", r->gpus, "gpu",
        words(r->gpu), "simulated", r->simulated, "memory", r->memory_words, "date", r->date, "versions", "tutti",
        words(r->tutti), "mpi", r->mpi, "cuda_driver", driver_version(r->driver), "nccl", nccl_version(r->nccl),
        "settings", "form", tool_form_names[r->form], "in_place", r->inplace, "root", r->root, "skew", words(r->skew),
        "stopped", r->stopped, "results", rows);
    json_object_set_new(json_object_get(all, "machine"), "memory_GBs", number(r->memory_rate / giga));
    error = json_dumpf(all, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(all);
    return error;
}

/* ---- reading ---- */

static int place_in(const char *const *words, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (text && strcmp(words[i], text) == 0)
            return i;
    return -1;
}

static void copy_word(char *to, size_t size, const json_t *from)
{
    snprintf(to, size, "%s", json_string_value(from) ? json_string_value(from) : "");
}

static double seconds(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key)) / us;
}

/* What all rows of a file share is told by each: the first one's counts. NULL, or what is wrong. */
static const char *read_row(struct tool_results *r, const json_t *from)
{
    const char *coll = json_string_value(json_object_get(from, "collective"));
    const int path = place_in(tool_path_names, TOOL_NPATHS, json_string_value(json_object_get(from, "path"))),
              where = place_in(tool_where_names, TOOL_NWHERES, json_string_value(json_object_get(from, "memory")));
    struct tool_row row = {.coll = coll ? tt_coll_find(coll, strlen(coll)) : TT_NCOLLS,
                           .bytes = json_integer_value(json_object_get(from, "bytes")),
                           .calls = (int)json_integer_value(json_object_get(from, "calls")),
                           .wrong = json_integer_value(json_object_get(from, "wrong")),
                           .first = seconds(from, "first_call_us"),
                           .least = seconds(from, "min_us"),
                           .median = seconds(from, "median_us"),
                           .p99 = seconds(from, "p99_us"),
                           .noise = seconds(from, "noise_us"),
                           .mean = seconds(from, "mean_us"),
                           .mean_least = seconds(from, "mean_least_us"),
                           .mean_most = seconds(from, "mean_most_us"),
                           .overall = seconds(from, "overall_us"),
                           .compute = seconds(from, "compute_us"),
                           .times = json_number_value(json_object_get(from, "times_fastest")),
                           .kept = json_number_value(json_object_get(from, "work_percent")) / 100};

    if (row.coll == TT_NCOLLS)
        return "\"collective\" is none of MPI's";
    if (path < 0)
        return "\"path\" may be native, own, nccl or chosen";
    if (where < 0)
        return "\"memory\" may be host, device or managed";
    if (!(row.median > 0) || row.bytes < 0)
        return "\"median_us\" or \"bytes\" is missing, or no positive number";
    row.path = (enum tool_path)path;
    copy_word(row.algorithm, sizeof row.algorithm, json_object_get(from, "algorithm"));
    copy_word(row.why, sizeof row.why, json_object_get(from, "why"));
    if (r->n == 0) {
        r->where = (enum tool_where)where;
        copy_word(r->type, sizeof r->type, json_object_get(from, "type"));
        r->type_is = tool_type_find(r->type);
        r->ranks = (int)json_integer_value(json_object_get(from, "ranks"));
    }
    if (tool_reduces(row.coll))
        copy_word(r->op, sizeof r->op, json_object_get(from, "op"));
    tool_results_add(r, &row);
    return r->type_is == TT_NTYPES ? "\"type\" is not known" : r->ranks < 1 ? "\"ranks\" is no positive number" : NULL;
}

static void read_place(struct tool_results *r, const json_t *all)
{
    const json_t *machine = json_object_get(all, "machine"), *versions = json_object_get(all, "versions"),
                 *settings = json_object_get(all, "settings");
    const int form = place_in(tool_form_names, TOOL_NFORMS, json_string_value(json_object_get(settings, "form")));

    copy_word(r->host, sizeof r->host, json_object_get(machine, "host"));
    copy_word(r->gpu, sizeof r->gpu, json_object_get(machine, "gpu"));
    copy_word(r->memory_words, sizeof r->memory_words, json_object_get(machine, "memory"));
    copy_word(r->date, sizeof r->date, json_object_get(machine, "date"));
    copy_word(r->mpi, sizeof r->mpi, json_object_get(versions, "mpi"));
    copy_word(r->tutti, sizeof r->tutti, json_object_get(versions, "tutti"));
    copy_word(r->skew, sizeof r->skew, json_object_get(settings, "skew"));
    r->nodes = (int)json_integer_value(json_object_get(machine, "nodes"));
    r->cores = (int)json_integer_value(json_object_get(machine, "cores"));
    r->gpus = (int)json_integer_value(json_object_get(machine, "gpus"));
    r->memory_rate = giga * json_number_value(json_object_get(machine, "memory_GBs"));
    r->simulated = json_is_true(json_object_get(machine, "simulated"));
    r->inplace = json_is_true(json_object_get(settings, "in_place"));
    r->stopped = json_is_true(json_object_get(settings, "stopped"));
    r->root = (int)json_integer_value(json_object_get(settings, "root"));
    r->form = form < 0 ? TOOL_BLOCKING : (enum tool_form)form;
}

int tool_bench_read(const char *file, struct tool_results *r, char *why, size_t size)
{
    json_t *all = tool_json_load(file, why, size), *rows = json_object_get(all, "results"), *row;
    const char *wrong = NULL;
    size_t i = 0;

    *r = (struct tool_results){0};
    if (all && (!json_is_array(rows) || json_array_size(rows) == 0)) {
        snprintf(why, size,
                 "%s: there is no list \"results\" with anything in it: is it what tutti bench --json wrote?", file);
    } else if (all) {
        read_place(r, all);
        json_array_foreach(rows, i, row)
        {
            wrong = read_row(r, row);
            if (wrong)
                break;
        }
    }
    if (wrong)
        snprintf(why, size, "%s: result %zu: %s", file, i + 1, wrong);
    if (!all || r->n == 0 || wrong) {
        tool_results_free(r);
        json_decref(all);
        return -1;
    }
    json_decref(all);
    return 0;
}
