/* SPDX-License-Identifier: BSD-3-Clause */
/* Results as tables: ours, by size, with all paths of a size together; or in the columns of the OSU micro-benchmarks
 * and of nccl-tests, which know one path, so that there is a table for each. */
#include <math.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/bench.h"

static const double us = 1e6, giga = 1e9;

static bool same_path(const struct tool_row *a, const struct tool_row *b)
{
    return a->path == b->path && (a->path != TOOL_OWN || strcmp(a->algorithm, b->algorithm) == 0);
}

/* ---- what stands above ---- */

static void print_place(FILE *out, const struct tool_results *r)
{
    fprintf(out, "# %d ranks on %d node%s (%s%s), %s", r->ranks, r->nodes, r->nodes == 1 ? "" : "s", r->host,
            r->nodes > 1 ? ", ..." : "", r->memory_words);
    if (r->where != TOOL_HOST)
        fprintf(out, " of %s", r->gpu);
    fprintf(out, "; Tutti %s; %s; %s\n", *r->tutti ? r->tutti : "is not there", r->mpi, r->date);
    if (*r->tutti)
        fprintf(out, "# native: the MPI below, %s\n",
                r->where == TOOL_HOST ? "without Tutti between"
                                      : "for which Tutti makes host copies unless it takes GPU memory");
    if (r->simulated)
        fputs("# The GPUs are SIMULATED: results are right, times are no GPU's.\n", out);
    if (r->stopped)
        fputs("# It was ended before all was measured.\n", out);
}

static void print_what(FILE *out, const struct tool_results *r, enum tt_coll coll)
{
    fprintf(out, "# %s%s%s", r->form == TOOL_BLOCKING ? "" : tool_form_names[r->form],
            r->form == TOOL_BLOCKING ? "" : " ", tt_coll_name(coll));
    if (!(tt_coll_traits(coll) & TT_NO_BUFFER))
        fprintf(out, " of %s", r->type);
    if (tool_reduces(coll))
        fprintf(out, ", %s", r->op);
    if (tool_rooted(coll))
        fprintf(out, ", root %d", r->root);
    if (r->inplace)
        fputs(", in place", out);
    if (*r->skew)
        fprintf(out, "; skew %s, which times include", r->skew);
    fputc('\n', out);
}

/* ---- ours ---- */

static void table_head(FILE *out, const struct tool_results *r, enum tt_coll coll)
{
    print_place(out, r);
    print_what(out, r, coll);
    fprintf(out,
            "# us, without the looks at the clock; a call counts with its slowest rank; min and p99 over the calls, "
            "median: of the middle one of five passes; *: the fastest, or as good within the noise\n"
            "# size: of %s; algbw and busbw in GB/s by the median, as nccl-tests counts them; wrong: elements; first "
            "call: with all that it sets up\n",
            tool_in_blocks(coll) ? "a block" : "the vector");
    fprintf(out, "%10s  %-7s%-20s %9s %9s %9s %6s %8s %8s %6s %11s%s\n", "size", "path", "algorithm", "min", "median",
            "p99", "calls", "algbw", "busbw", "wrong", "first call",
            r->form == TOOL_NONBLOCKING ? "  overlap     work" : "");
}

static const struct tool_row *fastest(const struct tool_results *r, int from, int to)
{
    const struct tool_row *best = NULL;

    for (int i = from; i < to; i++)
        if (r->rows[i].path != TOOL_BARE && (!best || r->rows[i].median < best->median))
            best = &r->rows[i];
    return best;
}

/* "-" where a call has none. */
static const char *print_size(char *text, size_t size, const struct tool_row *row)
{
    if (!(tt_coll_traits(row->coll) & TT_NO_BUFFER))
        return tt_size_print(text, size, row->bytes);
    snprintf(text, size, "-");
    return text;
}

static void table_row(FILE *out, const struct tool_results *r, const struct tool_row *row, const struct tool_row *best)
{
    const bool good = best && row->path != TOOL_BARE && row->median - row->noise <= best->median + best->noise;
    char bytes[32];

    print_size(bytes, sizeof bytes, row);
    fprintf(out, "%10s  %-7s%-19s%c %9.2f %9.2f %9.2f %6d %8.3f %8.3f %6lld %11.2f", bytes, tool_path_names[row->path],
            row->algorithm, good ? '*' : ' ', us * row->least, us * row->median, us * row->p99, row->calls,
            tool_algbw(r, row) / giga, tool_busbw(r, row) / giga, (long long)row->wrong, us * row->first);
    if (r->form == TOOL_NONBLOCKING)
        fprintf(out, " %7.1f %% %6.1f %%", tool_overlap(row), 100 * row->kept);
    fputc('\n', out);
}

static void table(FILE *out, const struct tool_results *r, int from, int to)
{
    for (int i = from; i < to;) {
        const int end = tool_end_of_size(r, i);
        const struct tool_row *best = fastest(r, i, end);

        for (; i < end; i++)
            table_row(out, r, &r->rows[i], best);
        fputc('\n', out);
    }
}

/* ---- side by side ---- */

