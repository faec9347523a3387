/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti run: an environment, and then the user's own command in our place. The library is preloaded into everything
 * that the command starts, which is harmless in what is no MPI program. What can be seen to be wrong is said
 * here, once, and not by each of a thousand ranks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll/config.h"
#include "config.h"
#include "tools/launch.h"
#include "tools/paths.h"
#include "tools/tools.h"

struct arguments {
    int sim_gpus; /* 0: the machine's own */
    bool print;
    int first; /* argv[first] is the command */
};

enum { SIM_GPUS = 256, EXPLAIN, RECORD, REPORT, SET, PRINT };
enum { MOST_SIM_GPUS = 64 }; /* that the simulated device makes: SIM_MAX_GPUS, of a room that is not above this one */

static const struct argp_option options[] = {
    {"sim-gpus", SIM_GPUS, "N", 0, "on N simulated GPUs per node, up to 64: for machines without one", 1},
    {"explain", EXPLAIN, NULL, 0, "say which algorithm each new kind of call ran, and why (TUTTI_EXPLAIN=1)", 1},
    {"record", RECORD, "DIR", 0, "keep there what each rank called last, for tutti doctor DIR (TUTTI_RECORD)", 1},
    {"report", REPORT, "FILE", OPTION_ARG_OPTIONAL,
     "at the end, where the time of all ranks went; into FILE: as JSON, for tutti scaling (TUTTI_REPORT)", 1},
    {"set", SET, "NAME=VALUE", 0, "set a variable of Tutti, with or without its TUTTI_: --set allreduce=ring", 1},
    {"print", PRINT, NULL, 0, "print what would be run, as one shell command, and do not run it", 1},
    {0}};

/* "allreduce=ring" becomes TUTTI_ALLREDUCE=ring; names are checked when all have been set. */
static void set(const struct argp_state *state, const char *assignment)
{
    const size_t length = strcspn(assignment, "=");
    char name[64] = "TUTTI_";

    if (length == 0 || !assignment[length])
        tool_die(state, TOOL_USAGE, "--set wants NAME=VALUE, as in --set allreduce=ring, not \"%s\"", assignment);
    snprintf(name, sizeof name, "%s%.*s", strncasecmp(assignment, "TUTTI", 5) ? "TUTTI_" : "", (int)length, assignment);
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    if (!tt_config_known(name)) {
        fprintf(stderr, "%s: there is no variable %s; there are: ", state->name, name);
        tool_print_variables(stderr);
        fputc('\n', stderr);
        exit(TOOL_USAGE);
    }
    setenv(name, assignment + length + 1, 1);
}

static int gpus(const struct argp_state *state, const char *text)
{
    const int n = tool_positive(state, "--sim-gpus", text);

    if (n > MOST_SIM_GPUS)
        tool_die(state, TOOL_USAGE, "--sim-gpus %d: the simulated device makes up to %d GPUs per node", n, MOST_SIM_GPUS);
    return n;
}

/* Ranks may run in another directory. */
static void record(const struct argp_state *state, const char *directory)
{
    char path[TOOL_PATH_MAX];

    if ((mkdir(directory, 0777) && errno != EEXIST) || !realpath(directory, path))
        tool_die(state, TOOL_FAILED, "--record %s: %s", directory, strerror(errno));
    setenv("TUTTI_RECORD", path, 1);
}

/* The same. file: NULL for words. */
static void report(const char *file)
{
    char path[TOOL_PATH_MAX], here[TOOL_PATH_MAX];

    if (!file || *file == '/' || !getcwd(here, sizeof here) ||
        (size_t)snprintf(path, sizeof path, "%s/%s", here, file) >= sizeof path)
        setenv("TUTTI_REPORT", file ? file : "1", 1);
    else
        setenv("TUTTI_REPORT", path, 1);
}

/* Who has asked for more than --explain does keeps it. */
static void set_explain(void)
{
    const char *now = getenv("TUTTI_EXPLAIN");

    setenv("TUTTI_EXPLAIN", "1", !now || strcmp(now, "0") == 0);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case SIM_GPUS:
        a->sim_gpus = gpus(state, arg);
        return 0;
    case EXPLAIN:
        set_explain();
        return 0;
    case RECORD:
        record(state, arg);
        return 0;
    case REPORT:
        report(arg);
        return 0;
    case SET:
        set(state, arg);
        return 0;
    case PRINT:
        a->print = true;
        return 0;
    case ARGP_KEY_ARG:
        if (!state->quoted)
            tool_die(state, TOOL_USAGE, "put -- before the command: tutti run [OPTION...] -- %s ...", arg);
        a->first = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        tool_die(state, TOOL_USAGE, "there is no command: tutti run [OPTION...] -- mpiexec -n 4 ./app");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options, parse, "-- COMMAND [ARGUMENT...]",
    "Run an MPI program, unmodified, with its collectives going through Tutti.\v"
    "Examples:\n"
    "  tutti run -- mpiexec -n 4 ./app\n"
    "  tutti run --sim-gpus 2 --explain -- mpiexec -n 4 ./app\n"
    "  tutti run --set allreduce=ring -- mpiexec -n 4 ./app\n"
    "  tutti run --record DIR -- mpiexec -n 4 ./app         then, while it hangs or afterwards: tutti doctor DIR\n"
    "  tutti run --report -- mpiexec -n 4 ./app             where the time went\n\n"
    "The exit status is that of the command; 126 and 127 if it could not be run or found, 2 if this command line was wrong, "
    "1 if something of Tutti was missing.\n",
    NULL, NULL, NULL};

