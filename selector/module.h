/* SPDX-License-Identifier: BSD-3-Clause */
/* What needs hwloc and jansson is in a module that the library opens when a topology is asked for, and only then: what
 * is preloaded into every program brings in nothing but the MPI and libc. The module shares no state with the library;
 * what it returns is freed by tt_topo_free, which both have. */
#ifndef TT_MODULE_H
#define TT_MODULE_H

#include "selector/machine.h"
#include "selector/topo.h"

struct tt_module {
    int (*read)(const char *file, int n, int nodes, const char *place, struct tt_topo **t, char *why, size_t size);
    int (*look)(const struct tt_pci *gpu, int turn, struct tt_machine *machine, char *why, size_t size);
};

/* The name of the one thing that it exports. */
#define TT_MODULE_SYMBOL tutti_module

#endif
