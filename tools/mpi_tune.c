/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti tune: rank 0 holds the session, the others measure as they are told (mpi_crew.c). What is measured when, and
 * what follows from it, is in selector/tune.h. */
#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "coll/plan.h"
#include "coll/sizes.h"
#include "selector/net.h"
#include "tools/mpi_crew.h"
#include "tools/mpi_links.h"
#include "tools/mpi_progress.h"
#include "tools/mpi_tools.h"
#include "tools/mpi_tune.h"
#include "tools/mpi_tutti.h"
#include "tools/tools.h"

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
    va_list args;

    fputs("tutti tune: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ---- where ---- */

/* "4 ranks on 1 node (hosta), host memory" */
static void name_place(const struct tool_session *s, const struct tool_seen *seen, char *text, size_t size)
{
    const struct tt_nodes *nodes = &s->topo->nodes;

    snprintf(text, size, "%d ranks on %d node%s (%s%s), %s", s->topo->size, nodes->n, nodes->n == 1 ? "" : "s",
             seen ? seen[0].host : "as TUTTI_TOPO says", nodes->n > 1 && seen ? ", ..." : "", s->bench->memory.words);
}

static const char *const variables[] = {
#define TT_CONFIG(id, name, def, values, traits, help) name,
#include "coll/config.def"
#undef TT_CONFIG
};

/* What was measured elsewhere, or with other settings, is of no use. */
static void name_session(struct tool_session *s, const struct tool_seen *seen)
{
    char mpi[128];
    size_t used;

    tool_name_mpi(mpi, sizeof mpi);
    name_place(s, seen, s->where, sizeof s->where);
    used = (size_t)snprintf(s->identity, sizeof s->identity, "# tutti tune " PACKAGE_VERSION " journal: %s; %s",
                            s->where, mpi);
    for (size_t i = 0; i < sizeof variables / sizeof *variables && used < sizeof s->identity; i++)
        if (getenv(variables[i]))
            used += (size_t)snprintf(s->identity + used, sizeof s->identity - used, "; %s=%.64s", variables[i],
                                     getenv(variables[i]));
}

static bool is_set(const char *name, const char *value)
{
    return getenv(name) && strcmp(getenv(name), value) == 0;
}

/* ---- progress ---- */

static void tell(struct tt_bench *bench, const struct tt_point *point, int done, int left, double seconds_left)
{
    char bytes[32], what[128];

    (void)bench;
    snprintf(what, sizeof what, "%s %s", tt_coll_name(point->coll), tt_size_print(bytes, sizeof bytes, point->bytes));
    tool_progress("tutti tune", done, left, seconds_left, what);
}

/* ---- what is written ---- */

static void write_head(const struct tool_session *s, char *head, size_t size)
{
    const time_t now = time(NULL);
    char date[32], mpi[128];

    strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
    tool_name_mpi(mpi, sizeof mpi);
    snprintf(
        head, size,
        "Measured by tutti tune %s on %s: %s.\nThe MPI below: %s.\nA figure is the median time of a call, that of "
        "the rank that takes longest, each after a barrier;\nmedians further apart than what stands behind +- differ "
        "by more than noise. Reductions are sums of 32-bit floats.%s",
        PACKAGE_VERSION, date, s->where, mpi,
        s->bench->memory.simulated ? "\nThe device is SIMULATED: these are no figures of a GPU." : "");
}

/* Of how many sizes the choice is between figures whose noise is more than a tenth of them. */
static int count_noisy(const struct tt_points *points)
{
    int n = 0;

    for (int i = 0; i < points->n; i++) {
        const struct tt_candidate *best = tt_point_best(&points->at[i]);

        n += best && best->is.noise > 0.1 * best->is.seconds;
    }
    return n;
}

static void warn_of_noise(const struct tool_session *s)
{
    const int noisy = count_noisy(&s->points);

    if (4 * noisy > s->points.n)
        fprintf(
            stderr,
            "tutti tune: warning: at %d of %d sizes noise is more than 10 %%: the machine is busy with something else, "
            "or ranks move between cores; bind them (mpiexec -bind-to core), tune when it is quiet, or give more "
            "--budget\n",
            noisy, s->points.n);
}

/* Beside the old one, and then in its place. */
static int write_rules(struct tool_session *s)
{
    char beside[TOOL_PATH_MAX + 8], head[1024];
    FILE *out;
    int remarks;

    snprintf(beside, sizeof beside, "%s.new", s->a->rules);
    out = fopen(beside, "w");
    if (!out) {
        complain("cannot write %s: %s", beside, strerror(errno));
        return TOOL_FAILED;
    }
    write_head(s, head, sizeof head);
    tt_points_sort(&s->points);
    remarks = tt_tune_write_rules(out, head, &s->tuning, &s->points);
    if (fclose(out) || rename(beside, s->a->rules)) {
        complain("cannot write %s: %s", s->a->rules, strerror(errno));
        return TOOL_FAILED;
    }
    printf("tutti tune: %s: rules from %d sizes%s\n", s->a->rules, s->points.n,
           s->bench->memory.simulated ? ", of a SIMULATED device" : "");
    if (remarks)
        printf("tutti tune: %d figures are not monotone: a larger size took less time; they are remarked there\n",
               remarks);
    warn_of_noise(s);
    return TOOL_OK;
}

static void write_profile(const struct tool_session *s)
{
    if (tool_write_profile(s->a->profile, s->topo))
        complain("cannot write %s: %s", s->a->profile, strerror(errno));
    else
        printf("tutti tune: %s: what the links are, for TUTTI_PROFILE\n", s->a->profile);
}

/* ---- finding rules ---- */

static int find_rules(struct tool_session *s)
{
    char why[TOOL_PATH_MAX + 128];
    FILE *journal;
    bool all;
    int status;

    if (s->a->fresh)
        unlink(s->a->journal);
    journal = tt_journal_open(s->a->journal, s->identity, &s->points, why, sizeof why);
    if (!journal) {
        complain("%s", why);
        return TOOL_FAILED;
    }
    if (s->points.n)
        fprintf(stderr, "tutti tune: %d sizes are known from %s\n", s->points.n, s->a->journal);
    all = tool_measure_links(s->bench, s->topo, s->where);
    if (all) {
        write_profile(s);
        all = tool_session_price(s) == 0 && tt_tune(&s->bench->is, &s->tuning, &s->points, journal);
    }
    tool_progress_end();
    fclose(journal);
    status = s->points.n ? write_rules(s) : TOOL_FAILED;
    if (all)
        unlink(s->a->journal);
    else
        fprintf(stderr, "tutti tune: not all was measured: the same command again goes on where this ended, from %s\n",
                s->a->journal);
    return status;
}

/* ---- a session ---- */

int tool_session_price(struct tool_session *s)
{
    tt_net_free(s->net);
    s->net = tt_net_make(s->topo);
    s->tuning.net = s->net;
    if (!s->net)
        complain("out of memory");
    return s->net ? 0 : -1;
}

static struct tt_topo *look_around(const struct tool_session *s, struct tool_seen **seen)
{
    const char *file = getenv("TUTTI_TOPO");
    struct tt_topo *topo = tool_find(s->a->device, seen), *told;
    char why[1024];

    if (!topo || !file || !*file || strcmp(file, "none") == 0)
        return topo;
    tt_topo_free(topo);
    if (tt_topo_read(file, s->bench->size, 0, NULL, &told, why, sizeof why))
        complain("%s", why);
    free(*seen);
    *seen = NULL;
    return told;
}

static int hold_session(struct tool_session *s)
{
    struct tool_seen *seen;
    int status = TOOL_FAILED;

    s->topo = look_around(s, &seen);
    if (s->bench->rank != 0) {
        tool_crew_serve(s->bench);
        return TOOL_OK;
    }
    if (s->topo) {
        s->tuning = (struct tt_tuning){.colls = s->a->colls,
                                       .least = s->a->least,
                                       .most = s->a->most,
                                       .budget = s->a->budget,
                                       .factor = s->a->factor,
                                       .size = s->topo->size,
                                       .nodes = &s->topo->nodes,
                                       .reproducible = is_set("TUTTI_REPRODUCIBLE", "1"),
                                       .on_gpus = s->a->device};
        name_session(s, seen);
        status = s->a->regret ? tool_judge_rules(s) : find_rules(s);
    }
    free(seen);
    tt_points_free(&s->points);
    tt_net_free(s->net);
    tt_topo_free(s->topo);
    tool_crew_do(s->bench, (struct tool_order){.what = TOOL_END});
    return status;
}

/* A buffer holds the largest vector, and what links are measured with. */
static size_t room_for(const struct tool_tune_arguments *a, int size)
{
    const size_t links = 4 << 20, blocks = (size_t)a->least * (size_t)size, most = (size_t)a->most;

    return links > blocks ? (links > most ? links : most) : (blocks > most ? blocks : most);
}

int tool_mpi_tune(int argc, char **argv)
{
    struct tool_tune_arguments a;
    struct tool_crew bench;
    struct tool_session session = {.a = &a, .bench = &bench};
    char why[512] = "";
    int size, status = TOOL_FAILED;

    tool_tune_parse(argc, argv, &a);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_set("TUTTI", "off")) {
        complain("TUTTI=off: there would be nothing but the MPI below to measure");
        return TOOL_USAGE;
    }
    if (size < 2) {
        complain("there is nothing to compare on one rank: start it by mpiexec -n 4 tutti tune, with your program's "
                 "options");
        return TOOL_USAGE;
    }
    if (!a.where_given)
        a.device = tool_crew_where() == TOOL_DEVICE;
    tool_tutti_set("TUTTI_RULES", a.regret);
    if (!getenv("TUTTI_LOG")) /* that a pin is slow is what is to be found out */
        tool_tutti_set("TUTTI_LOG", "error");
    tool_crew_catch_signals();
    if (tool_crew_open(&bench, a.device ? TOOL_DEVICE : TOOL_HOST, room_for(&a, size), why, sizeof why) == 0) {
        tool_crew_tell_settled(&bench, "tutti tune");
        bench.is.tell = tell;
        status = hold_session(&session);
    } else if (*why) {
        complain("rank %d: %s", bench.rank, why);
    }
    tool_crew_close(&bench);
    return status;
}
