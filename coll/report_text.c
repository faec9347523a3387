/* SPDX-License-Identifier: BSD-3-Clause */
/* A report in words, and for machines. Both are written here so that programs need no library for JSON. */
#include <ctype.h>
#include <locale.h>

#include "coll/plan.h"
#include "coll/report_sums.h"
#include "coll/sizes.h"
#include "selector/bus.h"

static const char *const words[TT_NPARTS] = {
#define TT_PART(id, words, help) words,
#include "coll/report.def"
#undef TT_PART
};
static const char *const ids[TT_NPARTS] = {
#define TT_PART(id, words, help) #id,
#include "coll/report.def"
#undef TT_PART
};

/* More than the mean by this much is worth a word. */
static const double slow = 1.05, uneven = 1.2;

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- what follows from sums ---- */

/* Seconds in which data could move, hidden or not. */
static double moving(const struct tt_sums *s)
{
    return s->exposed + s->overlapped;
}

static double algbw(const struct tt_sums *s)
{
    return moving(s) > 0 ? s->moved / moving(s) : 0;
}

static double busbw(const struct tt_report *r, int coll, const struct tt_sums *s)
{
    return algbw(s) * tt_bus_factor((enum tt_coll)coll, r->ranks);
}

/* How near a class came to what the model thinks possible. */
static double of_bound(const struct tt_sums *s)
{
    return percent(s->bound, moving(s));
}

static double unevenness(const struct tt_report *r, int coll, int size)
{
    const double mean = r->sums[coll][size].moved / r->ranks;

    return mean > 0 ? r->most[coll][size].moved / mean : 1;
}

/* The rank with the most of what all ranks would have as much of, were they alike. */
static int slowest(const struct tt_report *r)
{
    int most = 0;

    for (int i = 1; i < r->ranks; i++)
        if (r->rank[i].part[TT_PART_compute] > r->rank[most].part[TT_PART_compute])
            most = i;
    return most;
}

/* ---- for people ---- */

static void print_sentence(FILE *out, const struct tt_report *r, const struct tt_rank_sums *mean)
{
    char hidden[32];

    fprintf(out, "per %s: ", r->gpus ? "GPU" : "rank");
    for (int p = 0; p < TT_NPARTS; p++)
        fprintf(out, "%s%s %.0f %%", p ? ", " : "", words[p], percent(mean->part[p], mean->seconds));
    if (mean->overlapped > 0)
        fprintf(out, "; %s of communication under compute", tt_time_print(hidden, sizeof hidden, mean->overlapped));
    fputs(".\n", out);
}

static void print_slowest(FILE *out, const struct tt_report *r, const struct tt_rank_sums *mean)
{
    const int rank = slowest(r);
    const double most = r->rank[rank].part[TT_PART_compute], usual = mean->part[TT_PART_compute];
    char a[32], b[32];

    if (r->ranks > 1 && usual > 0 && most > slow * usual)
        fprintf(out, "Slowest: rank %d on %s computes for %s, %.0f %% longer than the mean of %s.\n", rank,
                r->rank[rank].host, tt_time_print(a, sizeof a, most), percent(most - usual, usual),
                tt_time_print(b, sizeof b, usual));
}

static char *rate(char *text, size_t size, double bytes_per_second)
{
    if (bytes_per_second > 0)
        return tt_rate_print(text, size, bytes_per_second);
    snprintf(text, size, "-");
    return text;
}

static char *part(char *text, size_t size, const struct tt_report *r, double seconds)
{
    return tt_time_print(text, size, seconds / r->ranks);
}

static void print_row(FILE *out, const struct tt_report *r, int coll, int size)
{
    const struct tt_sums *s = &r->sums[coll][size];
    const double time = s->imbalance + s->exposed + s->setup;
    char t[9][32], bound[16] = "-";

    if (s->bound > 0 && moving(s) > 0)
        snprintf(bound, sizeof bound, "%.0f %%", of_bound(s));
    fprintf(out, "%-20s %-9s %9.0f %9s %9s %9s %9s %9s %9s %11s %11s %7s\n", tt_coll_name((enum tt_coll)coll),
            tt_size_class_print(t[0], sizeof t[0], size), s->calls / r->ranks,
            tt_size_print(t[1], sizeof t[1], (int64_t)(s->bytes / r->ranks)), part(t[2], sizeof t[2], r, time),
            part(t[3], sizeof t[3], r, s->imbalance), part(t[4], sizeof t[4], r, s->exposed),
            part(t[5], sizeof t[5], r, s->overlapped), part(t[6], sizeof t[6], r, s->setup),
            rate(t[7], sizeof t[7], algbw(s)), rate(t[8], sizeof t[8], busbw(r, coll, s)), bound);
}

static void print_table(FILE *out, const struct tt_report *r)
{
    fprintf(out, "\n%-20s %-9s %9s %9s %9s %9s %9s %9s %9s %11s %11s %7s\n", "a rank's mean", "size", "calls", "bytes",
            "time", "imbalance", "exposed", "overlap", "set-up", "algbw", "busbw", "model");
    for (int c = 0; c < TT_NCOLLS; c++)
        for (int z = 0; z < TT_NSIZES; z++)
            if (r->sums[c][z].calls > 0)
                print_row(out, r, c, z);
}

