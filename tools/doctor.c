/* SPDX-License-Identifier: BSD-3-Clause */
/* `tutti doctor DIR`: reads what ranks have recorded there (TUTTI_RECORD=DIR), while they run or afterwards, and says
 * in the first line which rank and which call are to blame, if any. Needs no MPI, and nothing of the job but its files.
 */
#include <errno.h>
#include <string.h>

#include "tools/doctor.h"
#include "tools/tools.h"

struct arguments {
    const char *directory, *job, *trace, *html;
    bool json;
};

enum { JOB = 256, JSON, TRACE, HTML };

static const struct argp_option options[] = {
    {"json", JSON, NULL, 0, "all findings and ranks, for programs", 1},
    {"trace", TRACE, "FILE", 0, "write a timeline that ui.perfetto.dev or chrome://tracing opens", 1},
    {"html", HTML, "FILE", 0, "write one page with a timeline and a map of who was late when", 1},
    {"job", JOB, "NUMBER", 0, "look at this job, by the beginning of the number in its files' names, not at the newest",
     1},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case JSON:
        a->json = true;
        return 0;
    case TRACE:
        a->trace = arg;
        return 0;
    case HTML:
        a->html = arg;
        return 0;
    case JOB:
        a->job = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (a->directory)
            tool_die(state, TOOL_USAGE, "one directory, not \"%s\" as well", arg);
        a->directory = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        tool_die(state, TOOL_USAGE, "which directory? That of TUTTI_RECORD, or of tutti run --record");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "DIR",
    "Say why a job hangs, failed or is slow, from what its ranks have recorded in DIR.\v"
    "Examples:\n"
    "  tutti run --record DIR -- mpiexec -n 4 ./app      record\n"
    "  tutti doctor DIR                                  while it runs, or when it is over\n"
    "  tutti doctor DIR --html report.html\n\n"
    "The exit status is 0 if nothing is wrong, 3 if a rank is to blame for a hang, an error or calls that do not "
    "match, "
    "and 1 if nothing could be read.\n",
    NULL,
    NULL,
    NULL};

/* ---- what is asked for ---- */

static void write_file(const char *path, struct doctor_job *job, void (*print)(FILE *, struct doctor_job *),
                       const struct argp_state *state)
{
    FILE *out = strcmp(path, "-") ? fopen(path, "w") : stdout;

    if (!out)
        tool_die(state, TOOL_FAILED, "%s cannot be written: %s", path, strerror(errno));
    print(out, job);
    if (out != stdout && fclose(out))
        tool_die(state, TOOL_FAILED, "%s cannot be written: %s", path, strerror(errno));
}

static void print_all(const struct arguments *a, struct doctor_job *job, const struct argp_state *state)
{
    if (a->trace)
        write_file(a->trace, job, doctor_trace, state);
    if (a->html)
        write_file(a->html, job, doctor_html, state);
    if (a->json)
        doctor_json(stdout, job);
    else
        doctor_print(stdout, job);
}

int tool_doctor(int argc, char **argv)
{
    enum { BLAMED = 3 };
    struct argp_state state = {.name = argv[0]};
    struct arguments a = {0};
    struct doctor_job *job;
    char why[512];
    int status;

    argp_parse(&argp, argc, argv, 0, NULL, &a);
    job = doctor_load(a.directory, a.job, why, sizeof why);
    if (!job)
        tool_die(&state, TOOL_FAILED, "%s", why);
    doctor_match(job);
    doctor_blame(job);
    doctor_slow(job);
    print_all(&a, job, &state);
    status = job->nfindings && job->findings[0].kind <= DOCTOR_MISMATCH ? BLAMED : TOOL_OK;
    doctor_free(job);
    return status;
}
