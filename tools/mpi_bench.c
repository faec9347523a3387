/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti bench: rank 0 holds the session, the others do as they are told (mpi_crew.c). For each size all paths are first
 * called once each, then take turns, ten turns each: what disturbs the machine for a while disturbs all of them, and a
 * drift favours none. The order of a turn is drawn anew each time, for what ran before leaves caches and threads where
 * they suit one more than another. And the turns of a size are not all at once but in passes over all sizes: a machine
 * is another one by turns of seconds, and all of a size would be measured on the one, and all of the next on the other.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coll/sizes.h"
#include "cuda/nccl.h"
#include "selector/tune.h"
#include "tools/bench.h"
#include "tools/mpi_crew.h"
#include "tools/mpi_progress.h"
#include "tools/mpi_tools.h"
#include "tools/mpi_tutti.h"
#include "tools/mpi_types.h"

enum { PASSES = 5, TURNS = 2 * PASSES, MOST_LANES = 48, MOST_SIZES = 64, MOST_SAMPLES = TURNS * TOOL_MOST_CALLS };
enum { PATIENCE = 4 };

struct samples {
    int n, room;
    double *seconds;
};

/* One path at one size. */
struct lane {
    int alg; /* as in struct tool_order */
    struct tool_row row;
    struct samples calls, overall, here; /* here: those of this pass */
    struct tt_figure of[PASSES];
    double median, spent; /* seconds: of the calls so far, and of all of them together */
    double wanted;        /* seconds of calls */
};

/* All paths at one size. */
struct field {
    int64_t bytes;
    int nlanes;
    struct lane lanes[MOST_LANES];
};

struct session {
    const struct argp_state *state;
    const struct tool_bench_arguments *a;
    struct tool_crew *crew;
    struct tool_results results;
    bool ours;                       /* only Tutti knows the type */
    int done, all;                   /* visits of sizes */
    char unfit[256], unfit_why[256]; /* algorithms that cannot serve this collective, to be told of together */
    bool unfit_said;
    unsigned drawn; /* what the order of turns is drawn from */
    int nfields;
    struct field *fields[MOST_SIZES]; /* of the collective that is being measured */
    struct samples copies;            /* of bare cores */
};

/* ---- samples ---- */

static void add_samples(struct samples *s, const double *seconds, int n)
{
    if (s->n + n > s->room) {
        s->room = 2 * (s->n + n);
        s->seconds = realloc(s->seconds, (size_t)s->room * sizeof *s->seconds);
        if (!s->seconds)
            MPI_Abort(MPI_COMM_WORLD, TOOL_FAILED);
    }
    memcpy(s->seconds + s->n, seconds, (size_t)n * sizeof *seconds);
    s->n += n;
}

static void free_fields(struct session *s)
{
    for (int k = 0; k < s->nfields; k++) {
        for (int i = 0; i < s->fields[k]->nlanes; i++) {
            free(s->fields[k]->lanes[i].calls.seconds);
            free(s->fields[k]->lanes[i].overall.seconds);
            free(s->fields[k]->lanes[i].here.seconds);
        }
        free(s->fields[k]);
    }
    s->nfields = 0;
}

/* ---- which paths ---- */

static void add_lane(const struct session *s, struct field *f, int alg, enum tool_path path, const char *name)
{
    struct lane *lane = &f->lanes[f->nlanes];

    if (f->nlanes == MOST_LANES || (path != TOOL_BARE && !tool_bench_wants(s->a, name)))
        return;
    *lane = (struct lane){.alg = alg, .row = {.path = path}};
    snprintf(lane->row.algorithm, sizeof lane->row.algorithm, "%s", name);
    f->nlanes++;
}

/* The MPI is called past Tutti where it can take the buffers and the type as they are; else by way of it. */
static int native_way(const struct session *s, int alg)
{
    return s->a->where == TOOL_HOST && !s->ours ? TOOL_BELOW : alg;
}

