/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce_local beyond the cells, which cells.c has: a user's op that minds the order of its operands, on a datatype
 * with gaps, that must be handed the user's own type and whole elements; Tutti's own formats; the large-count twin;
 * nothing at all; what it costs; and arguments that make no sense. Each in every pair of memories. One rank. */
#include "tests/mpi/harness.h"

#include <string.h>

#include "coll/tutti.h"

enum { COUNT = 501, EXTENT = 48, BYTES = COUNT * EXTENT };

static struct region regions[NMEMORIES][2];

typedef int reduce_function(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op);

static int narrow(const void *in, void *inout, MPI_Count n, MPI_Datatype type, MPI_Op op)
{
    return MPI_Reduce_local(in, inout, (int)n, type, op);
}

#if MPI_VERSION >= 4
static int wide(const void *in, void *inout, MPI_Count n, MPI_Datatype type, MPI_Op op)
{
    return MPI_Reduce_local_c(in, inout, n, type, op);
}
static reduce_function *const reductions[] = {narrow, wide};
#else
static reduce_function *const reductions[] = {narrow};
#endif
enum { NREDUCTIONS = sizeof reductions / sizeof *reductions };

typedef void pair_function(reduce_function *reduce, enum memory from, enum memory to);

static void for_all_pairs(const char *what, pair_function *try)
{
    for (int r = 0; r < NREDUCTIONS; r++)
        for (int from = 0; from < NMEMORIES; from++)
            for (int to = 0; to < NMEMORIES; to++) {
                if (!memory_exists((enum memory)from) || !memory_exists((enum memory)to))
                    continue;
                test_now("%s%s, %s and %s memory", what, r ? " by the large-count twin" : "", memory_names[from],
                         memory_names[to]);
                try(reductions[r], (enum memory)from, (enum memory)to);
            }
}

/* ---- a user's op: products of 2x2 matrices, four doubles with gaps between them ---- */

static MPI_Datatype matrix;
static MPI_Op product;
static const int places[] = {0, 8, 24, 40}; /* of an element of EXTENT bytes */
static int seen_wrong;

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    seen_wrong += *type != matrix;
    for (int e = 0; e < *n; e++) {
        double a[4], b[4], c[4];

        for (int i = 0; i < 4; i++) {
            memcpy(&a[i], (char *)in + e * EXTENT + places[i], 8);
            memcpy(&b[i], (char *)inout + e * EXTENT + places[i], 8);
        }
        for (int i = 0; i < 4; i++)
            c[i] = a[i / 2 * 2] * b[i % 2] + a[i / 2 * 2 + 1] * b[2 + i % 2];
        for (int i = 0; i < 4; i++)
            memcpy((char *)inout + e * EXTENT + places[i], &c[i], 8);
    }
}

static void make_matrix(void)
{
    const int lengths[] = {1, 1, 1, 1};
    const MPI_Aint at[] = {places[0], places[1], places[2], places[3]};
    MPI_Datatype bare;

    PMPI_Type_create_hindexed(4, lengths, at, MPI_DOUBLE, &bare);
    PMPI_Type_create_resized(bare, 0, EXTENT, &matrix);
    PMPI_Type_free(&bare);
    PMPI_Type_commit(&matrix);
    PMPI_Op_create(multiply, 0, &product);
}

static void fill(char *data, int salt)
{
    memset(data, 0xB7, BYTES);
    for (int e = 0; e < COUNT; e++)
        for (int i = 0; i < 4; i++) {
            const double value = (double)(test_random((uint64_t)(salt * 100000 + 4 * e + i)) % 7) - 3;

            memcpy(data + e * EXTENT + places[i], &value, 8);
        }
}

static void try_users(reduce_function *reduce, enum memory from, enum memory to)
{
    static char in[BYTES], inout[BYTES];
    int n = COUNT;
    MPI_Datatype type = matrix;
    char *a, *b;

    fill(in, 1);
    fill(inout, 2);
    a = region_set(&regions[from][0], 0, in, BYTES);
    b = region_set(&regions[to][1], 0, inout, BYTES);
    multiply(in, inout, &n, &type);
    seen_wrong = 0;
    test_success(reduce(a, b, COUNT, matrix, product));
    test_check(seen_wrong == 0, "the op was called with another datatype than the user's");
    test_check(region_holds(&regions[from][0], in), "the first operand, or bytes around it, were written");
    test_check(region_holds(&regions[to][1], inout), "the result is wrong, or bytes in its gaps were written");
}

/* ---- Tutti's own formats ---- */

/* 1 + 2 and so on in binary16, whose small integers are easily written down. */
static void try_format(reduce_function *reduce, enum memory from, enum memory to)
{
    enum { ONE = 0x3C00, TWO = 0x4000, THREE = 0x4200 };
    static unsigned short in[COUNT], inout[COUNT], want[COUNT];
    MPI_Datatype type;
    char *a, *b;

    for (int i = 0; i < COUNT; i++) {
        in[i] = ONE;
        inout[i] = TWO;
        want[i] = THREE;
    }
    a = region_set(&regions[from][0], 2, in, sizeof in);
    b = region_set(&regions[to][1], 2, inout, sizeof inout);
    test_success(test_format(TUTTI_FLOAT16, &type));
    test_success(reduce(a, b, COUNT, type, MPI_SUM));
    test_check(region_holds(&regions[to][1], want), "1 + 2 is not 3");
}

