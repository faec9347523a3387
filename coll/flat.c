/* SPDX-License-Identifier: BSD-3-Clause */
/* A datatype is a tree of constructors. Each is a list of blocks of an older type, so one function, which repeats a
 * list of runs at constant steps, flattens them all. Runs are joined as they are added: those that follow each other
 * become one, equal ones at equal distances a strided one. So vectors, columns, nested contiguous types and structs
 * without gaps are one run each, and what is contiguous under whatever disguise is one run of one row.
 *
 * A list is as long as the type has pieces that are no such regular pattern: 40 bytes each. Flattening costs about a
 * microsecond for small types, and is done once in the life of a datatype (types.c keeps it). */
#include "coll/flat.h"

#include <config.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "coll/contents.h"

/* ---- a list of runs that grows ---- */

static int append(struct tt_run_list *l, const struct tt_run *r)
{
    return tt_run_list_add(l, r) ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* n copies of one run that make one run: true, and they are in r. */
static bool multiply(struct tt_run *r, int64_t n, int64_t step)
{
    if (n == 1)
        return true;
    if (r->n > 1 && step != r->n * r->stride)
        return false;
    if (r->n == 1 && step == r->length) {
        r->length *= n;
        return true;
    }
    r->stride = r->n == 1 ? step : r->stride;
    r->n *= n;
    return true;
}

/* Adds n copies of what is in `from`, the first `at` bytes away and each a step from the one before. */
static int repeat(struct tt_run_list *l, const struct tt_run_list *from, int64_t at, int64_t n, int64_t step)
{
    struct tt_run all = from->n == 1 ? from->run[0] : (struct tt_run){0};
    int error = MPI_SUCCESS;

    all.at += at;
    if (n <= 0 || from->n == 0)
        return MPI_SUCCESS;
    if (from->n == 1 && multiply(&all, n, step))
        return append(l, &all);
    for (int64_t i = 0; i < n && error == MPI_SUCCESS; i++)
        for (int64_t j = 0; j < from->n && error == MPI_SUCCESS; j++) {
            struct tt_run r = from->run[j];

            r.at += at + i * step;
            error = append(l, &r);
        }
    return error;
}

/* ---- predefined types ---- */

/* Pairs are structs of C, with the padding that C has. */
#define PAIRS(ROW)                                                                                                     \
    ROW(MPI_FLOAT_INT, float)                                                                                          \
    ROW(MPI_DOUBLE_INT, double)                                                                                        \
    ROW(MPI_LONG_INT, long)                                                                                            \
    ROW(MPI_SHORT_INT, short)                                                                                          \
    ROW(MPI_LONG_DOUBLE_INT, long double)

static int flatten_pair(struct tt_run_list *l, int64_t bytes, int64_t index)
{
    int error = append(l, &(struct tt_run){.at = 0, .length = bytes, .n = 1});

    return error ? error : append(l, &(struct tt_run){.at = index, .length = sizeof(int), .n = 1});
}

static int flatten_named(struct tt_run_list *l, MPI_Datatype type)
{
    MPI_Count size;
    const int error = PMPI_Type_size_x(type, &size);

#define PAIR(handle, ctype)                                                                                            \
    if (type == handle)                                                                                                \
        return flatten_pair(l, sizeof(ctype),                                                                          \
                            offsetof(                                                                                  \
                                struct {                                                                               \
                                    ctype value;                                                                       \
                                    int index;                                                                         \
                                },                                                                                     \
                                index));
    PAIRS(PAIR)
    if (error != MPI_SUCCESS || size == 0)
        return error;
    return append(l, &(struct tt_run){.at = 0, .length = size, .n = 1});
}

/* ---- constructors ---- */

static int flatten(struct tt_run_list *l, MPI_Datatype type);

/* What a constructor was given. old and extent: of its one older type; a struct has several. */
struct given {
    const struct tt_contents *c;
    const int64_t *number;
    struct tt_run_list old;
    int64_t extent;
};

static int extent_of(MPI_Datatype type, int64_t *extent)
{
    MPI_Count lb, bytes;
    const int error = PMPI_Type_get_extent_x(type, &lb, &bytes);

    *extent = bytes;
    return error;
}

static int same(struct tt_run_list *l, const struct given *g)
{
    return repeat(l, &g->old, 0, 1, 0);
}

static int contiguous(struct tt_run_list *l, const struct given *g)
{
    return repeat(l, &g->old, 0, g->number[0], g->extent);
}

/* Count, block length, and a stride that is so many units. */
static int strided(struct tt_run_list *l, const struct given *g, int64_t unit)
{
    struct tt_run_list block = {NULL, 0, 0};
    int error = repeat(&block, &g->old, 0, g->number[1], g->extent);

    if (error == MPI_SUCCESS)
        error = repeat(l, &block, 0, g->number[0], g->number[2] * unit);
    tt_run_list_end(&block);
    return error;
}

static int vector(struct tt_run_list *l, const struct given *g)
{
    return strided(l, g, g->extent);
}

static int hvector(struct tt_run_list *l, const struct given *g)
{
    return strided(l, g, 1);
}

/* Count, lengths, displacements in units; or with one length for all, which stays where it is. */
static int placed(struct tt_run_list *l, const struct given *g, int64_t unit, bool one_length)
{
    const int64_t n = g->number[0], *length = &g->number[1], *at = length + (one_length ? 1 : n);
    int error = MPI_SUCCESS;

    for (int64_t i = 0; i < n && error == MPI_SUCCESS; i++)
        error = repeat(l, &g->old, at[i] * unit, length[one_length ? 0 : i], g->extent);
    return error;
}

static int indexed(struct tt_run_list *l, const struct given *g)
{
    return placed(l, g, g->extent, false);
}

static int hindexed(struct tt_run_list *l, const struct given *g)
{
    return placed(l, g, 1, false);
}

static int indexed_block(struct tt_run_list *l, const struct given *g)
{
    return placed(l, g, g->extent, true);
}

static int hindexed_block(struct tt_run_list *l, const struct given *g)
{
    return placed(l, g, 1, true);
}

static int structure(struct tt_run_list *l, const struct given *g)
{
    const int64_t n = g->number[0], *length = &g->number[1], *at = length + n;
    int error = MPI_SUCCESS;

    for (int64_t i = 0; i < n && error == MPI_SUCCESS; i++) {
        struct tt_run_list field = {NULL, 0, 0};
        int64_t extent = 0;

        error = extent_of(g->c->types[i], &extent);
        if (error == MPI_SUCCESS)
            error = flatten(&field, g->c->types[i]);
        if (error == MPI_SUCCESS)
            error = repeat(l, &field, at[i], length[i], extent);
        tt_run_list_end(&field);
    }
    return error;
}

/* ---- arrays ---- */

/* One dimension of an array: of `size` entries those in [first, first + length), and again `cycle` entries on, up to
 * the end. */
struct dimension {
    int64_t size, first, length, cycle;
};

/* Whole lines of what the inner dimensions made become entries of the next. */
static int add_dimension(struct tt_run_list *l, const struct tt_run_list *inner, const struct dimension *d,
                         int64_t bytes)
{
    int error = MPI_SUCCESS;

    for (int64_t at = d->first; at < d->size && error == MPI_SUCCESS; at += d->cycle) {
        const int64_t n = d->size - at < d->length ? d->size - at : d->length;

        error = repeat(l, inner, at * bytes, n, bytes);
    }
    return error;
}

/* dims: the one whose entries are next to each other comes last in MPI_ORDER_C, else first. */
static int array(struct tt_run_list *l, const struct given *g, const struct dimension *dims, int64_t n, bool c_order)
{
    struct tt_run_list inner = {NULL, 0, 0};
    int64_t bytes = g->extent;
    int error = repeat(&inner, &g->old, 0, 1, 0);

    for (int64_t i = 0; i < n && error == MPI_SUCCESS; i++) {
        const struct dimension *d = &dims[c_order ? n - 1 - i : i];
        struct tt_run_list outer = {NULL, 0, 0};

        error = add_dimension(&outer, &inner, d, bytes);
        bytes *= d->size;
        tt_run_list_end(&inner);
        inner = outer;
    }
    if (error == MPI_SUCCESS)
        error = repeat(l, &inner, 0, 1, 0);
    tt_run_list_end(&inner);
    return error;
}

/* ndims, sizes, subsizes, starts, order; or with large counts: ndims, order, sizes, subsizes, starts. */
static int subarray(struct tt_run_list *l, const struct given *g)
{
    const int64_t n = g->number[0], *size = &g->number[g->c->large ? 2 : 1];
    const int64_t order = g->number[g->c->large ? 1 : 1 + 3 * n];
    struct dimension *dims = calloc((size_t)n + 1, sizeof *dims);
    int error;

    if (!dims)
        return MPI_ERR_NO_MEM;
    for (int64_t i = 0; i < n; i++)
        dims[i] = (struct dimension){size[i], size[2 * n + i], size[n + i], size[i]};
    error = array(l, g, dims, n, order == MPI_ORDER_C);
    free(dims);
    return error;
}

/* What the process at that coordinate of p has of a dimension. */
static struct dimension share(int64_t size, int64_t distribution, int64_t argument, int64_t p, int64_t coordinate)
{
    int64_t block = argument;

    if (distribution == MPI_DISTRIBUTE_NONE)
        return (struct dimension){size, 0, size, size};
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        block = distribution == MPI_DISTRIBUTE_BLOCK ? (size + p - 1) / p : 1;
    return (struct dimension){size, coordinate * block, block, p * block};
}

/* size, rank, ndims, global sizes, distributions, arguments, process grid, order; large global sizes are last. The
 * grid's last coordinate changes first, whatever the order of the array. */
static int darray(struct tt_run_list *l, const struct given *g)
{
    const int64_t n = g->number[2], *size = g->c->large ? &g->number[4 + 3 * n] : &g->number[3];
    const int64_t *distribution = g->c->large ? &g->number[3] : &g->number[3 + n];
    const int64_t *argument = distribution + n, *p = argument + n, order = p[n];
    struct dimension *dims = calloc((size_t)n + 1, sizeof *dims);
    int64_t rank = g->number[1];
    int error;

    if (!dims)
        return MPI_ERR_NO_MEM;
    for (int64_t i = n - 1; i >= 0; i--) {
        dims[i] = share(size[i], distribution[i], argument[i], p[i], rank % p[i]);
        rank /= p[i];
    }
    error = array(l, g, dims, n, order == MPI_ORDER_C);
    free(dims);
    return error;
}

/* ---- all of them ---- */

/* Fortran 77's, with displacements that were default integers; only some MPIs still know them. */
#ifdef OLD_COMBINERS
#define FORTRAN_77(ROW)                                                                                                \
    ROW(MPI_COMBINER_HVECTOR_INTEGER, hvector)                                                                         \
    ROW(MPI_COMBINER_HINDEXED_INTEGER, hindexed)                                                                       \
    ROW(MPI_COMBINER_STRUCT_INTEGER, structure)
#else
#define FORTRAN_77(ROW)
#endif

#define COMBINERS(ROW)                                                                                                 \
    ROW(MPI_COMBINER_DUP, same)                                                                                        \
    ROW(MPI_COMBINER_RESIZED, same)                                                                                    \
    ROW(MPI_COMBINER_CONTIGUOUS, contiguous)                                                                           \
    ROW(MPI_COMBINER_VECTOR, vector)                                                                                   \
    ROW(MPI_COMBINER_HVECTOR, hvector)                                                                                 \
    ROW(MPI_COMBINER_INDEXED, indexed)                                                                                 \
    ROW(MPI_COMBINER_HINDEXED, hindexed)                                                                               \
    ROW(MPI_COMBINER_INDEXED_BLOCK, indexed_block)                                                                     \
    ROW(MPI_COMBINER_HINDEXED_BLOCK, hindexed_block)                                                                   \
    ROW(MPI_COMBINER_STRUCT, structure)                                                                                \
    ROW(MPI_COMBINER_SUBARRAY, subarray)                                                                               \
    ROW(MPI_COMBINER_DARRAY, darray)                                                                                   \
    FORTRAN_77(ROW)

static const struct constructor {
    int combiner;
    int (*flatten)(struct tt_run_list *l, const struct given *g);
} constructors[] = {
#define ROW(combiner, function) {combiner, function},
    COMBINERS(ROW)};

static const struct constructor *constructor_of(int combiner)
{
    for (size_t i = 0; i < sizeof constructors / sizeof constructors[0]; i++)
        if (constructors[i].combiner == combiner)
            return &constructors[i];
    return NULL;
}

static int construct(struct tt_run_list *l, const struct constructor *how, const struct tt_contents *c)
{
    struct given g = {.c = c, .number = c->numbers};
    int error = MPI_SUCCESS;

    if (how->flatten != structure) {
        error = extent_of(c->types[0], &g.extent);
        if (error == MPI_SUCCESS)
            error = flatten(&g.old, c->types[0]);
    }
    if (error == MPI_SUCCESS)
        error = how->flatten(l, &g);
    tt_run_list_end(&g.old);
    return error;
}

static int flatten(struct tt_run_list *l, MPI_Datatype type)
{
    struct tt_contents c;
    int error = tt_contents_get(type, &c);
    const struct constructor *how = error == MPI_SUCCESS ? constructor_of(c.combiner) : NULL;

    if (error == MPI_SUCCESS)
        error = how ? construct(l, how, &c) : flatten_named(l, type);
    tt_contents_end(&c);
    return error;
}

/* ---- what others hold ---- */

struct flat {
    struct tt_runs runs;
    atomic_int holders;
    struct tt_run run[];
};

/* Whatever could not be understood shows in the size: better an error than bytes that are not the user's. */
static int check_size(MPI_Datatype type, const struct tt_runs *runs)
{
    MPI_Count size;
    const int error = PMPI_Type_size_x(type, &size);

    return error != MPI_SUCCESS ? error : size == runs->size ? MPI_SUCCESS : MPI_ERR_INTERN;
}

static int keep(MPI_Datatype type, const struct tt_run_list *l, const struct tt_runs **runs)
{
    static atomic_ullong ids;
    struct flat *f = malloc(sizeof *f + (size_t)l->n * sizeof f->run[0]);
    int error;

    if (!f)
        return MPI_ERR_NO_MEM;
    *f = (struct flat){.runs = {.nruns = l->n, .id = atomic_fetch_add(&ids, 1) + 1}, .holders = 1};
    if (l->n)
        memcpy(f->run, l->run, (size_t)l->n * sizeof f->run[0]);
    tt_runs_sum(&f->runs, f->run);
    *runs = &f->runs;
    error = extent_of(type, &f->runs.extent);
    if (error == MPI_SUCCESS)
        error = check_size(type, &f->runs);
    if (error != MPI_SUCCESS)
        free(f);
    return error;
}

int tt_flat_make(MPI_Datatype type, const struct tt_runs **runs)
{
    struct tt_run_list l = {NULL, 0, 0};
    int error = flatten(&l, type);

    *runs = NULL;
    if (error == MPI_SUCCESS)
        error = keep(type, &l, runs);
    if (error != MPI_SUCCESS)
        *runs = NULL;
    tt_run_list_end(&l);
    return error;
}

static struct flat *of(const struct tt_runs *runs)
{
    return (struct flat *)(uintptr_t)runs;
}

void tt_flat_hold(const struct tt_runs *runs)
{
    if (runs)
        atomic_fetch_add(&of(runs)->holders, 1);
}

void tt_flat_drop(const struct tt_runs *runs)
{
    if (runs && atomic_fetch_sub(&of(runs)->holders, 1) == 1)
        free(of(runs));
}