static void find_lanes(const struct session *s, enum tt_coll coll, struct field *f)
{
    if (s->a->bare)
        add_lane(s, f, TOOL_BELOW, TOOL_BARE, "bare");
    if (!tool_tutti_is_on()) {
        add_lane(s, f, TOOL_BELOW, TOOL_NATIVE, "native");
        return;
    }
    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], coll) && tt_algs[i]->delegate == TT_TO_MPI)
            add_lane(s, f, native_way(s, i), TOOL_NATIVE, tt_algs[i]->name);
    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], coll) && tt_algs[i]->delegate == TT_OWN && !s->a->overlap)
            add_lane(s, f, i, TOOL_OWN, tt_algs[i]->name);
    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], coll) && tt_algs[i]->delegate == TT_TO_NCCL && !s->a->overlap)
            add_lane(s, f, i, TOOL_NCCL, tt_algs[i]->name);
    add_lane(s, f, TOOL_CHOSEN, TOOL_CHOICE, "chosen");
    if (!s->a->overlap)
        return;
    add_lane(s, f, TOOL_THREADED, TOOL_THREAD, "thread");
    add_lane(s, f, TOOL_CORE_FREE, TOOL_FREE, "free");
}

/* ---- one size ---- */

/* Is it no path that a call could take? */
static bool is_bare(const struct lane *lane)
{
    return lane->row.path == TOOL_BARE;
}

static struct tool_order order_of(const struct lane *lane, int what, int calls)
{
    return (struct tool_order){.what = is_bare(lane) ? TOOL_FLAGS : what,
                               .coll = (int32_t)lane->row.coll,
                               .alg = lane->alg,
                               .calls = calls,
                               .bytes = lane->row.bytes};
}

static bool do_first(struct session *s, struct lane *lane)
{
    const double seconds = tool_crew_do(s->crew, order_of(lane, TOOL_FIRST, 1));

    lane->row.first = seconds;
    lane->row.wrong += s->crew->last.wrong;
    return seconds >= 0;
}

/* ---- which are left out ---- */

static void say_left_out(struct session *s, enum tt_coll coll)
{
    if (*s->unfit) {
        tool_progress_clear();
        fprintf(stderr, "%s: %s: left out: %s: %s\n", s->state->name, tt_coll_name(coll), s->unfit, s->unfit_why);
    }
    *s->unfit = '\0';
}

/* Said once for each collective, those together that have the same reason, which the selector's words end in. */
static void leave_out(struct session *s, const struct lane *lane, const char *choice)
{
    static const char before[] = " is not feasible: ";
    const char *why = strstr(choice, before);
    char words[sizeof s->unfit_why];
    const size_t used = strlen(s->unfit);

    if (s->unfit_said)
        return;
    if (why)
        snprintf(words, sizeof words, "%.*s", (int)(strlen(why) - strlen(before)) - 1, why + strlen(before));
    else
        snprintf(words, sizeof words, "it would be %s", choice);
    if (*s->unfit && strcmp(words, s->unfit_why))
        say_left_out(s, lane->row.coll);
    snprintf(s->unfit_why, sizeof s->unfit_why, "%s", words);
    snprintf(s->unfit + strlen(s->unfit), sizeof s->unfit - strlen(s->unfit), "%s%s", used && *s->unfit ? ", " : "",
             lane->row.algorithm);
}

/* What carried the call out, "ring (why)", is what was asked for? What was chosen is remembered. */
static bool is_what_ran(struct session *s, struct lane *lane)
{
    const char *choice =
        lane->alg == TOOL_BELOW ? NULL : tool_tutti_choice(MPI_COMM_WORLD, tt_coll_name(lane->row.coll));
    const size_t length = choice ? strcspn(choice, " ") : 0;
    struct tool_row *row = &lane->row;

    if (!choice)
        return true;
    if (tool_is_choice(lane->alg)) {
        snprintf(row->algorithm, sizeof row->algorithm, "%.*s", (int)length, choice);
        snprintf(row->why, sizeof row->why, "%.*s", choice[length] ? (int)strlen(choice + length) - 3 : 0,
                 choice[length] ? choice + length + 2 : "");
        return true;
    }
    if (strlen(row->algorithm) == length && strncmp(choice, row->algorithm, length) == 0)
        return true;
    leave_out(s, lane, choice);
    return false;
}

/* The first calls; those that cannot serve go. false: there is to be an end. */
static bool start_lanes(struct session *s, enum tt_coll coll, struct field *f)
{
    int n = 0;

    for (int i = 0; i < f->nlanes; i++) {
        struct lane *lane = &f->lanes[i];

        lane->row.coll = coll;
        lane->row.bytes = f->bytes;
        if (!do_first(s, lane))
            return false;
        if (is_what_ran(s, lane))
            f->lanes[n++] = *lane;
    }
    f->nlanes = n;
    say_left_out(s, coll);
    s->unfit_said = true;
    return true;
}