/* ---- nothing, and nonsense ---- */

static void try_nothing(reduce_function *reduce, enum memory from, enum memory to)
{
    const double data[] = {1, 2};
    char *a = region_set(&regions[from][0], 0, data, sizeof data);
    char *b = region_set(&regions[to][1], 0, data, sizeof data);

    test_success(reduce(a, b, 0, MPI_DOUBLE, MPI_SUM));
    test_check(region_holds(&regions[to][1], data), "the second operand was written");
}

static int handled;

static void note(MPI_Comm *comm, int *error, ...)
{
    handled += *comm == MPI_COMM_WORLD;
    (void)error;
}

static int class_of(int error)
{
    int class = error;

    PMPI_Error_class(error, &class);
    return class;
}

/* MPICH 4.0 and Open MPI 4.1 crash on some of these, so that there is nothing to be compared with. */
static void try_nonsense(reduce_function *reduce, enum memory from, enum memory to)
{
    static const struct {
        const char *what;
        MPI_Count count;
        bool typeless, opless, same;
        int class;
    } faults[] = {{"a negative count", -1, false, false, false, MPI_ERR_COUNT},
                  {"a null type", 1, true, false, false, MPI_ERR_TYPE},
                  {"a null op", 1, false, true, false, MPI_ERR_OP},
                  {"one buffer twice", 1, false, false, true, MPI_ERR_BUFFER}};
    const double data[] = {1, 2};
    MPI_Errhandler handler;

    if (from < MANAGED || to < MANAGED)
        return;
    PMPI_Comm_create_errhandler(note, &handler);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char *a = region_set(&regions[from][0], 0, data, sizeof data);
        char *b = region_set(&regions[to][1], 0, data, sizeof data);
        int error;

        handled = 0;
        error = reduce(a, faults[i].same ? a : b, faults[i].count, faults[i].typeless ? MPI_DATATYPE_NULL : MPI_DOUBLE,
                       faults[i].opless ? MPI_OP_NULL : MPI_SUM);
        test_check(class_of(error) == faults[i].class, "%s: expected error class %d, got %d", faults[i].what,
                   faults[i].class, class_of(error));
        test_check(handled == 1, "%s: the handler was called %d times", faults[i].what, handled);
    }
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Errhandler_free(&handler);
}

/* An op that the type has not, in the words of the MPI below. */
static void try_illegal(reduce_function *reduce, enum memory from, enum memory to)
{
    const double data[] = {1, 2};
    char *a = region_set(&regions[from][0], 0, data, sizeof data);
    char *b = region_set(&regions[to][1], 0, data, sizeof data);
    const int error = reduce(a, b, 2, MPI_DOUBLE, MPI_BAND);

    test_check(class_of(error) == MPI_ERR_OP, "expected MPI_ERR_OP, got error class %d", class_of(error));
}

/* ---- costs, which only the simulated device counts ---- */

static void check_count(const char *what, unsigned long long counted, unsigned long long want)
{
    test_check(counted == want, "expected %llu %s, counted %llu", want, what, counted);
}

static void try_costs(reduce_function *reduce, enum memory from, enum memory to)
{
    static double data[COUNT];
    char *a = region_set(&regions[from][0], 0, data, sizeof data);
    char *b = region_set(&regions[to][1], 0, data, sizeof data);
    const bool up = from < MANAGED && to >= MANAGED, both = from >= MANAGED && to < MANAGED;
    struct simcuda_counters counted;

    test_success(reduce(a, b, COUNT, MPI_DOUBLE, MPI_SUM));
    simulator.reset();
    test_success(reduce(a, b, COUNT, MPI_DOUBLE, MPI_SUM));
    simulator.counters(&counted);
    check_count("launches", counted.launches, from >= MANAGED || to >= MANAGED);
    check_count("copies up", counted.copies[SIMCUDA_H2D], up || both);
    check_count("copies down", counted.copies[SIMCUDA_D2H], both);
    check_count("allocations", counted.device_allocs + counted.pinned_allocs, 0);
    check_count("pointer queries", counted.pointer_queries, 2);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 60);
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_make(&regions[m][side], (enum memory)m, BYTES);
    make_matrix();
    for_all_pairs("a user's op on matrices with gaps", try_users);
    for_all_pairs("float16", try_format);
    for_all_pairs("no elements", try_nothing);
    for_all_pairs("nonsense", try_nonsense);
    for_all_pairs("MPI_BAND of doubles", try_illegal);
    if (simulator.counters && test_gpus > 0)
        for_all_pairs("costs", try_costs);
    PMPI_Type_free(&matrix);
    PMPI_Op_free(&product);
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_free(&regions[m][side]);
    return test_end();
}
