/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes and ops of the user's own. Every rank uses another datatype for the same signature of twelve ints: with
 * gaps, out of order, with a lower bound that is not zero, or as absolute addresses from MPI_BOTTOM; each collective
 * that moves data must give what the MPI below gives, gaps included. User's ops, commutative and not, must be what a
 * fold from rank 0 upwards gives, be called on whole elements and with the user's own handle. Intercommunicators
 * must work on host memory and be refused, by name, on a device's. Two datatypes with gaps may share an address and no
 * byte. Tutti's own types have no MPI below to fall back on, but take a user's op. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/cases.h"

/* ---- layouts of twelve ints ---- */

enum { INTS = 12, NLAYOUTS = 8 };

static struct kind layouts[NLAYOUTS];

static MPI_Datatype resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype made;

    PMPI_Type_create_resized(old, lb, extent, &made);
    PMPI_Type_free(&old);
    return made;
}

static MPI_Datatype contiguous(int n, MPI_Datatype old)
{
    MPI_Datatype made;

    PMPI_Type_contiguous(n, old, &made);
    return made;
}

static MPI_Datatype pairs(void)
{
    MPI_Datatype two = contiguous(2, MPI_INT), made = contiguous(INTS / 2, two);

    PMPI_Type_free(&two);
    return made;
}

static MPI_Datatype vector(void)
{
    MPI_Datatype made;

    PMPI_Type_vector(3, 4, 6, MPI_INT, &made);
    return made;
}

static MPI_Datatype indexed(void)
{
    const int lengths[] = {4, 5, 3}, places[] = {9, 0, 15}; /* not in order */
    MPI_Datatype made;

    PMPI_Type_indexed(3, lengths, places, MPI_INT, &made);
    return made;
}

static MPI_Datatype structure(void)
{
    const int lengths[] = {4, 1, 7};
    const MPI_Aint places[] = {0, 32, 40};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Datatype made;

    PMPI_Type_create_struct(3, lengths, places, types, &made);
    return made;
}

static void make_layouts(void)
{
    layouts[0] = (struct kind){.name = "contiguous", .type = contiguous(INTS, MPI_INT)};
    layouts[1] = (struct kind){.name = "six pairs", .type = pairs()};
    layouts[2] = (struct kind){.name = "vector", .type = vector()};
    layouts[3] = (struct kind){.name = "indexed", .type = indexed()};
    layouts[4] = (struct kind){.name = "struct", .type = structure()};
    layouts[5] = (struct kind){.name = "lower bound -8", .type = resized(contiguous(INTS, MPI_INT), -8, 64)};
    layouts[6] = (struct kind){.name = "lower bound 16", .type = resized(vector(), 16, 96)};
    layouts[7] = (struct kind){.name = "lower bound 4, and the extent of a contiguous one",
                               .type = resized(contiguous(INTS, MPI_INT), 4, 48)};
    for (int i = 0; i < NLAYOUTS; i++) {
        struct kind *l = &layouts[i];
        MPI_Aint lb;

        PMPI_Type_commit(&l->type);
        PMPI_Type_get_extent(l->type, &lb, &l->extent);
        PMPI_Type_get_true_extent(l->type, &l->lb, &l->span);
        l->payload = l->extent; /* the gaps too must stay as they are */
        l->op_name = "every rank another layout";
    }
}

static void free_layouts(void)
{
    for (int i = 0; i < NLAYOUTS; i++)
        PMPI_Type_free(&layouts[i].type);
}

/* ---- collectives that move data ---- */

static int shift; /* which layouts the ranks use; beyond NLAYOUTS only the root uses one that is not contiguous */

static const struct kind *layout_of(const struct test_case *t, enum side_name side, int sender, int receiver)
{
    const int peer = has(t, TT_TYPES) ? (side == SEND_SIDE ? receiver : sender) + 1 : 0;
    const int here = (side == SEND_SIDE ? test_rank : test_rank * 3 + 1) + shift + peer * 5;

    return &layouts[shift >= NLAYOUTS && test_rank != t->root ? 0 : here % NLAYOUTS];
}