static bool warm_up(struct session *s, struct field *f)
{
    const int warmup = s->a->warmup > 0 ? s->a->warmup : 1;

    for (int i = 0; i < f->nlanes; i++) {
        struct lane *lane = &f->lanes[i];

        lane->median = tool_crew_do(s->crew, order_of(lane, TOOL_CALLS, warmup));
        lane->row.wrong += s->crew->last.wrong;
        if (lane->median < 0)
            return false;
    }
    return true;
}

/* Who may be the fastest is measured for longer: between these the choice is. */
static void share_time(const struct session *s, struct field *f)
{
    static const double near = 1.5, longer = 3;
    double fastest = INFINITY;

    for (int i = 0; i < f->nlanes; i++)
        fastest = is_bare(&f->lanes[i]) ? fastest : fmin(fastest, f->lanes[i].median);
    for (int i = 0; i < f->nlanes; i++)
        f->lanes[i].wanted = (f->lanes[i].median <= near * fastest ? longer : 1) * s->a->time;
}

/* A tenth of what is wanted, by what a call has taken so far, and of the least number of calls. */
static int calls_of_turn(const struct session *s, const struct lane *lane)
{
    const int left = MOST_SAMPLES - lane->calls.n, least = (s->a->calls + TURNS - 1) / TURNS;
    const double calls = lane->median > 0 ? lane->wanted / TURNS / lane->median : least;
    const int turn = calls > TOOL_MOST_CALLS ? TOOL_MOST_CALLS : calls > least ? (int)calls : least;

    return turn < left ? turn : left;
}

/* Time counts as if every call took the median's; but where calls are held up all the time, not without end. */
static bool is_done(const struct session *s, const struct lane *lane)
{
    const int n = lane->calls.n;

    return n == MOST_SAMPLES ||
           (n >= s->a->calls && (n * lane->median >= lane->wanted || lane->spent >= PATIENCE * lane->wanted));
}

static void note_turn(struct lane *lane, const struct tool_timing *last)
{
    struct tool_row *row = &lane->row;

    add_samples(&lane->calls, last->slowest, last->n);
    add_samples(&lane->here, last->slowest, last->n);
    for (int i = 0; i < last->n; i++)
        lane->spent += last->slowest[i];
    lane->median = tt_figure_of(lane->calls.seconds, lane->calls.n).seconds;
    row->mean += last->n * last->mean;
    row->mean_least += last->n * last->mean_least;
    row->mean_most += last->n * last->mean_most;
    row->wrong += last->wrong;
}

/* Of nonblocking calls each turn is followed by one with work meanwhile, as long as the first turn's calls took. */
static bool take_turn(struct session *s, struct lane *lane)
{
    struct tool_order order = order_of(lane, TOOL_CALLS, calls_of_turn(s, lane));
    struct tool_row *row = &lane->row;

    if (tool_crew_do(s->crew, order) < 0)
        return false;
    note_turn(lane, &s->crew->last);
    if (s->a->form != TOOL_NONBLOCKING || is_bare(lane))
        return true;
    if (!lane->overall.n)
        row->compute = lane->median;
    order.compute = row->compute;
    if (tool_crew_do(s->crew, order) < 0)
        return false;
    row->kept += s->crew->last.n * s->crew->last.kept;
    add_samples(&lane->overall, s->crew->last.slowest, s->crew->last.n);
    row->wrong += s->crew->last.wrong;
    return true;
}

static double quantile(const double *sorted, int n, double q)
{
    const int at = (int)(q * n);

    return sorted[at < n ? at : n - 1];
}

static void close_pass(struct lane *lane, int pass)
{
    lane->of[pass] = tt_figure_of(lane->here.seconds, lane->here.n);
    lane->here.n = 0;
}

static struct tt_figure middle_pass(const struct lane *lane)
{
    struct tt_figure there[PASSES];
    int n = 0;

    for (int pass = 0; pass < PASSES; pass++)
        if (lane->of[pass].n > 0)
            there[n++] = lane->of[pass];
    return tt_figure_middle(there, n);
}