static const struct tool_row *best_of(const struct tool_results *r, int from, int to, enum tool_path path)
{
    const struct tool_row *best = NULL;

    for (int i = from; i < to; i++)
        if (r->rows[i].path == path && (!best || r->rows[i].median < best->median))
            best = &r->rows[i];
    return best;
}

/* "-": there is none. */
static void figure(FILE *out, double value, const char *format)
{
    char text[32] = "-";

    if (value > 0)
        snprintf(text, sizeof text, format, value);
    fprintf(out, " %10s", text);
}

static void side(FILE *out, const struct tool_row *row, bool named)
{
    figure(out, row ? us * row->median : 0, "%.2f");
    if (named)
        fprintf(out, " %-20s", row ? row->algorithm : "");
}

/* How many times the fastest of the others what was chosen takes: pass by pass, or, of results that do not say it, by
 * medians; 0: one of them is not there. */
static double chosen_to_fastest(const struct tool_results *r, int from, int to)
{
    const struct tool_row *chosen = best_of(r, from, to, TOOL_CHOICE);
    double fastest = INFINITY;

    for (int i = from; i < to; i++)
        if (r->rows[i].path == TOOL_NATIVE || r->rows[i].path == TOOL_OWN || r->rows[i].path == TOOL_NCCL)
            fastest = fmin(fastest, r->rows[i].median);
    if (!chosen || isinf(fastest))
        return 0;
    return chosen->times > 0 ? chosen->times : chosen->median / fastest;
}

struct following {
    int n, close;
    double most;
    int64_t at;
};

static const double close_to = 1.10; /* what the same algorithm differs from itself */

static void note_ratio(struct following *f, double ratio, int64_t bytes)
{
    if (ratio == 0)
        return;
    f->n++;
    f->close += ratio <= close_to;
    f->at = ratio > f->most ? bytes : f->at;
    f->most = fmax(f->most, ratio);
}

static void side_line(FILE *out, const struct tool_results *r, int i, int end, struct following *f)
{
    const double ratio = chosen_to_fastest(r, i, end);
    char bytes[32];

    fprintf(out, "%10s", tt_size_print(bytes, sizeof bytes, r->rows[i].bytes));
    side(out, best_of(r, i, end, TOOL_NATIVE), false);
    side(out, best_of(r, i, end, TOOL_OWN), true);
    side(out, best_of(r, i, end, TOOL_NCCL), false);
    side(out, best_of(r, i, end, TOOL_CHOICE), true);
    if (ratio > 0)
        fprintf(out, " %7.2f", ratio);
    fputc('\n', out);
    note_ratio(f, ratio, r->rows[i].bytes);
}

void tool_bench_side_by_side(FILE *out, const struct tool_results *r, int from, int to)
{
    struct following f = {0};
    char bytes[32];

    fprintf(
        out,
        "# %s: medians in us, side by side; times: of the fastest of the others, pass by pass, what was chosen takes\n",
        tt_coll_name(r->rows[from].coll));
    fprintf(out, "%10s %10s %10s %-20s %10s %10s %-20s %7s\n", "size", "native", "best own", "", "nccl", "chosen", "",
            "times");
    for (int i = from, end; i < to; i = end) {
        end = tool_end_of_size(r, i);
        side_line(out, r, i, end, &f);
    }
    if (f.n)
        fprintf(out, "# at most %.2f times the fastest at %d of %d sizes; %.2f times at %s\n", close_to, f.close, f.n,
                f.most, tt_size_print(bytes, sizeof bytes, f.at));
    fputc('\n', out);
}

/* ---- beside bare cores ---- */

/* Up to so many bytes caches may hold them, and memory sets no bound. */
enum { IN_CACHES = 1 << 20 };

/* An allreduce on one node reads the vector of each rank, and writes one for each. */
static double memory_bound(const struct tool_results *r, const struct tool_row *row)
{
    return row->coll == TT_COLL_allreduce && row->bytes >= IN_CACHES && r->memory_rate > 0
               ? 2.0 * r->ranks * (double)row->bytes / r->memory_rate
               : 0;
}

static void bare_line(FILE *out, const struct tool_results *r, int i, int end)
{
    const struct tool_row *bare = best_of(r, i, end, TOOL_BARE), *chosen = best_of(r, i, end, TOOL_CHOICE);
    const double took = chosen ? chosen->median : 0, bound = memory_bound(r, &r->rows[i]);
    char bytes[32];

    if (!bare)
        return;
    fprintf(out, "%10s", print_size(bytes, sizeof bytes, bare));
    figure(out, us * took, "%.2f");
    figure(out, us * bare->median, "%.2f");
    figure(out, bare->bytes < IN_CACHES ? took / bare->median : 0, "%.1f");
    figure(out, us * bound, "%.2f");
    figure(out, took > 0 ? 100 * bound / took : 0, "%.0f %%");
    fputc('\n', out);
}