static void try(const struct test_case *t, const char *algorithm, enum memory from, enum memory to)
{
    struct region *send = &regions[from][SEND_SIDE], *recv = &regions[to][RECV_SIDE];
    const struct tt_call c = case_put(t, send, recv, 0);

    test_now("%s by %s, from layout %d on, from %s to %s memory", case_words(t), algorithm, shift, memory_names[from],
             memory_names[to]);
    test_success(t->row->ours(&c));
    case_check(t, send, recv);
}

static void run_case(struct test_case *t)
{
    static const struct {
        enum memory from, to;
    } memories[] = {{HOST, HOST}, {DEVICE, DEVICE}, {HOST, MANAGED}, {DEVICE, HOST}};
    const int mine = test_rank + (int)(t->key % 3);
    const char *algorithm;

    case_arrange(t);
    case_fill(t, t->key);
    case_ask_native(t);
    for (int a = 0; (algorithm = test_algorithm(t->row->id, a)); a++) {
        if (strcmp(algorithm, "native") == 0 && case_breaks_native(t))
            continue;
        test_pin(t->row->id, algorithm);
        try(t, algorithm, HOST, HOST);
        if (test_gpus > 0)
            try(t, algorithm, DEVICE, DEVICE);
        if (test_gpus > 0)
            try(t, algorithm, memories[mine % 4].from, memories[mine % 4].to);
    }
    test_pin(t->row->id, NULL);
}

/* Every third choice of layouts, another third for each count and row. */
static void run_row(struct test_case *t)
{
    static const int counts[] = {0, 1, 5, 40};
    static uint64_t key;

    for (int i = 0; i < 4; i++)
        for (shift = (int)((key + (unsigned)i) % 3); shift < NLAYOUTS + 3; shift += 3) {
            t->key = ++key;
            t->count = counts[i];
            t->root = (int)(test_random(key) % (unsigned)test_size);
            t->inplace = has(t, TT_INPLACE_ALL | TT_INPLACE_ROOT) && test_random(key) >> 8 & 1;
            t->nonsense = test_random(key) >> 9 & 1;
            run_case(t);
        }
}

static void run_rows(const struct group *g)
{
    struct test_case t = case_make();

    t.group = g;
    t.kind = &layouts[0];
    t.kind_of = layout_of;
    for (int r = 0; r < NROWS; r++) {
        t.row = &rows[r];
        if (!has(&t, TT_REDUCES | TT_NO_BUFFER) && !has(&t, TT_NEIGHBOURS) == !g->topology[0] && case_can_be_asked(&t))
            run_row(&t);
    }
    case_free(&t);
}

static void try_movers(void)
{
    struct group all = group_make(0), arranged;

    run_rows(&all);
    for (int i = 0; i < NTOPOLOGIES; i++) {
        arranged = group_arrange(&all, i);
        run_rows(&arranged);
        group_free(&arranged);
    }
    group_free(&all);
}

/* ---- absolute addresses ---- */

/* A type of eight ints, which lie where they lie, from MPI_BOTTOM. */
static MPI_Datatype absolute(const char *at)
{
    const MPI_Aint places[] = {(MPI_Aint)(uintptr_t)(at + 64), (MPI_Aint)(uintptr_t)at};
    MPI_Datatype made;

    PMPI_Type_create_hindexed_block(2, 4, places, MPI_INT, &made);
    PMPI_Type_commit(&made);
    return made;
}

static void try_bottom(enum memory memory)
{
    struct region *r = &regions[memory][0];
    int now[20], want[20];
    MPI_Datatype type;

    for (int i = 0; i < 20; i++)
        want[i] = now[i] = test_rank * 100 + i;
    for (int i = 0; i < 20 && test_rank > 0; i++)
        if (i < 4 || i >= 16)
            want[i] = i;
    region_set(r, 0, now, sizeof now);
    type = absolute(r->at);
    test_now("bcast from MPI_BOTTOM, %s memory", memory_names[memory]);
    if (test_success(MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD)))
        test_check(region_holds(r, want), "expected ints 0 to 3 and 16 to 19 to be rank 0's, and the others untouched");
    PMPI_Type_free(&type);
}

/* ---- one address, two fields ---- */

struct record {
    int a, b;
};
enum { RECORDS = 70 };

