/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without hwloc: nothing is known of the machine but what MPI and the driver tell. */
#include "selector/machine.h"

#include <stdio.h>

int tt_machine_look(const struct tt_pci *gpu, int turn, struct tt_machine *machine, char *why, size_t size)
{
    (void)gpu;
    (void)turn;
    (void)machine;
    snprintf(why, size, "built without hwloc: sockets and NICs are unknown");
    return -1;
}
