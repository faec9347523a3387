/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti cost: what a message or a collective takes, as one works it out on paper: the formula, its terms one by one
 * with their units, the sum; and beside it what the plans of all ranks take in virtual time. Offline: links are told by
 * options, or in a topology file. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "coll/sizes.h"
#include "tools/cost.h"
#include "tools/seats.h"
#include "tools/tools.h"

enum { MAX_RANKS = 65536 };

struct arguments {
    const char *what, *alg_name;
    struct tool_seats seats;
    enum tt_coll coll;
    struct tt_shape shape;
    int64_t bytes;
    bool decimal; /* sizes are given, so they are told, in powers of ten */
    bool json, p2p;
    int root;
    double alpha, bandwidth, reduce, copy, launch, overhead; /* negative: not given */
    struct tt_topo *topo;
    struct tool_rate rates[TOOL_MAX_RATES];
    int nrates;
};

enum { BYTES = 256, ALPHA, BANDWIDTH, REDUCE, COPY, LAUNCH, OVERHEAD, ROOT, JSON };

static const struct argp_option options[] = {
    {"bytes", BYTES, "SIZE", 0, "of the vector, or of one block where the collective is stated in blocks [1M]", 1},
    {"root", ROOT, "R", 0, "the root, where there is one [0]", 1},
    {"alpha", ALPHA, "TIME", 0, "a message takes so long, and", 2},
    {"bandwidth", BANDWIDTH, "RATE", 0, "its bytes come at this rate, between any two ranks: 20us, 25GB/s", 2},
    {"reduce", REDUCE, "RATE", 0, "at which bytes are reduced [at once]", 2},
    {"copy", COPY, "RATE", 0, "at which bytes are copied within a rank [at once]", 2},
    {"launch", LAUNCH, "TIME", 0, "to start a reduction or copy [0]", 2},
    {"overhead", OVERHEAD, "TIME", 0, "that a sender takes for each message [0]", 2},
    {"json", JSON, NULL, 0, "for machines: seconds and bytes", 4},
    {0}};

static double time_of(const struct argp_state *state, const char *option, const char *text)
{
    double seconds;

    if (tt_time_parse(text, &seconds))
        tool_die(state, TOOL_USAGE, "%s wants a time such as 20us, 1.5ms or 0, not \"%s\"", option, text);
    return seconds;
}

static double rate_of(const struct argp_state *state, const char *option, const char *text)
{
    double rate;

    if (tt_rate_parse(text, &rate))
        tool_die(state, TOOL_USAGE, "%s wants a rate such as 25GB/s or 400Gbit/s, not \"%s\"", option, text);
    return rate;
}

static void take_name(struct argp_state *state, struct arguments *a, const char *name)
{
    if (a->what && a->alg_name)
        tool_die(state, TOOL_USAGE, "wants a collective and an algorithm; \"%s\" is one too many", name);
    *(a->what ? &a->alg_name : &a->what) = name;
}

static error_t parse_links(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case ALPHA:
        a->alpha = time_of(state, "--alpha", arg);
        return 0;
    case BANDWIDTH:
        a->bandwidth = rate_of(state, "--bandwidth", arg);
        return 0;
    case REDUCE:
        a->reduce = rate_of(state, "--reduce", arg);
        return 0;
    case COPY:
        a->copy = rate_of(state, "--copy", arg);
        return 0;
    case LAUNCH:
        a->launch = time_of(state, "--launch", arg);
        return 0;
    case OVERHEAD:
        a->overhead = time_of(state, "--overhead", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case BYTES:
        a->bytes = tool_size(state, "--bytes", arg);
        a->decimal = tt_size_is_decimal(arg);
        return 0;
    case ROOT:
        a->root = tool_natural(state, "--root", arg);
        return 0;
    case JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->seats;
        return 0;
    case ARGP_KEY_ARG:
        take_name(state, a, arg);
        return 0;
    default:
        return parse_links(key, arg, state);
    }
}