/* The a or the b of every record of an array. */
static MPI_Datatype field(int which)
{
    const int one = 1;
    const MPI_Aint at = which * (MPI_Aint)sizeof(int);
    MPI_Datatype bare, made;

    PMPI_Type_create_hindexed(1, &one, &at, MPI_INT, &bare);
    made = resized(bare, 0, sizeof(struct record));
    PMPI_Type_commit(&made);
    return made;
}

static void check_records(const struct region *r, bool received)
{
    static struct record got[RECORDS * MAX_RANKS];
    int wrong = 0;

    test_check(region_get(r, got), "bytes around the records were written");
    for (int i = 0; i < RECORDS * test_size; i++) {
        const int b = received ? i / RECORDS * 1000 + i % RECORDS : -1;

        wrong += got[i].a != test_rank * 1000 + i || got[i].b != b;
    }
    test_check(wrong == 0, "%d of %d records are not what they should be", wrong, RECORDS * test_size);
}

/* Rank 0 sends the a of its records and receives into their b, at one address; the others use two arrays. */
static void try_fields(const char *algorithm, bool rooted, enum memory memory)
{
    static struct record records[RECORDS * MAX_RANKS];
    static int out[RECORDS];
    static int in[RECORDS * MAX_RANKS];
    MPI_Datatype a = field(0), b = field(1);
    struct region *r = &regions[memory][0];
    int error;

    for (int i = 0; i < RECORDS * test_size; i++)
        records[i] = (struct record){test_rank * 1000 + i, -1};
    for (int i = 0; i < RECORDS; i++)
        out[i] = test_rank * 1000 + i;
    region_set(r, 0, records, sizeof *records * (size_t)(RECORDS * test_size));
    test_now("%s by %s from one field of an array to another, %s memory", rooted ? "gather" : "allgather", algorithm,
             memory_names[memory]);
    if (test_rank == 0)
        error = rooted ? MPI_Gather(r->at, RECORDS, a, r->at, RECORDS, b, 0, MPI_COMM_WORLD)
                       : MPI_Allgather(r->at, RECORDS, a, r->at, RECORDS, b, MPI_COMM_WORLD);
    else
        error = rooted ? MPI_Gather(out, RECORDS, MPI_INT, in, RECORDS, MPI_INT, 0, MPI_COMM_WORLD)
                       : MPI_Allgather(out, RECORDS, MPI_INT, in, RECORDS, MPI_INT, MPI_COMM_WORLD);
    if (test_success(error))
        check_records(r, test_rank == 0);
    PMPI_Type_free(&a);
    PMPI_Type_free(&b);
}

static void try_all_fields(void)
{
    const char *algorithm, *id;

    for (int rooted = 0; rooted < 2; rooted++) {
        id = rooted ? "gather" : "allgather";
        for (int i = 0; (algorithm = test_algorithm(id, i)); i++) {
            test_pin(id, algorithm);
            try_fields(algorithm, rooted, HOST);
            if (test_gpus > 0)
                try_fields(algorithm, rooted, DEVICE);
        }
        test_pin(id, NULL);
    }
}

/* ---- the user's ops ---- */

struct matrix {
    uint64_t m[4];
    uint64_t gap;
};

static MPI_Datatype matrix_type;
static long strange_calls; /* with a type that is not the user's */

static struct matrix product(const struct matrix *a, const struct matrix *b)
{
    return (struct matrix){{a->m[0] * b->m[0] + a->m[1] * b->m[2], a->m[0] * b->m[1] + a->m[1] * b->m[3],
                            a->m[2] * b->m[0] + a->m[3] * b->m[2], a->m[2] * b->m[1] + a->m[3] * b->m[3]},
                           b->gap};
}

static struct matrix sum(const struct matrix *a, const struct matrix *b)
{
    return (struct matrix){{a->m[0] + b->m[0], a->m[1] + b->m[1], a->m[2] + b->m[2], a->m[3] + b->m[3]}, b->gap};
}

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct matrix *a = in, *b = inout;

    strange_calls += *type != matrix_type;
    for (int i = 0; i < *n; i++)
        b[i] = product(&a[i], &b[i]);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct matrix *a = in, *b = inout;

    strange_calls += *type != matrix_type;
    for (int i = 0; i < *n; i++)
        b[i] = sum(&a[i], &b[i]);
}

