/* SPDX-License-Identifier: BSD-3-Clause */
/* Gaps: what packing costs, and what it leaves alone. On the simulated device a column of a matrix is one launch and
 * the bytes that are the column's, whatever the matrix; what is contiguous in disguise is no launch at all; the blocks
 * of a v-collective are one launch, or none where they follow each other. Collectives that are under way at the same
 * time, into interleaved fields of one array, do not disturb each other, nor what the program writes between them; by
 * each algorithm and by the MPI below. Absolute datatypes work on the device, and may have pieces on both sides. */
#include "tests/mpi/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 20, MAX_RANKS = 16 };

static struct region regions[NMEMORIES][2];

static MPI_Datatype committed(MPI_Datatype type)
{
    PMPI_Type_commit(&type);
    return type;
}

static MPI_Datatype contiguous(int n, MPI_Datatype old)
{
    MPI_Datatype made;

    PMPI_Type_contiguous(n, old, &made);
    return committed(made);
}

static MPI_Datatype vector(int count, int length, int stride)
{
    MPI_Datatype made;

    PMPI_Type_vector(count, length, stride, MPI_INT, &made);
    return committed(made);
}

static MPI_Datatype resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype made;

    PMPI_Type_create_resized(old, lb, extent, &made);
    PMPI_Type_free(&old);
    return committed(made);
}

static MPI_Datatype placed(int n, const MPI_Aint *places, MPI_Datatype old)
{
    MPI_Datatype made;

    PMPI_Type_create_hindexed_block(n, 1, places, old, &made);
    return committed(made);
}

/* ---- what a bcast costs ---- */

static struct simcuda_counters counted;

static void check_count(const char *what, unsigned long long got, unsigned long long want)
{
    test_check(got == want, "expected %llu %s, counted %llu", want, what, got);
}

/* 48 bytes an element. A first call makes what is kept; the second is counted. */
static void count_bcast(const char *name, MPI_Datatype type, int count, unsigned long long launches)
{
    struct region *r = &regions[DEVICE][0];
    static char data[ROOM / 2];

    region_set(r, 0, data, sizeof data);
    test_now("bcast of %d elements that are %s", count, name);
    for (int i = 0; i < 2; i++) {
        PMPI_Barrier(MPI_COMM_WORLD);
        simulator.reset();
        test_success(MPI_Bcast(r->at + 4096, count, type, 0, MPI_COMM_WORLD));
        simulator.counters(&counted);
    }
    check_count("launches", counted.launches, launches);
    check_count("copies within the device", counted.copies[SIMCUDA_D2D], 0);
    check_count("bytes from host to device", counted.bytes[SIMCUDA_H2D], test_rank == 0 ? 0 : 48ull * (unsigned)count);
    check_count("allocations", counted.device_allocs + counted.pinned_allocs, 0);
    PMPI_Type_free(&type);
}

/* Twelve ints that stand alone and in no order: too many runs for a kernel's parameter. */
static MPI_Datatype scattered(void)
{
    MPI_Aint places[12];

    for (int i = 0; i < 12; i++)
        places[i] = i * 7 % 12 * 12 + i % 2 * 4;
    return resized(placed(12, places, MPI_INT), 0, 160);
}

static MPI_Datatype structure(MPI_Aint second)
{
    const int lengths[] = {8, 2};
    const MPI_Aint places[] = {0, second};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype made;

    PMPI_Type_create_struct(2, lengths, places, types, &made);
    return committed(made);
}

static void count_launches(void)
{
    const MPI_Aint moved = 64;
    MPI_Datatype pair = contiguous(2, MPI_INT), twelve = contiguous(12, MPI_INT);

    test_pin("bcast", "binomial");
    count_bcast("six pairs of ints", contiguous(6, pair), 100, 0);
    count_bcast("a vector without gaps", vector(3, 4, 4), 100, 0);
    count_bcast("a struct without gaps", structure(32), 100, 0);
    count_bcast("resized to their own size", resized(contiguous(12, MPI_INT), 0, 48), 100, 0);
    count_bcast("48 bytes behind 64 others", resized(placed(1, &moved, twelve), 0, 48), 100, 0);
    count_bcast("a long way from the next, but alone", resized(contiguous(12, MPI_INT), 0, 400), 1, 0);
    count_bcast("columns of a matrix", resized(vector(12, 1, 100), 0, 4), 10, 1);
    count_bcast("vectors", vector(3, 4, 6), 100, 1);
    count_bcast("structs with a gap", structure(48), 100, 1);
    count_bcast("scattered ints", scattered(), 100, 1);
    test_pin("bcast", NULL);
    PMPI_Type_free(&pair);
    PMPI_Type_free(&twelve);
}

