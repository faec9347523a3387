/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran comes through functions of libmpifort (MPICH; libmpichfort in Debian), or of Tutti's own, so that all calls of a kind seem to come from
 * one place. Only then the stack is unwound, by the table that every function has for exceptions: that takes a
 * microsecond or two, where comparisons are all that a C program pays. */
#include "coll/caller.h"

#include <execinfo.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FRAMES = 32, LAYERS = 2 };

/* Code between the program and the functions of C. */
static struct {
    uintptr_t from, bytes;
} layers[LAYERS];
static int nlayers;

static bool is_layer(const void *address)
{
    for (int i = 0; i < LAYERS; i++)
        if ((uintptr_t)address - layers[i].from < layers[i].bytes)
            return true;
    return false;
}

static int find_layer(struct dl_phdr_info *info, size_t size, void *nothing)
{
    const bool is_fortran = strstr(info->dlpi_name, "/libmpi") && strstr(info->dlpi_name, "fort.so");

    (void)size;
    (void)nothing;
    for (int i = 0; i < info->dlpi_phnum && nlayers < LAYERS; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + h->p_vaddr;

        if (h->p_type != PT_LOAD || !(h->p_flags & PF_X) ||
            !(is_fortran || (uintptr_t)&tt_caller_of - from < h->p_memsz))
            continue;
        layers[nlayers].from = from;
        layers[nlayers++].bytes = h->p_memsz;
    }
    return 0;
}

void tt_caller_open(void)
{
    if (!nlayers)
        dl_iterate_phdr(find_layer, NULL);
}

/* The first frame behind the layers'. */
static const void *beyond(const void *caller)
{
    void *frames[FRAMES];
    const int n = backtrace(frames, FRAMES);
    int i = 0;

    while (i < n && frames[i] != caller)
        i++;
    while (i < n && is_layer(frames[i]))
        i++;
    return i < n ? frames[i] : caller;
}

const void *tt_caller_of(const void *caller)
{
    return is_layer(caller) ? beyond(caller) : caller;
}