enum { MATRICES = 11 };

struct user_op {
    const char *name;
    MPI_Op op;
    struct matrix (*combine)(const struct matrix *, const struct matrix *);
};

static struct matrix matrix_of(int rank, int i)
{
    struct matrix m = {.gap = 77};

    for (int j = 0; j < 4; j++)
        m.m[j] = test_random((uint64_t)(rank * 1000 + i * 4 + j)) % 1000;
    return m;
}

/* The fold of all ranks' i-th matrices, from rank 0 upwards. */
static struct matrix folded(const struct user_op *u, int i)
{
    struct matrix all = matrix_of(0, i);

    for (int r = 1; r < test_size; r++) {
        const struct matrix next = matrix_of(r, i);

        all = u->combine(&all, &next);
    }
    return all;
}

static void compare_matrices(const struct user_op *u, const struct region *r, int first, int n)
{
    static struct matrix got[MATRICES * MAX_RANKS];

    test_check(region_get(r, got), "bytes around the receive buffer were written");
    for (int i = 0; i < n; i++) {
        const struct matrix want = folded(u, first + i);

        if (!test_check(memcmp(got[i].m, want.m, sizeof want.m) == 0,
                        "matrix %d: expected %llu %llu %llu %llu, got %llu %llu %llu %llu", i,
                        (unsigned long long)want.m[0], (unsigned long long)want.m[1], (unsigned long long)want.m[2],
                        (unsigned long long)want.m[3], (unsigned long long)got[i].m[0], (unsigned long long)got[i].m[1],
                        (unsigned long long)got[i].m[2], (unsigned long long)got[i].m[3]))
            return;
    }
}

static void try_user_op(const struct user_op *u, enum memory from, enum memory to)
{
    static struct matrix ours[MATRICES * MAX_RANKS];
    const int root = test_size / 2, blocks = MATRICES * test_size;
    struct region *send = &regions[from][0], *recv = &regions[to][1];

    for (int i = 0; i < blocks; i++)
        ours[i] = matrix_of(test_rank, i);
    region_set(send, 0, ours, sizeof *ours * (size_t)blocks);
    test_now("allreduce with %s of matrices, from %s to %s memory", u->name, memory_names[from], memory_names[to]);
    region_set(recv, 0, ours, sizeof *ours * MATRICES);
    if (test_success(MPI_Allreduce(send->at, recv->at, MATRICES, matrix_type, u->op, MPI_COMM_WORLD)))
        compare_matrices(u, recv, 0, MATRICES);
    test_now("reduce with %s of matrices, from %s to %s memory", u->name, memory_names[from], memory_names[to]);
    region_set(recv, 0, ours, sizeof *ours * MATRICES);
    if (test_success(MPI_Reduce(send->at, recv->at, MATRICES, matrix_type, u->op, root, MPI_COMM_WORLD)) &&
        test_rank == root)
        compare_matrices(u, recv, 0, MATRICES);
    test_now("reduce_scatter_block with %s of matrices, from %s to %s memory", u->name, memory_names[from],
             memory_names[to]);
    region_set(recv, 0, ours, sizeof *ours * MATRICES);
    if (test_success(MPI_Reduce_scatter_block(send->at, recv->at, MATRICES, matrix_type, u->op, MPI_COMM_WORLD)))
        compare_matrices(u, recv, test_rank * MATRICES, MATRICES);
    test_now("allreduce in place with %s of matrices, in %s memory", u->name, memory_names[to]);
    region_set(recv, 0, ours, sizeof *ours * MATRICES);
    if (test_success(MPI_Allreduce(MPI_IN_PLACE, recv->at, MATRICES, matrix_type, u->op, MPI_COMM_WORLD)))
        compare_matrices(u, recv, 0, MATRICES);
}

