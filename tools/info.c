/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti info: what this Tutti is and what it finds here, and every name it goes by: the first thing to paste into a
 * report of a fault. Asks the driver, so it loads libcuda if there is one. */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "coll/config.h"
#include "cuda/dev.h"
#include "tools/paths.h"
#include "tools/tools.h"

static const struct argp_option options[] = {
    {"gpus", 'g', NULL, 0, "print only the number of GPUs, simulated ones not counted", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != 'g')
        return ARGP_ERR_UNKNOWN;
    *(bool *)state->input = true;
    return 0;
}

static const struct argp argp = {options, parse, NULL,
                                 "Tell what this Tutti was built with, what it finds on this machine, its collectives, "
                                 "algorithms and variables.",
                                 NULL, NULL, NULL};

static void print_driver(void)
{
    const struct tt_driver_info d = tt_driver_look();

    if (d.version == 0)
        printf("CUDA driver  not found (%s), so GPU memory cannot be used here; tutti run --sim-gpus N simulates it\n",
               d.why_not ? d.why_not : "no reason given");
    else
        printf("CUDA driver  %d.%d%s, %d device%s%s%s\n", d.version / 1000, d.version % 1000 / 10,
               d.simulated ? ", simulated" : "", d.devices, d.devices == 1 ? "" : "s", d.devices ? ", the first: " : "",
               d.devices ? d.first : "");
}

static void print_gpus(void)
{
    const struct tt_driver_info d = tt_driver_look();

    printf("%d\n", d.simulated ? 0 : d.devices);
}

static void print_files(void)
{
    char path[TOOL_PATH_MAX];

    printf("library      %s\n", tool_library_path(path, sizeof path) ? path : "not found beside this command");
    printf("tutti-mpi    %s\n", tool_mpi_program_path("tutti-mpi", path, sizeof path) ? path : "not found, so topo needs a file");
    printf("simulator    %s\n", tool_simulator_path(path, sizeof path) ? path : "not found, so --sim-gpus cannot work");
}

static void print_algorithms(void)
{
    puts("\ncollectives and their algorithms");
    for (int c = 0; c < TT_NCOLLS; c++) {
        printf("  %-21s ", tt_coll_name((enum tt_coll)c));
        tool_print_algs(stdout, (enum tt_coll)c);
        putchar('\n');
    }
}

static void print_variable(const char *name, const char *def, const char *values, const char *help)
{
    const char *set = getenv(name);

    printf("  %-15s %s (%s; default %s)", name, help, values, def);
    printf(set ? "; now %s\n" : "\n", set);
}

static void print_variables(void)
{
    puts("\nvariables");
#define TT_CONFIG(id, name, def, values, traits, help) print_variable(name, def, values, help);
#include "coll/config.def"
#undef TT_CONFIG
    puts("  TUTTI_<COLL>    the algorithm of a collective, in capitals: TUTTI_ALLREDUCE=ring (default: chosen by size)");
    for (int c = 0; c < TT_NCOLLS; c++) {
        char name[64];
        const char *set = getenv(tt_config_pin_name((enum tt_coll)c, name, sizeof name));

        if (set)
            printf("  %-15s now %s\n", name, set);
    }
}

int tool_info(int argc, char **argv)
{
    bool gpus = false;

    argp_parse(&argp, argc, argv, 0, NULL, &gpus);
    if (gpus) {
        print_gpus();
        return TOOL_OK;
    }
    printf("tutti        %s\n", PACKAGE_VERSION);
    printf("MPI          %s (%s)\n", TT_MPI_NAME, TT_MPIEXEC);
    printf("GPU kernels  %s\n", TT_HAVE_KERNELS ? "built in" : "not built: no nvcc when this was configured, so reductions "
                                                             "of GPU memory go through the host");
    print_driver();
    print_files();
    print_algorithms();
    print_variables();
    return TOOL_OK;
}