static const struct argp_child children[] = {{&tool_topo_argp, 0, NULL, 3}, {0}};
static const struct argp argp = {options,
                                 parse,
                                 "p2p\nCOLLECTIVE [ALGORITHM]\npipeline --stages P --microbatches M",
                                 "Work out what a message between two ranks takes, or a collective, by an algorithm or "
                                 "by all of them side by side: the "
                                 "formula, its terms and their sum. Nothing is run.\v"
                                 "K, M, G (or KiB ...) are powers of 1024, KB, MB, GB of 1000.\n\n"
                                 "Examples:\n"
                                 "  tutti cost p2p --bytes 100MB --alpha 20us --bandwidth 25GB/s\n"
                                 "  tutti cost allreduce ring -n 8 --bytes 1GB --alpha 0 --bandwidth 50GB/s\n"
                                 "  tutti cost allreduce -n 64 --bytes 64M --topo h100x8\n"
                                 "  tutti cost pipeline --stages 4 --microbatches 8\n",
                                 children,
                                 NULL,
                                 NULL};

/* ---- arguments to a topology and a shape ---- */

/* Every two ranks alike. */
static struct tt_topo *uniform(const struct arguments *a)
{
    struct tt_topo *t = tt_topo_new(a->seats.ranks ? a->seats.ranks : a->p2p ? 2 : 4, 1);

    if (!t || tt_topo_settle(t)) {
        tt_topo_free(t);
        return NULL;
    }
    for (int level = 0; level < TT_NLEVELS; level++)
        t->speed[level] = (struct tt_speed){a->alpha, 1 / a->bandwidth};
    return t;
}

static void price_local_work(struct arguments *a)
{
    struct tt_topo *t = a->topo;

    t->gamma = a->reduce > 0 ? 1 / a->reduce : t->gamma;
    t->copy = a->copy > 0 ? 1 / a->copy : t->copy;
    t->launch = a->launch >= 0 ? a->launch : t->launch;
    t->overhead = a->overhead >= 0 ? a->overhead : t->overhead;
}

