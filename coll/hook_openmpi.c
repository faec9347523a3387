/* SPDX-License-Identifier: BSD-3-Clause */
/* Open MPI calls whoever is registered with opal_progress whenever it waits; its own nonblocking collectives live by
 * that, and start messages and test them from there as Tutti does. The function is no part of MPI, but has been in every
 * release since 1.3; it is asked for by name, so that one without it only progresses less. */
#include "coll/hook.h"

#include <dlfcn.h>
#include <stddef.h>

#include "coll/config.h"
#include "coll/request.h"

const bool tt_hook_exists = true;
__thread int tt_hook_held;

static int progress(void)
{
    if (tt_hook_held == 0)
        tt_progress();
    return 0; /* nothing that Open MPI would count */
}

void tt_hook_install(void)
{
    int (*enlist)(int (*)(void)) = (int (*)(int (*)(void)))dlsym(RTLD_DEFAULT, "opal_progress_register");

    if (!enlist || enlist(progress))
        tt_log(TT_INFO, "Open MPI does not let Tutti take part in its progress");
}