/* How many times the other's one takes, in the middle of the passes that have both; 0: there is none. */
static double times_of(const struct lane *lane, const struct lane *other)
{
    double ratios[PASSES];
    int n = 0;

    for (int pass = 0; pass < PASSES; pass++)
        if (lane->of[pass].n > 0 && other->of[pass].n > 0)
            ratios[n++] = lane->of[pass].seconds / other->of[pass].seconds;
    return tt_figure_of(ratios, n).seconds;
}

/* What was chosen is held against each path pass by pass, as tune does: their medians may be of two machines. */
static void hold_against(struct field *f, struct lane *chosen)
{
    for (int i = 0; i < f->nlanes; i++) {
        const struct lane *other = &f->lanes[i];

        if (!tool_is_choice(other->alg) && !is_bare(other))
            chosen->row.times = fmax(chosen->row.times, times_of(chosen, other));
    }
}

/* The median is that of the middle pass: over the calls of all of them it would be, of a machine that was two in equal
 * parts, a time that is rare on both. */
static void finish_lane(struct session *s, struct lane *lane)
{
    struct tool_row *row = &lane->row;
    const struct tt_figure figure = middle_pass(lane);

    row->calls = lane->calls.n;
    row->median = figure.seconds;
    row->noise = figure.noise;
    row->least = lane->calls.seconds[0];
    row->p99 = quantile(lane->calls.seconds, lane->calls.n, 0.99);
    row->mean /= row->calls;
    row->mean_least /= row->calls;
    row->mean_most /= row->calls;
    if (lane->overall.n) {
        row->overall = tt_figure_of(lane->overall.seconds, lane->overall.n).seconds;
        row->kept /= lane->overall.n;
    }
    tool_results_add(&s->results, row);
}

