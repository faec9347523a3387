/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of machine.c that reads a machine which hwloc has loaded: so that a test can show it one that is not there.
 */
#ifndef TT_MACHINE_HWLOC_H
#define TT_MACHINE_HWLOC_H

#include <hwloc.h>

#include "selector/machine.h"

/* bound: the cores that a process may run on; NULL if nobody knows. The rest is as in tt_machine_look. */
void tt_machine_read(hwloc_topology_t t, hwloc_const_cpuset_t bound, const struct tt_pci *gpu, int turn,
                     struct tt_machine *machine);

#endif
