/* SPDX-License-Identifier: BSD-3-Clause */
/* hwloc asked. A NIC counts once for each PCI device: by its verbs if it has such, for the same card also shows an
 * Ethernet; else by its Ethernet. Bridges and loops have no PCI device and do not count. */
#include "selector/machine_hwloc.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NICS = 64 };

static hwloc_obj_t pci_of(hwloc_obj_t device)
{
    return device->parent && device->parent->type == HWLOC_OBJ_PCI_DEVICE ? device->parent : NULL;
}

static int collect(hwloc_topology_t t, hwloc_obj_osdev_type_t type, hwloc_obj_t *nics)
{
    int n = 0;

    for (hwloc_obj_t d = hwloc_get_next_osdev(t, NULL); d && n < MAX_NICS; d = hwloc_get_next_osdev(t, d))
        if (d->attr->osdev.type == type && pci_of(d) && (n == 0 || pci_of(nics[n - 1]) != pci_of(d)))
            nics[n++] = d;
    return n;
}

static int find_nics(hwloc_topology_t t, hwloc_obj_t *nics)
{
    const int n = collect(t, HWLOC_OBJ_OSDEV_OPENFABRICS, nics);

    return n ? n : collect(t, HWLOC_OBJ_OSDEV_NETWORK, nics);
}

/* The socket that holds all of set; -1 if none does. */
static int socket_of(hwloc_topology_t t, hwloc_const_cpuset_t set)
{
    hwloc_obj_t socket = NULL;

    while ((socket = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PACKAGE, socket)))
        if (set && !hwloc_bitmap_iszero(set) && hwloc_bitmap_isincluded(set, socket->cpuset))
            return (int)socket->logical_index;
    return -1;
}

static int socket_of_device(hwloc_topology_t t, hwloc_obj_t device)
{
    const hwloc_obj_t home = device ? hwloc_get_non_io_ancestor_obj(t, device) : NULL;

    return home ? socket_of(t, home->cpuset) : -1;
}

static int depth_of(hwloc_obj_t obj)
{
    int depth = 0;

    for (; obj->parent; obj = obj->parent)
        depth++;
    return depth;
}

/* How near a NIC is: to a GPU, the depth of the bridge or socket that they share; else whether it is on the socket that
 * holds where we are bound. */
static int nearness(hwloc_topology_t t, hwloc_obj_t nic, hwloc_obj_t gpu, int socket)
{
    hwloc_obj_t a = nic, b = gpu;

    if (!gpu)
        return socket >= 0 && socket_of_device(t, nic) == socket;
    for (int da = depth_of(a), db = depth_of(b); a != b;) {
        if (da >= db) {
            a = a->parent;
            da--;
        } else {
            b = b->parent;
            db--;
        }
    }
    return depth_of(a);
}

static void choose_nic(hwloc_topology_t t, hwloc_obj_t gpu, int turn, struct tt_machine *m)
{
    hwloc_obj_t nics[MAX_NICS];
    int near[MAX_NICS], best = -1, equals = 0;

    m->nic = m->nic_socket = -1;
    m->nics = find_nics(t, nics);
    for (int i = 0; i < m->nics; i++) {
        near[i] = nearness(t, nics[i], gpu, m->socket);
        best = near[i] > best ? near[i] : best;
    }
    for (int i = 0; i < m->nics; i++)
        equals += near[i] == best;
    for (int i = 0, k = 0; i < m->nics && m->nic < 0; i++)
        if (near[i] == best && k++ == turn % equals)
            m->nic = i;
    if (m->nic < 0)
        return;
    m->nic_socket = socket_of_device(t, nics[m->nic]);
    snprintf(m->nic_name, sizeof m->nic_name, "%s", nics[m->nic]->name ? nics[m->nic]->name : "?");
}

/* NVIDIA's cards that compute or display; no driver is needed to see them, and CUDA_VISIBLE_DEVICES hides none. */
static int count_gpus(hwloc_topology_t t)
{
    enum { NVIDIA = 0x10de, DISPLAY = 0x03 };
    int n = 0;

    for (hwloc_obj_t d = hwloc_get_next_pcidev(t, NULL); d; d = hwloc_get_next_pcidev(t, d))
        n += d->attr->pcidev.vendor_id == NVIDIA && d->attr->pcidev.class_id >> 8 == DISPLAY;
    return n;
}

void tt_machine_read(hwloc_topology_t t, hwloc_const_cpuset_t bound, const struct tt_pci *gpu, int turn,
                     struct tt_machine *m)
{
    const hwloc_obj_t at =
        gpu->there ? hwloc_get_pcidev_by_busid(t, (unsigned)gpu->domain, (unsigned)gpu->bus, (unsigned)gpu->device, 0)
                   : NULL;

    *m = (struct tt_machine){.sockets = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE),
                             .cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE),
                             .gpus = count_gpus(t),
                             .socket = socket_of(t, bound)};
    if (bound)
        hwloc_bitmap_list_snprintf(m->cores_bound, sizeof m->cores_bound, bound);
    m->gpu_socket = socket_of_device(t, at);
    choose_nic(t, at, turn, m);
}

static void look(hwloc_topology_t t, const struct tt_pci *gpu, int turn, struct tt_machine *m)
{
    const hwloc_cpuset_t bound = hwloc_bitmap_alloc();
    const bool known = bound && hwloc_get_cpubind(t, bound, HWLOC_CPUBIND_PROCESS) == 0;

    tt_machine_read(t, known ? bound : NULL, gpu, turn, m);
    hwloc_bitmap_free(bound);
}

/* What of hwloc asks drivers of GPUs, and so starts them, in a process that may not want any. A word that this hwloc does
 * not know is refused, which does no harm. */
static void leave_drivers_alone(hwloc_topology_t t)
{
    static const char *const words[] = {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, words[i]);
}

int tt_machine_look(const struct tt_pci *gpu, int turn, struct tt_machine *machine, char *why, size_t size)
{
    hwloc_topology_t t;

    if (hwloc_topology_init(&t)) {
        snprintf(why, size, "hwloc cannot start");
        return -1;
    }
    leave_drivers_alone(t);
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(t)) {
        hwloc_topology_destroy(t);
        snprintf(why, size, "hwloc cannot read this machine");
        return -1;
    }
    look(t, gpu, turn, machine);
    hwloc_topology_destroy(t);
    return 0;
}
