/* SPDX-License-Identifier: BSD-3-Clause */
/* What one process can see of the node it runs on, by hwloc: where it is bound, and what is near it. In a module of its
 * own (module.h), so that the preloaded library does not bring hwloc into every program. */
#ifndef TT_MACHINE_H
#define TT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* Where a GPU is on PCI; or nowhere. */
struct tt_pci {
    bool there;
    int domain, bus, device;
};

struct tt_machine {
    int sockets, cores, gpus, nics;
    char cores_bound[64]; /* where this process may run: "0-3,8" */
    int socket;           /* the one it is bound to; -1: several */
    int gpu_socket;       /* of its GPU; -1: none, or nobody knows */
    int nic;              /* the nearest to its GPU, or to where it is bound; -1: none. Of several equally near, each
                             `turn` takes the next */
    int nic_socket;
    char nic_name[32];    /* "mlx5_0" */
};

/* Looks. turn: the place of this process among those of the node. 0, or -1 with why filled. Some milliseconds. */
int tt_machine_look(const struct tt_pci *gpu, int turn, struct tt_machine *machine, char *why, size_t size);

#endif
