/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti tune is an MPI program: here is only its command line, so that help and errors are said once. */
#include "tools/tune.h"
#include "tools/hand_over.h"
#include "tools/tools.h"

int tool_tune(int argc, char **argv)
{
    const struct argp_state state = {.name = argv[0]};
    struct tool_tune_arguments a;

    tool_hush_others();
    tool_tune_parse(argc, argv, &a);
    tool_hand_over(&state, "tutti-mpi", "tune", argv);
}
