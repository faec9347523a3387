/* SPDX-License-Identifier: BSD-3-Clause */
/* Which memory each rank's buffers are in: patterns over the ranks, and a region of each kind for each side. */
#include "tests/mpi/cases.h"

static enum memory all_host(int rank, enum side_name side, uint64_t key)
{
    return (void)rank, (void)side, (void)key, HOST;
}

static enum memory all_pinned(int rank, enum side_name side, uint64_t key)
{
    return (void)rank, (void)side, (void)key, PINNED;
}

static enum memory all_managed(int rank, enum side_name side, uint64_t key)
{
    return (void)rank, (void)side, (void)key, MANAGED;
}

static enum memory all_device(int rank, enum side_name side, uint64_t key)
{
    return (void)rank, (void)side, (void)key, DEVICE;
}

static enum memory odd_ranks_device(int rank, enum side_name side, uint64_t key)
{
    return (void)side, (void)key, rank % 2 ? DEVICE : HOST;
}

static enum memory from_host_to_device(int rank, enum side_name side, uint64_t key)
{
    return (void)rank, (void)key, side == SEND_SIDE ? HOST : DEVICE;
}

static enum memory from_device_to_host(int rank, enum side_name side, uint64_t key)
{
    return (void)rank, (void)key, side == SEND_SIDE ? DEVICE : HOST;
}

static enum memory to_other_device(int rank, enum side_name side, uint64_t key)
{
    return (void)rank, (void)key, side == SEND_SIDE ? DEVICE : OTHER_DEVICE;
}

static enum memory random_memory(int rank, enum side_name side, uint64_t key)
{
    return (enum memory)(test_random(key * 64 + (uint64_t)(rank * 2 + (int)side)) % NMEMORIES);
}

const struct pattern patterns[NPATTERNS] = {
    {"all host", all_host, 0},
    {"all device", all_device, 1},
    {"odd ranks device", odd_ranks_device, 1},
    {"random", random_memory, 2},
    {"all managed", all_managed, 1},
    {"all pinned", all_pinned, 1},
    {"send host, receive device", from_host_to_device, 1},
    {"send device, receive host", from_device_to_host, 1},
    {"receive on the other device", to_other_device, 2},
};

struct region regions[NMEMORIES][2];

void regions_make(void)
{
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_make(&regions[m][side], (enum memory)m, CASE_BYTES);
}

void regions_free(void)
{
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_free(&regions[m][side]);
}