static void settle_topo(const struct argp_state *state, struct arguments *a)
{
    char why[1024];
    const bool told = a->alpha >= 0 && a->bandwidth > 0;

    if (a->seats.ranks > MAX_RANKS)
        tool_die(state, TOOL_USAGE, "counts up to %d ranks, not %d", MAX_RANKS, a->seats.ranks);
    if (!a->seats.file && (!told || a->seats.nodes || a->seats.place))
        tool_die(state, TOOL_USAGE, "%s",
                 told ? "--nodes and --place are for a topology: --topo FILE"
                      : "wants --alpha TIME and --bandwidth RATE, or --topo FILE");
    if (a->seats.file && (a->alpha >= 0 || a->bandwidth > 0))
        tool_die(state, TOOL_USAGE, "--topo says what --alpha and --bandwidth would: give one or the other");
    if (!a->seats.file)
        a->topo = uniform(a);
    else if (tt_topo_read(a->seats.file, a->seats.ranks, a->seats.nodes, a->seats.place, &a->topo, why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    if (!a->topo)
        tool_die(state, TOOL_FAILED, "out of memory");
    price_local_work(a);
    a->nrates = tool_rates(a->topo, a->rates);
}

/* Elements of four bytes where something is reduced, if that divides the size; a launch is a GPU's, and told by hand it
 * is everybody's. */
static void settle(const struct argp_state *state, struct arguments *a)
{
    a->p2p = a->what && strcmp(a->what, "p2p") == 0;
    if (a->p2p && a->alg_name)
        tool_die(state, TOOL_USAGE, "p2p has no algorithms; \"%s\" is one too many", a->alg_name);
    if (!a->p2p)
        a->coll = tool_coll(state, a->what);
    settle_topo(state, a);
    for (int r = 0; !a->seats.file && a->launch > 0 && r < a->topo->size; r++)
        a->topo->seats[r].gpu = r;
    if (a->p2p)
        return;
    a->shape =
        (struct tt_shape){.coll = tt_coll_family(a->coll), .size = a->topo->size, .root = a->root, .commutes = true};
    a->shape.unit = tool_reduces(a->coll) && a->bytes % 4 == 0 ? 4 : 1;
    a->shape.count = a->shape.coll == TT_COLL_barrier ? 0 : a->bytes / (int64_t)a->shape.unit;
    a->shape.nodes = &a->topo->nodes;
    tool_check_root(state, &a->shape);
}

/* ---- telling ---- */

static char *print_bytes(char *text, size_t size, double bytes, bool decimal)
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB"};
    int i = 0;

    if (!decimal)
        return tt_size_print(text, size, (int64_t)(bytes + 0.5));
    for (; bytes >= 999.95 && i < 4; i++)
        bytes /= 1000;
    snprintf(text, size, "%.4g %s", bytes, names[i]);
    return text;
}

static const char *where(const struct arguments *a, const struct tool_rate *rate)
{
    return a->seats.file && rate->level < TT_NLEVELS ? tt_level_name(rate->level) : "";
}

/* "  beta   nic     1.75 GB / 50 GB/s   = 35 ms" */
static void print_term(const struct arguments *a, const struct tool_rate *rate, double times)
{
    char number[64], price[64], sum[32], product[160];

    if (rate->per_byte)
        snprintf(product, sizeof product, "%s / %s", print_bytes(number, sizeof number, times, a->decimal),
                 rate->seconds > 0 ? tt_rate_print(price, sizeof price, 1 / rate->seconds) : "no time");
    else
        snprintf(product, sizeof product, "%.4g x %s", times, tt_time_print(price, sizeof price, rate->seconds));
    printf("  %-9s %-5s %24s = %s\n", rate->name, where(a, rate), product,
           tt_time_print(sum, sizeof sum, times * rate->seconds));
}

static void print_p2p(const struct arguments *a)
{
    char bytes[32], sum[32], rate[32];

    printf("%s from one rank to another: alpha + n beta\n",
           print_bytes(bytes, sizeof bytes, (double)a->bytes, a->decimal));
    for (int i = 0; i + 1 < a->nrates && a->rates[i].level < TT_NLEVELS; i += 2) {
        const double seconds = a->rates[i].seconds + (double)a->bytes * a->rates[i + 1].seconds + a->topo->overhead;

        putchar('\n');
        if (a->seats.file)
            printf("  over %s:\n", tt_level_words(a->rates[i].level));
        print_term(a, &a->rates[i], 1);
        print_term(a, &a->rates[i + 1], (double)a->bytes);
        if (a->topo->overhead > 0)
            print_term(a, &a->rates[a->nrates - 1], 1);
        printf("  %-40s = %s", "total", tt_time_print(sum, sizeof sum, seconds));
        printf(", or %s\n", tt_rate_print(rate, sizeof rate, (double)a->bytes / seconds));
    }
}

static void print_head(const struct arguments *a)
{
    char bytes[32];

    printf("%s", tt_coll_name(a->coll));
    if (a->shape.coll != TT_COLL_barrier)
        printf(" of %s%s", print_bytes(bytes, sizeof bytes, (double)a->bytes, a->decimal),
               tool_in_blocks(a->shape.coll) ? " a block" : "");
    printf(" on %d rank%s", a->shape.size, a->shape.size == 1 ? "" : "s");
    if (tool_rooted(a->coll))
        printf(", root %d", a->shape.root);
    if (a->seats.file)
        printf(", %d node%s: %s", a->topo->nodes.n, a->topo->nodes.n == 1 ? "" : "s", a->topo->about);
    putchar('\n');
}

static void print_bill(const struct arguments *a, const struct tool_bill *b)
{
    char text[64], priced[64];

    printf("\n%s: %s\n", b->alg->name, b->alg->summary);
    if (b->segment)
        printf("  segments of %s\n",
               print_bytes(text, sizeof text, (double)b->segment * (double)a->shape.unit, a->decimal));
    for (int i = 0; i < a->nrates; i++)
        if (b->times[i] > 1e-3 || (a->rates[i].level < TT_NLEVELS && !a->seats.file))
            print_term(a, &a->rates[i], b->times[i]);
    printf("  %-40s = %s\n", "total", tt_time_print(text, sizeof text, b->seconds));
    if (b->priced < 0)
        return;
    printf("  sent per rank: %s at most; all ranks' plans, priced in virtual time: %s\n",
           print_bytes(text, sizeof text, (double)b->sent, a->decimal),
           tt_time_print(priced, sizeof priced, b->priced));
}

/* The parts of the total: of messages, of bytes on links, of reducing, of all else. */
static void sum_up(const struct arguments *a, const struct tool_bill *b, double parts[4])
{
    for (int i = 0; i < a->nrates; i++) {
        const struct tool_rate *rate = &a->rates[i];
        const int part = rate->level < TT_NLEVELS ? rate->per_byte : rate->name[0] == 'g' ? 2 : 3;

        parts[part] += b->times[i] * rate->seconds;
    }
}

static void print_row(const struct arguments *a, const struct tool_bill *b, bool least)
{
    double parts[4] = {0};
    char text[6][32];

    sum_up(a, b, parts);
    for (int i = 0; i < 4; i++)
        tt_time_print(text[i], sizeof text[i], parts[i]);
    tt_time_print(text[4], sizeof text[4], b->seconds);
    snprintf(text[5], sizeof text[5], "-");
    if (b->priced >= 0)
        tt_time_print(text[5], sizeof text[5], b->priced);
    printf("%c %-20s %10s %10s %10s %10s %10s %10s\n", least ? '*' : ' ', b->alg->name, text[0], text[1], text[2],
           text[3], text[4], text[5]);
}

static json_t *json_of(const struct arguments *a, const struct tool_bill *b)
{
    json_t *terms = json_array();
    json_t *row = json_pack("{s:s, s:s, s:f, s:o}", "name", b->alg->name, "summary", b->alg->summary, "seconds",
                            b->seconds, "terms", terms);

    for (int i = 0; i < a->nrates; i++) {
        const struct tool_rate *rate = &a->rates[i];
        json_t *term = json_pack("{s:s, s:f, s:f, s:f}", "name", rate->name, rate->per_byte ? "bytes" : "times",
                                 b->times[i], rate->per_byte ? "seconds_per_byte" : "seconds_each", rate->seconds,
                                 "seconds", b->times[i] * rate->seconds);

        if (rate->level < TT_NLEVELS && a->seats.file)
            json_object_set_new(term, "level", json_string(tt_level_name(rate->level)));
        json_array_append_new(terms, term);
    }
    if (b->segment)
        json_object_set_new(row, "segment_bytes", json_integer(b->segment * (json_int_t)a->shape.unit));
    if (b->priced >= 0)
        json_object_update_new(
            row, json_pack("{s:f, s:I}", "priced_seconds", b->priced, "bytes_sent_per_rank", (json_int_t)b->sent));
    return row;
}

static void print_json(const struct arguments *a, const struct tool_bill *bills, int n)
{
    json_t *rows = json_array();
    json_t *all =
        json_pack("{s:s, s:i, s:i, s:I, s:i, s:o}", "collective", tt_coll_name(a->coll), "ranks", a->shape.size,
                  "nodes", a->topo->nodes.n, "bytes", (json_int_t)a->bytes, "root", a->shape.root, "algorithms", rows);

    for (int i = 0; i < n; i++)
        json_array_append_new(rows, json_of(a, &bills[i]));
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(all);
}

static void print_p2p_json(const struct arguments *a)
{
    json_t *levels = json_array();
    json_t *all = json_pack("{s:I, s:o}", "bytes", (json_int_t)a->bytes, "levels", levels);

    for (int i = 0; i + 1 < a->nrates && a->rates[i].level < TT_NLEVELS; i += 2) {
        const double alpha = a->rates[i].seconds, beta = a->rates[i + 1].seconds;
        json_t *level =
            json_pack("{s:f, s:f, s:f, s:f}", "alpha_seconds", alpha, "beta_seconds_per_byte", beta, "overhead_seconds",
                      a->topo->overhead, "seconds", alpha + (double)a->bytes * beta + a->topo->overhead);

        if (a->seats.file)
            json_object_set_new(level, "level", json_string(tt_level_name(a->rates[i].level)));
        json_array_append_new(levels, level);
    }
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(all);
}

/* ---- all of it ---- */

static struct tool_bill bill_of(const struct argp_state *state, const struct arguments *a, const struct tt_alg *alg)
{
    struct tool_bill bill;

    if (tool_bill(&bill, alg, &a->shape, a->topo, a->rates, a->nrates))
        tool_die(state, TOOL_FAILED, "cannot work out %s %s: %s", tt_coll_name(a->coll), alg->name, strerror(errno));
    return bill;
}

static void tell_one(const struct argp_state *state, const struct arguments *a)
{
    const struct tt_alg *alg = tool_alg(state, a->coll, a->alg_name);
    const char *why = tt_infeasible(alg, &a->shape);
    struct tool_bill bill;

    if (!alg->cost)
        tool_die(state, TOOL_USAGE, "%s has no formula: it is %s", alg->name, alg->summary);
    if (why)
        tool_die(state, TOOL_USAGE, "%s cannot serve this: %s", alg->name, why);
    bill = bill_of(state, a, alg);
    if (a->json) {
        print_json(a, &bill, 1);
        return;
    }
    print_head(a);
    print_bill(a, &bill);
}

static void print_rows(const struct arguments *a, const struct tool_bill *bills, int n)
{
    int least = 0;

    for (int i = 1; i < n; i++)
        least = bills[i].seconds < bills[least].seconds ? i : least;
    print_head(a);
    printf("\n  %-20s %10s %10s %10s %10s %10s %10s\n", "algorithm", "alpha", "beta", "gamma", "other", "total",
           "priced");
    for (int i = 0; i < n; i++)
        print_row(a, &bills[i], i == least);
    puts("\n* is the least. A name after the collective shows how a total comes about.");
}

static void tell_all(const struct argp_state *state, const struct arguments *a)
{
    struct tool_bill bills[64];
    int n = 0;

    for (int i = 0; tt_algs[i] && n < 64; i++)
        if (tt_algs[i]->cost && tt_alg_serves(tt_algs[i], a->coll) && !tt_infeasible(tt_algs[i], &a->shape))
            bills[n++] = bill_of(state, a, tt_algs[i]);
    if (n == 0)
        tool_die(state, TOOL_FAILED, "no algorithm of our own can serve this");
    (a->json ? print_json : print_rows)(a, bills, n);
}

int tool_cost(int argc, char **argv)
{
    struct arguments a = {
        .bytes = 1 << 20, .alpha = -1, .bandwidth = -1, .reduce = -1, .copy = -1, .launch = -1, .overhead = -1};
    const struct argp_state state = {.name = argv[0]};

    if (argc > 1 && strcmp(argv[1], "pipeline") == 0)
        return tool_cost_pipeline(argc - 1, argv + 1);
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    settle(&state, &a);
    if (a.p2p)
        (a.json ? print_p2p_json : print_p2p)(&a);
    else
        (a.alg_name ? tell_one : tell_all)(&state, &a);
    tt_topo_free(a.topo);
    return TOOL_OK;
}
