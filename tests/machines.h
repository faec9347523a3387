/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines to calculate on: three kinds of nodes as people have them, with ranks placed in blocks or in turn. */
#ifndef TT_MACHINES_H
#define TT_MACHINES_H

#include "selector/topo.h"

enum machine_kind { H100_NVSWITCH, A100_PCIE, CPU_NODES, MACHINE_KINDS };
enum machine_place { BLOCK, ROUND_ROBIN, MACHINE_PLACES };

extern const char *const machine_names[MACHINE_KINDS];
extern const char *const place_names[MACHINE_PLACES];

/* As few nodes as `size` ranks need; settled. Ends the program if there is no memory. */
struct tt_topo *machine(enum machine_kind kind, int size, enum machine_place place);

/* One node of ranks without GPUs, who have a port each of 1 byte a second and alpha 0: arithmetic for people. */
struct tt_topo *plain_machine(int size);

#endif