/* ---- v-collectives ---- */

/* Every rank's block of 10 ints begins `step` ints after the one before. */
static void count_blocks(int step, unsigned long long launches)
{
    struct region *send = &regions[DEVICE][0], *recv = &regions[DEVICE][1];
    int counts[MAX_RANKS], displs[MAX_RANKS], ours[10];
    static int got[MAX_RANKS * 20];
    int wrong = 0;

    for (int i = 0; i < MAX_RANKS; i++)
        counts[i] = 10, displs[i] = i * step;
    for (int i = 0; i < 10; i++)
        ours[i] = test_rank * 100 + i;
    test_now("allgatherv of blocks of 10 ints every %d", step);
    for (int round = 0; round < 2; round++) {
        memset(got, -1, sizeof got);
        region_set(send, 0, ours, sizeof ours);
        region_set(recv, 0, got, sizeof(int) * (size_t)(step * test_size));
        PMPI_Barrier(MPI_COMM_WORLD);
        simulator.reset();
        test_success(MPI_Allgatherv(send->at, 10, MPI_INT, recv->at, counts, displs, MPI_INT, MPI_COMM_WORLD));
        simulator.counters(&counted);
    }
    check_count("launches", counted.launches, launches);
    test_check(region_get(recv, got), "bytes around the receive buffer were written");
    for (int i = 0; i < step * test_size; i++)
        wrong += got[i] != (i % step < 10 ? i / step * 100 + i % step : -1);
    test_check(wrong == 0, "%d of %d ints are not what they should be", wrong, step * test_size);
}

/* ---- at the same time ---- */

enum { FIELDS = 4, RECORDS = 60 };
struct record {
    int field[FIELDS + 1]; /* the last is nobody's */
};

static MPI_Datatype field(int which)
{
    const MPI_Aint at = which * (MPI_Aint)sizeof(int);

    return resized(placed(1, &at, MPI_INT), 0, sizeof(struct record));
}

/* While the collectives are under way the program writes the field that is nobody's. */
static void write_between(struct region *r, enum memory memory)
{
    for (int i = 0; i < RECORDS * test_size; i += 7) {
        const int value = 5000 + i;
        char *at = r->at + (size_t)i * sizeof(struct record) + FIELDS * sizeof(int);

        memory_put(memory, at, &value, sizeof value);
    }
}

static void check_all_fields(const struct region *r)
{
    static struct record got[RECORDS * MAX_RANKS];
    int wrong = 0;

    test_check(region_get(r, got), "bytes around the records were written");
    for (int i = 0; i < RECORDS * test_size; i++) {
        for (int f = 0; f < FIELDS; f++)
            wrong += got[i].field[f] != f * 10000 + i / RECORDS * 100 + i % RECORDS;
        wrong += got[i].field[FIELDS] != (i % 7 ? -1 : 5000 + i);
    }
    test_check(wrong == 0, "%d fields of %d records are not what they should be", wrong, RECORDS * test_size);
}

/* A nonblocking allgather into each field of one array, all begun before any is waited for. */
static void try_interleaved(const char *algorithm, enum memory memory)
{
    static struct record empty[RECORDS * MAX_RANKS];
    static int ours[FIELDS][RECORDS];
    struct region *send = &regions[memory][0], *recv = &regions[memory][1];
    MPI_Datatype types[FIELDS];
    MPI_Request requests[FIELDS];
    MPI_Status statuses[FIELDS];

    memset(empty, -1, sizeof empty);
    for (int f = 0; f < FIELDS; f++)
        for (int i = 0; i < RECORDS; i++)
            ours[f][i] = f * 10000 + test_rank * 100 + i;
    region_set(send, 0, ours, sizeof ours);
    region_set(recv, 0, empty, sizeof empty[0] * (size_t)(RECORDS * test_size));
    test_now("%d allgathers at once by %s into the fields of an array, %s memory", FIELDS, algorithm,
             memory_names[memory]);
    for (int f = 0; f < FIELDS; f++) {
        types[f] = field(f);
        test_success(MPI_Iallgather(send->at + sizeof ours[0] * (size_t)f, RECORDS, MPI_INT, recv->at, RECORDS,
                                    types[f], MPI_COMM_WORLD, &requests[f]));
        MPI_Type_free(&types[f]);
    }
    write_between(recv, memory);
    test_success(MPI_Waitall(FIELDS, requests, statuses));
    check_all_fields(recv);
}

