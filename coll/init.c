/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Init and MPI_Finalize. At Init the environment is read and compared across the ranks: what would be a hang later, is an error
 * now. TUTTI=off takes part in that one comparison, since a rank that is off among others that are on is such a hang. */
#include "coll/init.h"

#include <mpi.h>
#include <pthread.h>

#include "coll/comm.h"
#include "coll/config.h"
#include "cuda/dev.h"

static bool on;
static int config_error;
static char config_why[1024];

static void load(void)
{
    config_error = tt_config_load(config_why, sizeof config_why);
    on = !config_error && tt_config.enabled;
    if (config_error)
        tt_log(TT_ERROR, "%s", config_why);
}

bool tt_is_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return on;
}

static int refuse(int class, const char *why)
{
    int code = class;

    if (PMPI_Add_error_code(class, &code) == MPI_SUCCESS)
        PMPI_Add_error_string(code, why);
    on = false;
    PMPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

/* After the MPI below has been initialised. */
static int start(void)
{
    struct tt_comm *world;

    tt_is_on();
    if (config_error)
        return refuse(MPI_ERR_ARG, config_why);
    if (tt_comm_agree(MPI_COMM_WORLD) != MPI_SUCCESS)
        return refuse(MPI_ERR_ARG, "Tutti: the TUTTI_ settings differ between ranks");
    return on ? tt_comm_of(MPI_COMM_WORLD, &world) : MPI_SUCCESS;
}

__attribute__((visibility("default"))) int MPI_Init(int *argc, char ***argv)
{
    const int error = PMPI_Init(argc, argv);

    return error == MPI_SUCCESS ? start() : error;
}

__attribute__((visibility("default"))) int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int error = PMPI_Init_thread(argc, argv, required, provided);

    return error == MPI_SUCCESS ? start() : error;
}

/* Communicators' state goes by their attributes, inside PMPI_Finalize; user callbacks may still communicate there, so the
 * places stay until after. */
__attribute__((visibility("default"))) int MPI_Finalize(void)
{
    const int error = PMPI_Finalize();

    tt_places_close();
    return error;
}
