/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective, by every algorithm, from every kind of memory, against the MPI below. A case (cases.h) is one call:
 * collective, count, type and op, in place or not, root, communicator. The MPI below does it once, on host memory;
 * then Tutti does it by each of its algorithms and with each pattern of memory over the ranks, from buffers that
 * held the same before. What a rank receives must be equal to the last byte, what it sends unchanged, and the bytes
 * around and between the blocks untouched; arguments that mean nothing on a rank are given as nonsense. About 20 us a
 * call and rank. "collectives two_level" tries those algorithms alone that have it in their names: only on several
 * nodes can they run. */
#include <string.h>
#include <time.h>

#include "tests/mpi/cases.h"

enum { MAX_COUNT = 1000 };

/* ---- one case ---- */

static const char *only; /* algorithms that have this in their names; NULL: all */

static bool is_asked(const char *algorithm)
{
    return !only || strstr(algorithm, only);
}

static bool has_any_asked(const struct row *row)
{
    const char *algorithm;

    for (int a = 0; (algorithm = test_algorithm(row->id, a)); a++)
        if (is_asked(algorithm))
            return true;
    return false;
}

static void try(const struct test_case *t, const char *algorithm, const struct pattern *pattern)
{
    const enum memory from = pattern->of(t->group->rank, SEND_SIDE, t->key);
    const enum memory to = pattern->of(t->group->rank, RECV_SIDE, t->key);
    struct region *send = &regions[from][SEND_SIDE], *recv = &regions[to][RECV_SIDE];
    const size_t extent = (size_t)t->kind->extent, shift = extent * (test_random(t->key) % (64 / extent));
    const struct tt_call c = case_put(t, send, recv, shift);

    test_now("%s by %s, %s (here %s, %s)", case_words(t), algorithm, pattern->name, memory_names[from],
             memory_names[to]);
    test_success((t->large ? t->row->large : t->row->ours)(&c));
    case_check(t, send, recv);
}

/* Types, roots, patterns and so on are not crossed with each other: each (collective, count) meets VARIANTS of their
 * combinations, and each algorithm meets all of these, from every STRIDE-th pattern of memory, beginning elsewhere
 * each time. So that on every size of communicator each (algorithm, pattern) meets about ten cases, and other
 * ones with each seed. */
enum { VARIANTS = 3, STRIDE = 3 };

static void run_case(struct test_case *t)
{
    const char *algorithm;

    case_arrange(t);
    case_fill(t, t->key);
    case_ask_native(t);
    for (int a = 0; (algorithm = test_algorithm(t->row->id, a)); a++) {
        if (!is_asked(algorithm) || (strcmp(algorithm, "native") == 0 && case_breaks_native(t)))
            continue;
        test_pin(t->row->id, algorithm);
        for (int m = (int)(t->key % STRIDE); m < NPATTERNS; m += STRIDE)
            if (pattern_exists(&patterns[m]))
                try(t, algorithm, &patterns[m]);
    }
    test_pin(t->row->id, NULL);
}

/* MPICH 4.0.2 over UCX truncates long messages of types with padding, from 8 KiB on. */
static const struct kind *kind_of(const struct test_case *t, uint64_t choice)
{
    const struct kind *k = &kinds[choice % NKINDS];

    return k->payload % 4 == 0 && k->payload < k->extent && !has(t, TT_REDUCES) && t->count > 64 ? &kinds[0] : k;
}

/* A type for each pair of ranks, where the row has such. */
static const struct kind *kind_between(const struct test_case *t, enum side_name side, int sender, int receiver)
{
    (void)side;
    return has(t, TT_TYPES) ? kind_of(t, test_random(t->key + (uint64_t)((sender + 2) * (receiver + 2)))) : t->kind;
}

/* Of the last case. Not all groups meet the same cases, so each begins at a number of its own. */
static uint64_t key;

