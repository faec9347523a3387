/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti scaling: what more ranks bring. Efficiency is T1/(N Tn) where the problem stays as it is (strong scaling),
 * T1/Tn where it grows with the ranks (weak scaling), N being how many times as many ranks there are; of throughputs it
 * is their ratio over N, which is both. Reports also say what the rest of the time went to, and whether the ranks
 * together had as much to compute: if not, two problems would be compared as one, and that is said first. */
#include <stdlib.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/scaling_plot.h"
#include "tools/tools.h"

enum { MAX_RUNS = 64 };

struct arguments {
    struct tool_run runs[MAX_RUNS];
    int n;
    const char *plot;
};

enum { PLOT = 256 };

static const struct argp_option options[] = {
    {"plot", PLOT, "FILE", 0, "speedup against ranks, an SVG picture made by gnuplot; -: as text", 1}, {0}};

/* ---- arguments ---- */

static void add(const struct argp_state *state, struct arguments *a, const char *word)
{
    char why[512];

    if (a->n == MAX_RUNS)
        tool_die(state, TOOL_USAGE, "compares up to %d runs", MAX_RUNS);
    if (!tool_run_parse(word, &a->runs[a->n]) && tool_run_read(word, &a->runs[a->n], why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s; by hand a run is RANKS:THROUGHPUT, as 32:2600", why);
    a->n++;
}

static int by_ranks(const void *left, const void *right)
{
    const struct tool_run *a = left, *b = right;

    return (a->ranks > b->ranks) - (a->ranks < b->ranks);
}

static bool by_hand(const struct tool_run *run)
{
    return !(run->seconds > 0);
}

static void settle(const struct argp_state *state, struct arguments *a)
{
    if (a->n < 2)
        tool_die(state, TOOL_USAGE, "wants two runs or more: tutti scaling 8:800 32:2600, or files of TUTTI_REPORT");
    qsort(a->runs, (size_t)a->n, sizeof *a->runs, by_ranks);
    for (int i = 1; i < a->n; i++) {
        if (a->runs[i].ranks == a->runs[i - 1].ranks)
            tool_die(state, TOOL_USAGE, "%s and %s are both on %d ranks", a->runs[i - 1].name, a->runs[i].name,
                     a->runs[i].ranks);
        if (by_hand(&a->runs[i]) != by_hand(&a->runs[0]))
            tool_die(state, TOOL_USAGE, "a throughput given by hand and a report's time cannot be compared");
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case PLOT:
        a->plot = arg;
        return 0;
    case ARGP_KEY_ARG:
        add(state, a, arg);
        return 0;
    case ARGP_KEY_END:
        settle(state, a);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {options,
                                 parse,
                                 "REPORT.json...\nRANKS:THROUGHPUT[:PROBLEM]...",
                                 "What more ranks bring: speedup and efficiency against the run with the fewest, and "
                                 "what grew.\v"
                                 "Reports are what TUTTI_REPORT=FILE.json, or tutti run --report=FILE.json, wrote. "
                                 "Throughput is in any unit that all runs share (steps or samples per second); "
                                 "PROBLEM is how much work a step was, such as the global batch.\n\n"
                                 "Examples:\n"
                                 "  tutti scaling 8:800 32:2600\n"
                                 "  tutti scaling 8:800:256 32:2600:1024\n"
                                 "  tutti scaling n2.json n4.json n8.json --plot scaling.svg\n",
                                 NULL,
                                 NULL,
                                 NULL};

/* ---- what is wrong with the comparison ---- */

static const char *words_of(enum tool_problem problem)
{
    return problem == TOOL_GREW ? "it grew with the ranks: this is weak scaling"
                                : "neither the same nor in step with the ranks: efficiencies mean little";
}

static void warn(const struct argp_state *state, const struct tool_run *a, const struct tool_run *b)
{
    const enum tool_problem problem = tool_run_problem(a, b);
    const int pa = a->ranks, pb = b->ranks;

    if (a->simulated != b->simulated)
        fprintf(stderr, "%s: warning: one of %s and %s was on simulated GPUs\n", state->name, a->name, b->name);
    if (problem != TOOL_SAME && a->problem > 0)
        fprintf(stderr, "%s: warning: the global problem changed from %g on %d ranks to %g on %d; %s\n", state->name,
                a->problem, pa, b->problem, pb, words_of(problem));
    else if (problem != TOOL_SAME)
        fprintf(stderr,
                "%s: warning: the global problem changed: all ranks together computed for %.4g s on %d ranks, for "
                "%.4g s on %d; %s\n",
                state->name, pa * a->part[TOOL_PART_compute], pa, pb * b->part[TOOL_PART_compute], pb,
                words_of(problem));
    if (a->calls != b->calls)
        fprintf(stderr,
                "%s: warning: a rank called %.6g collectives on %d ranks and %.6g on %d: are these as many steps?\n",
                state->name, a->calls, pa, b->calls, pb);
}

/* ---- telling ---- */

static const char *const part_ids[TOOL_NPARTS] = {
#define TT_PART(id, words, help) #id,
#include "coll/report.def"
#undef TT_PART
};
static const char *const part_words[TOOL_NPARTS] = {
#define TT_PART(id, words, help) words,
#include "coll/report.def"
#undef TT_PART
};

static double share(const struct tool_run *run, int part)
{
    return 100 * run->part[part] / run->seconds;
}

static void print_by_hand(const struct arguments *a)
{
    const struct tool_run *first = &a->runs[0];

    printf("%8s %12s %9s %9s %11s\n", "ranks", "throughput", "speedup", "ideal", "efficiency");
    for (int i = 0; i < a->n; i++) {
        const struct tool_run *run = &a->runs[i];

        printf("%8d %12.6g %8.2fx %8.2fx %9.2f %%\n", run->ranks, run->rate, tool_run_speedup(first, run),
               (double)run->ranks / first->ranks, 100 * tool_run_efficiency(first, run));
    }
}

static void print_reports(const struct arguments *a)
{
    const struct tool_run *first = &a->runs[0];
    char time[32];

    printf("%8s %10s %8s %9s %9s ", "ranks", "time", "speedup", "strong", "weak");
    for (int p = 0; p < TOOL_NPARTS; p++)
        printf(" %9s", part_ids[p]);
    putchar('\n');
    for (int i = 0; i < a->n; i++) {
        const struct tool_run *run = &a->runs[i];

        printf("%8d %10s %7.2fx %7.2f %% %7.2f %% ", run->ranks, tt_time_print(time, sizeof time, run->seconds),
               tool_run_speedup(first, run), 100 * tool_run_efficiency(first, run),
               100 * first->seconds / run->seconds);
        for (int p = 0; p < TOOL_NPARTS; p++)
            printf(" %7.1f %%", share(run, p));
        putchar('\n');
    }
}

/* The part whose share of the time grew most, compute apart. */
static void print_growth(const struct tool_run *a, const struct tool_run *b)
{
    int most = TOOL_PART_compute + 1;

    for (int p = most; p < TOOL_NPARTS; p++)
        if (share(b, p) - share(a, p) > share(b, most) - share(a, most))
            most = p;
    if (share(b, most) - share(a, most) < 1)
        printf("No part of the time grew by more than 1 %% of it from %d to %d ranks.\n", a->ranks, b->ranks);
    else
        printf("What grew most from %d to %d ranks: %s, from %.1f %% to %.1f %% of the time.\n", a->ranks, b->ranks,
               part_words[most], share(a, most), share(b, most));
}

static void print_conclusion(const struct tool_run *a, const struct tool_run *b)
{
    const double n = (double)b->ranks / a->ranks, speedup = tool_run_speedup(a, b);

    if (!by_hand(a) && tool_run_problem(a, b) == TOOL_GREW) {
        printf("%d ranks take %.2fx the time of %d for a problem that grew with them: a weak scaling efficiency of "
               "%.2f %%.\n",
               b->ranks, b->seconds / a->seconds, a->ranks, 100 * a->seconds / b->seconds);
        return;
    }
    printf("%d ranks are %.2fx as fast as %d, where %.4gx would be ideal: an efficiency of %.2f %%.\n", b->ranks,
           speedup, a->ranks, n, 100 * speedup / n);
    if (speedup < n)
        printf("That is as if %.1f %% of what %d ranks do could not be divided further (Karp-Flatt).\n",
               100 * tool_run_serial(a, b), a->ranks);
}

int tool_scaling(int argc, char **argv)
{
    static struct arguments a;
    struct argp_state state = {.name = argv[0]};
    const struct tool_run *first = &a.runs[0], *last;

    argp_parse(&argp, argc, argv, 0, NULL, &a);
    last = &a.runs[a.n - 1];
    for (int i = 1; i < a.n; i++)
        warn(&state, first, &a.runs[i]);
    if (first->simulated)
        puts("# SIMULATED GPUs: no GPU's times");
    (by_hand(first) ? print_by_hand : print_reports)(&a);
    putchar('\n');
    print_conclusion(first, last);
    if (!by_hand(first))
        print_growth(first, last);
    return a.plot ? tool_scaling_plot(&state, a.runs, a.n, a.plot) : TOOL_OK;
}