static void draw_order(struct session *s, int *order, int n)
{
    for (int i = 0; i < n; i++) {
        int j;

        s->drawn = s->drawn * 1664525u + 1013904223u;
        j = (int)((s->drawn >> 16) % (unsigned)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}

/* A turn of each that is not done; more: somebody is not done yet. */
static bool take_turns(struct session *s, struct field *f, bool *more)
{
    int order[MOST_LANES];

    draw_order(s, order, f->nlanes);
    share_time(s, f);
    *more = false;
    for (int i = 0; i < f->nlanes; i++) {
        struct lane *lane = &f->lanes[order[i]];

        if (!is_done(s, lane) && !take_turn(s, lane))
            return false;
        *more |= !is_done(s, lane);
    }
    return true;
}

/* The turns of a pass; in the last one all that are still wanted. false: there is to be an end. */
static bool visit(struct session *s, enum tt_coll coll, struct field *f, int pass)
{
    bool more = true,
         going = tool_crew_do(s->crew,
                              (struct tool_order){.what = TOOL_PREPARE, .coll = (int32_t)coll, .bytes = f->bytes}) >= 0;

    if (pass == 0)
        going = going && start_lanes(s, coll, f) && warm_up(s, f);
    for (int turn = 0; going && more && (turn < TURNS / PASSES || pass == PASSES - 1); turn++)
        going = take_turns(s, f, &more);
    for (int i = 0; i < f->nlanes; i++)
        close_pass(&f->lanes[i], pass);
    s->done++;
    return going;
}

static void finish(struct session *s, struct field *f)
{
    for (int i = 0; i < f->nlanes; i++) {
        if (f->lanes[i].alg == TOOL_CHOSEN)
            hold_against(f, &f->lanes[i]);
        if (f->lanes[i].calls.n >= TOOL_FEWEST_CALLS)
            finish_lane(s, &f->lanes[i]);
    }
}

/* ---- all sizes ---- */

static bool sized(enum tt_coll coll)
{
    return !(tt_coll_traits(coll) & TT_NO_BUFFER);
}

/* The next size, of whole elements; -1 behind the last. */
static int64_t size_after(const struct tool_bench_arguments *a, enum tt_coll coll, int64_t bytes)
{
    const int64_t unit = (int64_t)tt_type_size(a->type);

    if (!sized(coll))
        return bytes < 0 ? 0 : -1;
    bytes = bytes < 0 ? a->least : a->factor * bytes;
    return bytes > a->most ? -1 : bytes / unit * unit;
}

static void tell_progress(const struct session *s, enum tt_coll coll, int64_t bytes)
{
    const double since = MPI_Wtime() - s->crew->began;
    char size[32], what[96];

    snprintf(what, sizeof what, "%s %s", tt_coll_name(coll), tt_size_print(size, sizeof size, bytes));
    if (s->a->progress || isatty(STDERR_FILENO))
        tool_progress(s->state->name, s->done, s->all - s->done, since / s->done * (s->all - s->done), what);
}

static void find_fields(struct session *s, enum tt_coll coll)
{
    for (int64_t bytes = size_after(s->a, coll, -1); bytes >= 0 && s->nfields < MOST_SIZES;
         bytes = size_after(s->a, coll, bytes)) {
        struct field *f = calloc(1, sizeof *f);

        if (!f)
            MPI_Abort(MPI_COMM_WORLD, TOOL_FAILED);
        f->bytes = bytes;
        find_lanes(s, coll, f);
        s->fields[s->nfields++] = f;
    }
}

/* What has been measured of a size is told; of those that an end cut off it counts, too. */
static void tell_field(struct session *s, struct field *f, bool table, int first)
{
    const int from = s->results.n;

    finish(s, f);
    tool_progress_clear();
    if (table && s->results.n > from)
        tool_bench_tell(stdout, TOOL_TABLE, &s->results, from, s->results.n, from == first);
    fflush(stdout);
}

/* What memory gives all ranks at once, as far as it is known by now; in each pass, as it may be another machine. */
static bool measure_memory(struct session *s)
{
    enum { COPIES = 5 };

    if (!s->a->bare)
        return true;
    if (tool_crew_do(s->crew, (struct tool_order){.what = TOOL_COPIES, .calls = COPIES}) < 0)
        return false;
    add_samples(&s->copies, s->crew->last.slowest, s->crew->last.n);
    s->results.memory_rate =
        2.0 * TOOL_BARE_BYTES * s->crew->size / tt_figure_of(s->copies.seconds, s->copies.n).seconds;
    return true;
}

/* A table grows in the last pass; the others are by path. */
static bool measure_coll(struct session *s, enum tt_coll coll)
{
    const int first = s->results.n;
    const bool table = s->a->format == TOOL_TABLE && !(s->a->json && strcmp(s->a->json, "-") == 0);
    bool going = true;

    s->unfit_said = false;
    find_fields(s, coll);
    for (int pass = 0; pass < PASSES; pass++) {
        going = going && measure_memory(s);
        for (int k = 0; k < s->nfields; k++) {
            going = going && visit(s, coll, s->fields[k], pass);
            if (pass == PASSES - 1)
                tell_field(s, s->fields[k], table, first);
            if (going)
                tell_progress(s, coll, s->fields[k]->bytes);
        }
    }
    tool_progress_clear();
    free_fields(s);
    if (table && s->results.n > first && s->results.n > tool_end_of_size(&s->results, first))
        tool_bench_side_by_side(stdout, &s->results, first, s->results.n);
    if (table)
        tool_bench_bare(stdout, &s->results, first, s->results.n);
    return going;
}

static int count_sizes(const struct tool_bench_arguments *a)
{
    int n = 0;

    for (int c = 0; c < TT_NCOLLS; c++)
        for (int64_t bytes = -1; a->colls >> c & 1 && (bytes = size_after(a, (enum tt_coll)c, bytes)) >= 0;)
            n++;
    return n;
}

static void tell_tables(const struct session *s)
{
    const struct tool_results *r = &s->results;

    if (s->a->format == TOOL_TABLE || (s->a->json && strcmp(s->a->json, "-") == 0))
        return;
    for (int i = 0; i < r->n; i = tool_end_of_coll(r, i))
        tool_bench_tell(stdout, s->a->format, r, i, tool_end_of_coll(r, i), true);
}

/* A thread for each rank wants a core, too: where there is none to spare, it takes its time from the work. */
static void tell_threads(const struct session *s)
{
    const struct tool_results *r = &s->results;
    const int ranks = r->nodes > 0 ? (r->ranks + r->nodes - 1) / r->nodes : r->ranks;

    if (!s->a->overlap || s->a->format != TOOL_TABLE || (s->a->json && strcmp(s->a->json, "-") == 0))
        return;
    printf(
        "thread: what was chosen, moved on by a thread of each rank's. %d ranks and as many threads on %d cores of a "
        "node: %s\n"
        "free: the same, but the work is not a core's, as a GPU's is not: the rank sleeps until it is done\n",
        ranks, r->cores,
        2 * ranks <= r->cores ? "each has its own"
                              : "the work is on these cores, too, so a thread takes its time from it (the column "
                                "work), or gets none and hides nothing");
}

static int verdict(const struct session *s)
{
    int wrong = 0;

    if (s->results.n == 0 && !s->results.stopped) {
        fprintf(stderr, "%s: nothing was measured: all that was asked for is left out, as told above\n", s->state->name);
        return TOOL_FAILED;
    }
    for (int i = 0; i < s->results.n; i++)
        wrong += s->results.rows[i].wrong > 0;
    if (wrong)
        fprintf(stderr, "%s: WRONG results in %d of %d rows\n", s->state->name, wrong, s->results.n);
    return wrong ? TOOL_FAILED : TOOL_OK;
}

static int hold_session(struct session *s)
{
    int status, files;
    bool going = true;

    s->all = PASSES * count_sizes(s->a);
    for (int c = 0; c < TT_NCOLLS && going; c++)
        if (s->a->colls >> c & 1)
            going = measure_coll(s, (enum tt_coll)c);
    tool_crew_do(s->crew, (struct tool_order){.what = TOOL_END});
    s->results.stopped = !going;
    if (!going)
        fprintf(stderr, "%s: ended before all was measured: %d of %d visits, %d of each size, are done\n",
                s->state->name, s->done - 1, s->all, PASSES);
    tell_tables(s);
    tell_threads(s);
    files = tool_bench_files(s->state, s->a, &s->results);
    status = verdict(s);
    return status ? status : files;
}

/* ---- where and what ---- */

static void describe(struct session *s, int nodes)
{
    struct tool_results *r = &s->results;
    const struct tool_memory *memory = &s->crew->memory;
    const struct tt_driver_info driver = memory->device ? tt_driver_look() : (struct tt_driver_info){0};
    const char *version = tool_tutti_is_on() ? tool_tutti_version() : NULL;
    const struct tt_nccl *nccl = memory->device && version ? tt_nccl_open() : NULL;
    const time_t now = time(NULL);

    gethostname(r->host, sizeof r->host - 1);
    tool_name_mpi(r->mpi, sizeof r->mpi);
    strftime(r->date, sizeof r->date, "%Y-%m-%d %H:%M", localtime(&now));
    snprintf(r->tutti, sizeof r->tutti, "%s", version ? version : "");
    snprintf(r->gpu, sizeof r->gpu, "%s", driver.first);
    snprintf(r->memory_words, sizeof r->memory_words, "%s", memory->words);
    snprintf(r->type, sizeof r->type, "%s", s->a->type_name);
    snprintf(r->op, sizeof r->op, "%s", s->a->op_name);
    if (s->a->skew > 0)
        snprintf(r->skew, sizeof r->skew, s->a->late < 0 ? "of up to %g us of each rank" : "of %g us of rank %d",
                 s->a->skew * 1e6, s->a->late);
    r->nodes = nodes;
    r->ranks = s->crew->size;
    r->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    r->gpus = driver.devices;
    r->driver = driver.version;
    r->nccl = nccl ? nccl->version : 0;
    r->simulated = memory->simulated;
    r->inplace = s->a->inplace;
    r->where = memory->where;
    r->form = s->a->form;
    r->type_is = s->a->type;
    r->root = s->a->root;
}

static bool refuse(const struct argp_state *state, int rank, const char *why)
{
    if (rank == 0)
        fprintf(stderr, "%s: %s\n", state->name, why);
    return false;
}

/* Counts and displacements are ints in MPI. */
static bool counts_fit(const struct tool_bench_arguments *a, int size)
{
    const int64_t unit = (int64_t)tt_type_size(a->type);

    for (int c = 0; c < TT_NCOLLS; c++) {
        const bool in_bytes = tt_coll_traits((enum tt_coll)c) & TT_TYPES;

        if (a->colls >> c & 1 && sized((enum tt_coll)c) &&
            tool_whole_bytes((enum tt_coll)c, size, a->most) / (in_bytes ? 1 : unit) > INT_MAX)
            return false;
    }
    return true;
}

static bool possible(const struct argp_state *state, const struct tool_bench_arguments *a, int rank, int size)
{
    char why[512];

    if (a->root >= size) {
        snprintf(why, sizeof why, "-r %d: there are ranks 0 to %d", a->root, size - 1);
        return refuse(state, rank, why);
    }
    if (a->skew > 0 && a->late >= size) {
        snprintf(why, sizeof why, "--skew @%d: there are ranks 0 to %d", a->late, size - 1);
        return refuse(state, rank, why);
    }
    if (!counts_fit(a, size))
        return refuse(
            state, rank,
            "-e: so many elements do not fit in an int, which MPI counts with: take a smaller -e or a wider -t");
    return true;
}

static bool settle_manner(const struct argp_state *state, const struct tool_bench_arguments *a, struct tool_crew *crew,
                          struct session *s)
{
    struct tool_manner *m = &crew->manner;
    char why[512];

    *m = (struct tool_manner){
        true, MPI_DATATYPE_NULL, tool_mpi_op(a->op), a->type, a->op, a->root, a->inplace, a->form, a->skew, a->late};
    if (tool_mpi_type(a->type, a->op, &m->datatype, &s->ours)) {
        snprintf(why, sizeof why, "-t %s: the MPI has no such type that %s is defined on%s", a->type_name, a->op_name,
                 tool_tutti_is_on() ? "" : ", and Tutti, which may have, is not there");
        return refuse(state, crew->rank, why);
    }
    for (int c = 0; c < TT_NCOLLS; c++)
        if (a->form == TOOL_PERSISTENT && a->colls >> c & 1 && !tool_inits[c])
            return refuse(state, crew->rank, "--persistent: this MPI has no persistent collectives");
    return true;
}

static size_t room_for(const struct tool_bench_arguments *a, int size)
{
    int64_t most = 64;

    for (int c = 0; c < TT_NCOLLS; c++)
        if (a->colls >> c & 1 && sized((enum tt_coll)c) && tool_whole_bytes((enum tt_coll)c, size, a->most) > most)
            most = tool_whole_bytes((enum tt_coll)c, size, a->most);
    return (size_t)most;
}

static int count_nodes(int rank)
{
    int leader, first, nodes;

    first = tool_turn_on_node(rank, &leader) == 0;
    PMPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return nodes;
}

static int run(struct session *s, struct tool_bench_arguments *a, struct tool_crew *crew)
{
    const int nodes = count_nodes(crew->rank);
    char why[256];

    /* that a pin is slow is what is to be found out */
    if (tool_tutti_is_on() && !getenv("TUTTI_LOG"))
        tool_tutti_set("TUTTI_LOG", "error");
    if (!settle_manner(s->state, a, crew, s))
        return TOOL_USAGE;
    if (a->bare && tool_crew_open_bare(crew, why, sizeof why)) {
        refuse(s->state, crew->rank, why);
        return TOOL_FAILED;
    }
    if (crew->rank != 0) {
        tool_crew_serve(crew);
        return TOOL_OK;
    }
    describe(s, nodes);
    return hold_session(s);
}

/* What is wrong on several ranks is most often the same: the lowest of them says it. */
static void say_once(const struct argp_state *state, int rank, int size, const char *why)
{
    const int ours = *why ? rank : size;
    int lowest;

    PMPI_Allreduce(&ours, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == lowest)
        fprintf(stderr, "%s: rank %d: %s\n", state->name, rank, why);
}

int tool_mpi_bench(int argc, char **argv)
{
    const struct argp_state state = {.name = argv[0]};
    struct tool_bench_arguments a;
    static struct tool_crew crew;
    static struct session session;
    char why[512] = "";
    int rank, size, status = TOOL_FAILED;

    tool_bench_parse(argc, argv, &a);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!possible(&state, &a, rank, size))
        return TOOL_USAGE;
    a.where = a.where_given ? a.where : tool_crew_where();
    session = (struct session){.state = &state, .a = &a, .crew = &crew};
    tool_crew_catch_signals();
    if (tool_crew_open(&crew, a.where, room_for(&a, size), why, sizeof why) == 0) {
        tool_crew_tell_settled(&crew, state.name);
        status = run(&session, &a, &crew);
    } else {
        say_once(&state, rank, size, why);
    }
    tool_results_free(&session.results);
    free(session.copies.seconds);
    tool_crew_close(&crew);
    return status;
}