static void run_count(struct test_case *t, int count, int variants)
{
    const int roots[] = {0, t->group->size / 2, t->group->size - 1};

    t->count = count;
    for (int v = 0; v < variants; v++) {
        const uint64_t r = test_random(++key);

        t->key = key;
        t->kind = kind_of(t, key + (uint64_t)v);
        t->root = roots[r % 3];
        t->inplace = has(t, TT_INPLACE_ALL | TT_INPLACE_ROOT) && r >> 8 & 1;
        t->large = t->row->large && (r >> 9) % 4 == 0;
        t->nonsense = (r >> 11) % 4 > 0;
        run_case(t);
    }
}

/* ---- barriers ---- */

/* No rank may leave before the last has entered; the ranks share a node, hence a clock. */
static void run_barrier(const struct test_case *t, const char *algorithm)
{
    struct timespec now;
    double entered, left, last_in, first_out;

    test_now("barrier by %s, rank %d of %d", algorithm, t->group->rank, t->group->size);
    if (test_random(t->key) % (unsigned)t->group->size == (unsigned)t->group->rank)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    entered = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    test_success(MPI_Barrier(t->group->comm));
    clock_gettime(CLOCK_MONOTONIC, &now);
    left = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    PMPI_Allreduce(&entered, &last_in, 1, MPI_DOUBLE, MPI_MAX, t->group->comm);
    PMPI_Allreduce(&left, &first_out, 1, MPI_DOUBLE, MPI_MIN, t->group->comm);
    test_check(first_out >= last_in, "a rank left %g s before the last had entered", last_in - first_out);
}

static void run_barriers(struct test_case *t)
{
    const char *algorithm;

    for (int a = 0; (algorithm = test_algorithm(t->row->id, a)); a++) {
        test_pin(t->row->id, algorithm);
        for (int i = 0; i < 5 && is_asked(algorithm); i++) {
            t->key = (uint64_t)i;
            run_barrier(t, algorithm);
        }
    }
    test_pin(t->row->id, NULL);
}

/* ---- all of a group, all groups ---- */

static void run_group(struct test_case *t, bool small_pieces)
{
    const int p = t->group->size;
    const int all[] = {0, 1, 2, p - 1, p, p + 1, 7, 64, MAX_COUNT}, large[] = {p + 1, 130, MAX_COUNT};
    const int *counts = small_pieces ? large : all;
    const int n = small_pieces ? (int)(sizeof large / sizeof *large) : (int)(sizeof all / sizeof *all);

    for (int row = 0; row < NROWS; row++) {
        t->row = &rows[row];
        if (has(t, TT_NEIGHBOURS) || !has_any_asked(t->row))
            continue;
        if (has(t, TT_NO_BUFFER))
            run_barriers(t);
        for (int i = 0; i < n && !has(t, TT_NO_BUFFER); i++)
            run_count(t, counts[i], VARIANTS);
    }
}

static void run_neighbours(struct test_case *t)
{
    static const int counts[] = {0, 1, 130};

    for (int row = 0; row < NROWS; row++) {
        t->row = &rows[row];
        for (int i = 0; i < 3 && has(t, TT_NEIGHBOURS) && has_any_asked(t->row) && case_can_be_asked(t); i++)
            run_count(t, counts[i], 2);
    }
}

static void run_topologies(struct test_case *t, const struct group *g)
{
    for (int i = 0; i < NTOPOLOGIES; i++) {
        struct group arranged = group_arrange(g, i);

        t->group = &arranged;
        run_neighbours(t);
        group_free(&arranged);
    }
}

/* Splits in front of 1, 2, ..., n/2 give groups of all sizes from 1 to n-1. */
static void run_groups(struct test_case *t, bool small_pieces)
{
    for (int at = 0; at <= test_size / 2; at++) {
        struct group g = group_make(at);

        key = (uint64_t)(at + 1 + small_pieces * test_size) << 20;
        t->group = &g;
        run_group(t, small_pieces);
        run_topologies(t, &g);
        group_free(&g);
    }
}

int main(int argc, char **argv)
{
    struct test_case t = case_make();

    t.kind_of = kind_between;
    only = argc > 1 ? argv[1] : NULL;
    test_begin(&argc, &argv, 300);
    regions_make();
    run_groups(&t, false);
    test_set("TUTTI_CHUNK", "1K");
    test_set("TUTTI_SEGMENT", "256");
    run_groups(&t, true);
    regions_free();
    case_free(&t);
    return test_end();
}