static void try_all_interleaved(void)
{
    const char *algorithm;

    for (int i = 0; (algorithm = test_algorithm("allgather", i)); i++) {
        test_pin("allgather", algorithm);
        try_interleaved(algorithm, HOST);
        if (test_gpus > 0)
            try_interleaved(algorithm, DEVICE);
        if (test_gpus > 0)
            try_interleaved(algorithm, MANAGED);
        if (test_gpus > 0)
            try_interleaved(algorithm, test_rank % 2 ? DEVICE : HOST);
    }
    test_pin("allgather", NULL);
}

/* ---- absolute addresses ---- */

/* Two pieces of ten ints: at one, and the others at the other. */
static MPI_Datatype absolute(const char *one, const char *other)
{
    const int lengths[] = {10, 10};
    const MPI_Aint places[] = {(MPI_Aint)(uintptr_t)one, (MPI_Aint)(uintptr_t)other};
    MPI_Datatype made;

    PMPI_Type_create_hindexed(2, lengths, places, MPI_INT, &made);
    return committed(made);
}

static void check_piece(const struct region *r, int first)
{
    int got[12], wrong = 0;

    test_check(region_get(r, got), "bytes around a piece were written");
    for (int i = 0; i < 12; i++)
        wrong += got[i] != (i == 0 || i == 11 ? -1 : first + i - 1);
    test_check(wrong == 0, "%d of 12 ints are not what they should be", wrong);
}

static void try_absolute(const char *collective, const char *algorithm, enum memory first, enum memory second)
{
    struct region *one = &regions[first][0], *other = &regions[second][1];
    const int root = test_size - 1;
    int blank[12], data[2][12];
    MPI_Datatype type;

    memset(blank, -1, sizeof blank);
    for (int piece = 0; piece < 2; piece++)
        for (int i = 0; i < 12; i++)
            data[piece][i] = i == 0 || i == 11 ? -1 : 1000 * (piece + 1) + i - 1;
    region_set(one, 0, test_rank == root ? data[0] : blank, sizeof blank);
    region_set(other, 0, test_rank == root ? data[1] : blank, sizeof blank);
    type = absolute(one->at + sizeof(int), other->at + sizeof(int));
    test_now("%s by %s from MPI_BOTTOM, pieces in %s and %s memory", collective, algorithm, memory_names[first],
             memory_names[second]);
    test_success(MPI_Bcast(MPI_BOTTOM, 1, type, root, MPI_COMM_WORLD));
    check_piece(one, 1000);
    check_piece(other, 2000);
    PMPI_Type_free(&type);
}

static void try_all_absolute(void)
{
    static const enum memory memories[] = {HOST, DEVICE, MANAGED, PINNED, OTHER_DEVICE};
    const char *algorithm;

    for (int i = 0; (algorithm = test_algorithm("bcast", i)); i++) {
        test_pin("bcast", algorithm);
        for (int a = 0; a < 5; a++)
            for (int b = 0; b < 5; b++)
                if (memory_exists(memories[a]) && memory_exists(memories[b]))
                    try_absolute("bcast", algorithm, memories[a], memories[b]);
    }
    test_pin("bcast", NULL);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 100);
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_make(&regions[m][side], (enum memory)m, ROOM);
    if (test_gpus > 0 && simulator.counters) {
        count_launches();
        count_blocks(10, 0);
        count_blocks(13, 1);
    }
    try_all_interleaved();
    try_all_absolute();
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_free(&regions[m][side]);
    return test_end();
}