static void print_unevenness(FILE *out, const struct tt_report *r)
{
    char size[32];

    for (int c = 0; c < TT_NCOLLS; c++)
        for (int z = 0; z < TT_NSIZES; z++)
            if (unevenness(r, c, z) > uneven)
                fprintf(out, "Uneven: in %s of %s one rank moves %.1f times as much as the mean.\n",
                        tt_coll_name((enum tt_coll)c), tt_size_class_print(size, sizeof size, z), unevenness(r, c, z));
}

void tt_report_print(FILE *out, const struct tt_report *r)
{
    const struct tt_rank_sums mean = tt_report_mean(r);
    char time[32], error[32];

    fprintf(out, "tutti: report of %d rank%s, %s from MPI_Init to MPI_Finalize%s\n", r->ranks, r->ranks == 1 ? "" : "s",
            tt_time_print(time, sizeof time, mean.seconds), r->simulated ? "; SIMULATED GPUs: no GPU's times" : "");
    print_sentence(out, r, &mean);
    print_slowest(out, r, &mean);
    print_table(out, r);
    print_unevenness(out, r);
    if (!r->aligned)
        fputs(
            "Arrivals were not compared, since TUTTI_CHECK=1 has the ranks meet before: imbalance counts as exposed.\n",
            out);
    else if (r->clock_error > 0)
        fprintf(out, "Clocks of nodes are known to within %s.\n", tt_time_print(error, sizeof error, r->clock_error));
}

/* ---- for machines ---- */

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text == '"' || *text == '\\' || iscntrl((unsigned char)*text))
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    fputc('"', out);
}

static void write_parts(FILE *out, const struct tt_rank_sums *s)
{
    for (int p = 0; p < TT_NPARTS; p++)
        fprintf(out, "%s\"%s_s\": %.9g", p ? ", " : "", ids[p], s->part[p]);
    fprintf(out, ", \"overlapped_s\": %.9g", s->overlapped);
}

static void write_row(FILE *out, const struct tt_report *r, int coll, int size)
{
    const struct tt_sums *s = &r->sums[coll][size];
    const double n = r->ranks;
    char range[32];

    fprintf(out, "    {\"collective\": \"%s\", \"size\": \"%s\", \"calls\": %.9g, \"bytes\": %.17g,\n",
            tt_coll_name((enum tt_coll)coll), tt_size_class_print(range, sizeof range, size), s->calls / n,
            s->bytes / n);
    fprintf(out, "     \"imbalance_s\": %.9g, \"exposed_s\": %.9g, \"overlapped_s\": %.9g, \"setup_s\": %.9g,\n",
            s->imbalance / n, s->exposed / n, s->overlapped / n, s->setup / n);
    fprintf(out, "     \"algbw_GBs\": %.9g, \"busbw_GBs\": %.9g, \"bound_s\": %.9g, \"most_over_mean\": %.4g}",
            algbw(s) * 1e-9, busbw(r, coll, s) * 1e-9, s->bound / n, unevenness(r, coll, size));
}

static void write_rows(FILE *out, const struct tt_report *r)
{
    const char *between = "";

    for (int c = 0; c < TT_NCOLLS; c++)
        for (int z = 0; z < TT_NSIZES; z++)
            if (r->sums[c][z].calls > 0) {
                fputs(between, out);
                write_row(out, r, c, z);
                between = ",\n";
            }
}

static void write_ranks(FILE *out, const struct tt_report *r)
{
    for (int i = 0; i < r->ranks; i++) {
        fprintf(out, "%s    {\"rank\": %d, \"host\": ", i ? ",\n" : "", i);
        write_text(out, r->rank[i].host);
        fprintf(out, ", \"seconds\": %.9g, ", r->rank[i].seconds);
        write_parts(out, &r->rank[i]);
        fputc('}', out);
    }
}

/* In the program's locale a number may have a comma. */
void tt_report_write(FILE *out, const struct tt_report *r)
{
    const struct tt_rank_sums mean = tt_report_mean(r);
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), theirs = uselocale(plain);

    fprintf(out, "{\"tutti\": \"report\", \"version\": 1, \"ranks\": %d, \"gpus\": %s, \"simulated\": %s,\n", r->ranks,
            r->gpus ? "true" : "false", r->simulated ? "true" : "false");
    fprintf(out, " \"seconds\": %.9g, \"calls_per_rank\": %.9g, \"arrivals_compared\": %s, \"clock_error_s\": %.9g,\n",
            mean.seconds, mean.calls, r->aligned ? "true" : "false", r->clock_error);
    fputs(" \"time\": {", out);
    write_parts(out, &mean);
    fputs("},\n \"calls\": [\n", out);
    write_rows(out, r);
    fputs("\n ],\n \"per_rank\": [\n", out);
    write_ranks(out, r);
    fputs("\n ]}\n", out);
    uselocale(theirs);
    if (plain)
        freelocale(plain);
}