/* ---- the environment ---- */

/* Puts value before what name holds already, with colon between. */
static void prepend(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *both;

    if (!old || !*old) {
        setenv(name, value, 1);
        return;
    }
    if (asprintf(&both, "%s:%s", value, old) < 0)
        abort();
    setenv(name, both, 1);
    free(both);
}

static void preload(const struct argp_state *state)
{
    char library[TOOL_PATH_MAX];

    if (!tool_library_path(library, sizeof library))
        tool_die(state, TOOL_FAILED, "libtutti.so was not found %s: build it (make) or install it (make install)",
                 tool_library_places());
    prepend("LD_PRELOAD", library);
}

static void simulate(const struct argp_state *state, int gpus)
{
    char directory[TOOL_PATH_MAX], number[16];

    if (!tool_simulator_path(directory, sizeof directory))
        tool_die(state, TOOL_FAILED, "the simulated device was not found %s: build it (make) or install it (make install)",
                 tool_simulator_places());
    snprintf(number, sizeof number, "%d", gpus);
    setenv("TUTTI_SIM_GPUS", number, 1);
    prepend("LD_LIBRARY_PATH", directory);
    fprintf(stderr, "tutti run: %d GPU%s per node, SIMULATED on the CPU: right results, meaningless times\n", gpus,
            gpus == 1 ? "" : "s");
}

/* ---- what can be seen to be wrong ---- */

/* As in the shell: what is not there is one thing, what is there and cannot be run another. */
static void check_command(const struct argp_state *state, const char *command, char *path, size_t size)
{
    struct stat s;

    if (tool_find_command(command, path, size))
        return;
    if (!strchr(command, '/'))
        tool_die(state, TOOL_NOT_FOUND, "there is no program %s on the PATH", command);
    if (stat(command, &s))
        tool_die(state, errno == ENOENT || errno == ENOTDIR ? TOOL_NOT_FOUND : TOOL_CANNOT_RUN,
                 "there is no program %s: %s", command, strerror(errno));
    if (S_ISDIR(s.st_mode))
        tool_die(state, TOOL_CANNOT_RUN, "%s is a directory, not a program", command);
    tool_die(state, TOOL_CANNOT_RUN, "%s is there, but is not executable: no program, or it wants chmod +x", command);
}

static void check_settings(const struct argp_state *state)
{
    char why[1024];

    if (tt_config_load(why, sizeof why))
        tool_die(state, TOOL_USAGE, "%s", why);
}

static void check_launcher(const struct argp_state *state, const char *command, enum tool_mpi mpi)
{
    const bool ours_is_open = strcmp(TT_MPI_NAME, "Open MPI") == 0;

    if (mpi == TOOL_NO_LAUNCHER || (mpi == TOOL_OPEN_MPI) == ours_is_open)
        return;
    tool_die(state, TOOL_FAILED,
             "%s is %s, but this Tutti was built with %s: program, mpiexec and Tutti must have the same MPI. Say %s "
             "instead, or build Tutti for the other one: ./bootstrap build --mpi=%s",
             command, mpi == TOOL_OPEN_MPI ? "Open MPI's" : "not Open MPI's", TT_MPI_NAME, TT_MPIEXEC,
             mpi == TOOL_OPEN_MPI ? "openmpi" : "mpich");
}

/* Only for the simulated device: a runtime inside the program asks the driver for private tables. */
static void warn_static_runtime(char **command)
{
    char path[TOOL_PATH_MAX];

    for (; *command; command++)
        if (tool_find_command(*command, path, sizeof path) && tool_has_static_cudart(path))
            fprintf(stderr,
                    "tutti run: warning: %s has the CUDA runtime linked in (nvcc's default), which cannot run on simulated "
                    "GPUs; link it with nvcc -cudart shared, or with gcc and -lcudart\n",
                    path);
}

/* ---- away ---- */

static void print_quoted(const char *word)
{
    putchar('\'');
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*word);
    putchar('\'');
}

static int print_command(char **command)
{
    fputs("env", stdout);
    for (char **e = environ; *e; e++)
        if (tool_variable_travels(*e)) {
            putchar(' ');
            print_quoted(*e);
        }
    for (; *command; command++) {
        putchar(' ');
        print_quoted(*command);
    }
    putchar('\n');
    return TOOL_OK;
}

int tool_run(int argc, char **argv)
{
    struct arguments a = {0};
    struct argp_state state = {.name = argv[0]};
    char path[TOOL_PATH_MAX], **command;
    enum tool_mpi mpi;

    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
    command = argv + a.first;
    check_command(&state, command[0], path, sizeof path);
    check_settings(&state);
    mpi = tool_which_mpi(path);
    check_launcher(&state, command[0], mpi);
    setenv("TUTTI_TIMEOUT", "60", 0);
    preload(&state);
    if (a.sim_gpus) {
        simulate(&state, a.sim_gpus);
        warn_static_runtime(command);
    }
    if (mpi == TOOL_OPEN_MPI)
        command = tool_forward_variables(command);
    if (a.print)
        return print_command(command);
    fflush(NULL);
    execv(path, command);
    tool_die(&state, TOOL_CANNOT_RUN, "cannot run %s: %s", path, strerror(errno));
}