static void try_user_ops(void)
{
    MPI_Datatype whole = contiguous(4, MPI_UINT64_T);
    struct user_op ops[] = {{.name = "a product", .combine = product}, {.name = "a sum", .combine = sum}};

    strange_calls = 0;
    matrix_type = resized(whole, 0, sizeof(struct matrix));
    PMPI_Type_commit(&matrix_type);
    PMPI_Op_create(multiply, 0, &ops[0].op);
    PMPI_Op_create(add, 1, &ops[1].op);
    for (int i = 0; i < 2; i++) {
        try_user_op(&ops[i], HOST, HOST);
        if (test_gpus > 0) {
            try_user_op(&ops[i], DEVICE, DEVICE);
            try_user_op(&ops[i], test_rank % 2 ? DEVICE : HOST, test_rank % 3 ? DEVICE : HOST);
        }
        PMPI_Op_free(&ops[i].op);
    }
    test_now("the user's ops");
    test_check(strange_calls == 0, "expected every call with the user's type, got %ld with another", strange_calls);
    PMPI_Type_free(&matrix_type);
}

/* ---- Tutti's types ---- */

enum { HALVES = 300 };

/* Small whole numbers, of which every sum is exact. */
static uint16_t half_of(int number)
{
    int exponent = 0;

    if (number == 0)
        return 0;
    while (number >> (exponent + 1))
        exponent++;
    return (uint16_t)((exponent + 15) << 10 | (number << (10 - exponent) & 0x3ff));
}

static MPI_Datatype half_type;

static void exclude(void *in, void *inout, int *n, MPI_Datatype *type)
{
    strange_calls += *type != half_type;
    for (int i = 0; i < *n; i++)
        ((uint16_t *)inout)[i] ^= ((uint16_t *)in)[i];
}

static void try_halves(const char *algorithm, MPI_Op op, enum memory from, enum memory to)
{
    uint16_t ours[HALVES], want[HALVES], got[HALVES];
    struct region *send = &regions[from][0], *recv = &regions[to][1];
    int wrong = 0;

    for (int i = 0; i < HALVES; i++) {
        int sum = 0;

        want[i] = 0;
        for (int r = 0; r < test_size; r++) {
            sum += (r + i) % 9;
            want[i] ^= half_of((r + i) % 9);
        }
        ours[i] = half_of((test_rank + i) % 9);
        want[i] = op == MPI_SUM ? half_of(sum) : want[i];
    }
    region_set(send, 0, ours, sizeof ours);
    region_set(recv, 0, ours, sizeof ours);
    test_now("allreduce of TUTTI_FLOAT16 with %s, TUTTI_ALLREDUCE=%s, from %s to %s memory",
             op == MPI_SUM ? "MPI_SUM" : "a user's op", algorithm ? algorithm : "", memory_names[from],
             memory_names[to]);
    if (!test_success(MPI_Allreduce(send->at, recv->at, HALVES, half_type, op, MPI_COMM_WORLD)))
        return;
    test_check(region_get(recv, got), "bytes around the receive buffer were written");
    for (int i = 0; i < HALVES; i++)
        wrong += got[i] != want[i];
    test_check(wrong == 0, "%d of %d elements are wrong", wrong, HALVES);
}

/* Whatever the pin says: the MPI below cannot add them, and the user's op is the MPI's to call. */
static void try_own_types(void)
{
    static const char *const pins[] = {"native", "ring", NULL};
    MPI_Op op;

    test_format(0, &half_type);
    PMPI_Op_create(exclude, 1, &op);
    strange_calls = 0;
    for (int i = 0; i < 3; i++) {
        test_pin("allreduce", pins[i]);
        for (int u = 0; u < 2; u++) {
            try_halves(pins[i], u ? op : MPI_SUM, HOST, HOST);
            if (test_gpus > 0)
                try_halves(pins[i], u ? op : MPI_SUM, DEVICE, DEVICE);
            if (test_gpus > 0)
                try_halves(pins[i], u ? op : MPI_SUM, test_rank % 2 ? DEVICE : HOST, test_rank % 3 ? DEVICE : HOST);
        }
    }
    test_pin("allreduce", NULL);
    test_check(strange_calls == 0, "expected every call with Tutti's type, got %ld with another", strange_calls);
    PMPI_Op_free(&op);
}

/* ---- types that nobody may look at ---- */