void tool_bench_bare(FILE *out, const struct tool_results *r, int from, int to)
{
    if (from == to || !best_of(r, from, to, TOOL_BARE))
        return;
    fprintf(
        out,
        "# %s beside what the cores do without any MPI, in the same turns: us; bare: a flag from each rank to each\n",
        tt_coll_name(r->rows[from].coll));
    if (memory_bound(r, &r->rows[to - 1]) > 0)
        fprintf(out,
                "# bound: the vector of each of %d ranks is read, and one written, at %.1f GB/s, as all of them do "
                "when they copy\n",
                r->ranks, r->memory_rate / giga);
    fprintf(out, "%10s %10s %10s %10s %10s %10s\n", "size", "chosen", "bare", "times", "bound", "share");
    for (int i = from, end; i < to; i = end) {
        end = tool_end_of_size(r, i);
        bare_line(out, r, i, end);
    }
    fputc('\n', out);
}

/* ---- of others ---- */

static void osu_head(FILE *out, const struct tool_results *r, const struct tool_row *row)
{
    print_place(out, r);
    print_what(out, r, row->coll);
    fprintf(out, "# path: %s %s; the mean of each rank over its calls: its average, minimum and maximum over ranks\n",
            tool_path_names[row->path], row->path == TOOL_OWN ? row->algorithm : "");
    if (r->form == TOOL_NONBLOCKING)
        fprintf(out, "%-10s%18s%18s%18s%18s\n", "# Size", "Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)");
    else
        fprintf(out, "%-10s%18s%18s%18s%12s\n", "# Size", "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)",
                "Iterations");
}

static void osu_row(FILE *out, const struct tool_results *r, const struct tool_row *row)
{
    fprintf(out, "%-10lld", (long long)row->bytes);
    if (r->form == TOOL_NONBLOCKING)
        fprintf(out, "%18.2f%18.2f%18.2f%18.2f\n", us * row->overall, us * row->compute, us * row->median,
                tool_overlap(row));
    else
        fprintf(out, "%18.2f%18.2f%18.2f%12d\n", us * row->mean, us * row->mean_least, us * row->mean_most, row->calls);
}

static void nccl_head(FILE *out, const struct tool_results *r, const struct tool_row *row)
{
    print_place(out, r);
    print_what(out, r, row->coll);
    fprintf(out,
            "# path: %s %s; time: the median; size: of all blocks\n"
            "#%*sout-of-place                       in-place\n"
            "#%12s%14s%10s%8s%8s%9s%8s%8s%7s%9s%8s%8s%7s\n"
            "#%12s%14s%10s%8s%8s%9s%8s%8s%7s%9s%8s%8s%7s\n",
            tool_path_names[row->path], row->path == TOOL_OWN ? row->algorithm : "", 63, "", "size", "count", "type",
            "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong", "(B)",
            "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

static void nccl_figures(FILE *out, const struct tool_results *r, const struct tool_row *row, bool measured)
{
    if (measured)
        fprintf(out, "%9.2f%8.2f%8.2f%7lld", us * row->median, tool_algbw(r, row) / giga, tool_busbw(r, row) / giga,
                (long long)row->wrong);
    else
        fprintf(out, "%9s%8s%8s%7s", "N/A", "N/A", "N/A", "N/A");
}

static void nccl_row(FILE *out, const struct tool_results *r, const struct tool_row *row)
{
    const int64_t whole = tool_whole_bytes(row->coll, r->ranks, row->bytes);
    const size_t unit = tt_type_size(r->type_is);
    char root[16] = "-1";

    if (tool_rooted(row->coll))
        snprintf(root, sizeof root, "%d", r->root);
    fprintf(out, " %12lld%14lld%10s%8s%8s", (long long)whole, (long long)row->bytes / (long long)unit, r->type,
            tool_reduces(row->coll) ? r->op : "none", root);
    nccl_figures(out, r, row, !r->inplace);
    nccl_figures(out, r, row, r->inplace);
    fputc('\n', out);
}

static bool told_before(const struct tool_results *r, int from, int i)
{
    for (int k = from; k < i; k++)
        if (same_path(&r->rows[k], &r->rows[i]))
            return true;
    return false;
}

static void by_path(FILE *out, const struct tool_results *r, int from, int to,
                    void (*head)(FILE *, const struct tool_results *, const struct tool_row *),
                    void (*line)(FILE *, const struct tool_results *, const struct tool_row *))
{
    for (int i = from; i < to; i++) {
        if (told_before(r, from, i))
            continue;
        head(out, r, &r->rows[i]);
        for (int k = i; k < to; k++)
            if (same_path(&r->rows[i], &r->rows[k]))
                line(out, r, &r->rows[k]);
        fputc('\n', out);
    }
}

void tool_bench_tell(FILE *out, enum tool_format format, const struct tool_results *r, int from, int to, bool head)
{
    switch (format) {
    case TOOL_TABLE:
        if (head)
            table_head(out, r, r->rows[from].coll);
        table(out, r, from, to);
        break;
    case TOOL_OSU:
        by_path(out, r, from, to, osu_head, osu_row);
        break;
    case TOOL_NCCL_TESTS:
        by_path(out, r, from, to, nccl_head, nccl_row);
        break;
    case TOOL_NFORMATS:
        break;
    }
}