/* Each rank sends to the next alone; the other entries have no elements, and no type. */
static void try_null_types(enum memory memory)
{
    const int next = (test_rank + 1) % test_size, before = (test_rank + test_size - 1) % test_size;
    int *to = calloc((size_t)test_size, sizeof *to), *from = calloc((size_t)test_size, sizeof *from);
    int *at = calloc((size_t)test_size, sizeof *at), got = -1;
    MPI_Datatype *to_types = malloc((size_t)test_size * sizeof *to_types);
    MPI_Datatype *from_types = malloc((size_t)test_size * sizeof *from_types);
    struct region *send = &regions[memory][0], *recv = &regions[memory][1];

    for (int i = 0; i < test_size; i++)
        to_types[i] = from_types[i] = MPI_DATATYPE_NULL;
    to[next] = from[before] = 1;
    to_types[next] = from_types[before] = MPI_INT;
    region_set(send, 0, &test_rank, sizeof test_rank);
    region_set(recv, 0, &got, sizeof got);
    test_now("alltoallw with null types where nothing passes, %s memory", memory_names[memory]);
    test_success(MPI_Alltoallw(send->at, to, at, to_types, recv->at, from, at, from_types, MPI_COMM_WORLD));
    region_get(recv, &got);
    test_check(got == before, "expected %d, got %d", before, got);
    free(to);
    free(from);
    free(at);
    free(to_types);
    free(from_types);
}

/* ---- intercommunicators ---- */

static void try_inter_allreduce(enum memory memory, MPI_Comm inter)
{
    struct region *send = &regions[memory][0], *recv = &regions[memory][1];
    const int half = test_size / 2;
    const double mine = test_rank + 1, none = -1, want = test_rank < half ? test_size : half;
    double got;

    test_now("allreduce on an intercommunicator, %s memory", memory_names[memory]);
    region_set(send, 0, &mine, sizeof mine);
    region_set(recv, 0, &none, sizeof none);
    test_success(MPI_Allreduce(send->at, recv->at, 1, MPI_DOUBLE, MPI_MAX, inter));
    region_get(recv, &got);
    test_check(got == want, "expected the other group's %g, got %g", want, got);
}

/* From a rank of the first group. */
static void try_inter_bcast(enum memory memory, MPI_Comm inter, int root)
{
    struct region *r = &regions[memory][1];
    const bool first = test_rank < test_size / 2;
    const double mine = test_rank + 1, want = first ? mine : root + 1;
    double got;

    test_now("bcast on an intercommunicator from rank %d, %s memory", root, memory_names[memory]);
    region_set(r, 0, &mine, sizeof mine);
    test_success(MPI_Bcast(r->at, 1, MPI_DOUBLE, !first ? root : test_rank == root ? MPI_ROOT : MPI_PROC_NULL, inter));
    region_get(r, &got);
    test_check(got == want, "expected %g, got %g", want, got);
}

static void try_inter(enum memory memory, MPI_Comm inter)
{
    try_inter_allreduce(memory, inter);
    for (int root = 0; root < test_size / 2; root++)
        try_inter_bcast(memory, inter, root);
}

static void try_intercommunicators(void)
{
    const int half = test_size / 2;
    const bool first = test_rank < half;
    MPI_Comm part, inter;

    if (test_size < 2)
        return;
    PMPI_Comm_split(MPI_COMM_WORLD, first, test_rank, &part);
    PMPI_Intercomm_create(part, 0, MPI_COMM_WORLD, first ? half : 0, 9, &inter);
    PMPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    try_inter(HOST, inter);
    if (test_gpus > 0)
        try_inter(DEVICE, inter);
    test_now("a barrier on an intercommunicator");
    test_success(MPI_Barrier(inter));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 200);
    make_layouts();
    regions_make();
    try_movers();
    test_set("TUTTI_CHUNK", "256");
    test_set("TUTTI_SEGMENT", "100");
    try_movers();
    try_bottom(HOST);
    if (test_gpus > 0)
        try_bottom(DEVICE);
    try_all_fields();
    try_user_ops();
    try_own_types();
    test_set("TUTTI_REPRODUCIBLE", "1"); /* Tutti calls the user's ops itself */
    try_user_ops();
    try_own_types();
    test_set("TUTTI_REPRODUCIBLE", "0");
    try_null_types(HOST);
    if (test_gpus > 0)
        try_null_types(DEVICE);
    try_intercommunicators();
    regions_free();
    free_layouts();
    return test_end();
}
