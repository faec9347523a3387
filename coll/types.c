/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles to what they stand for. A small hash of the predefined handles, filled once: they are integers in some MPIs
 * and addresses in others, so no switch can tell them apart. */
#include "coll/types.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "coll/flat.h"
#include "coll/tutti.h"
#include "coll/world.h"

struct type_row {
    MPI_Datatype handle;
    const char *name;
    enum tt_domain domain;
    enum tt_class class;
    bool ours; /* made by tutti_type */
    struct tt_layout layout;
};

enum { MAX_TYPES = 96, SLOTS = 256, NFORMATS = TUTTI_FLOAT8_E5M2 + 1 };

static struct type_row types[MAX_TYPES];
static int ntypes;
static atomic_uchar
    slots[SLOTS]; /* 1 + index into types; 0: empty. Set last, so that who finds a row finds all of it */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static unsigned slot_of(MPI_Datatype handle)
{
    return (unsigned)((uint64_t)(uintptr_t)handle * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

static const struct type_row *row_of(MPI_Datatype handle)
{
    for (unsigned s = slot_of(handle); slots[s]; s = (s + 1) % SLOTS)
        if (types[slots[s] - 1].handle == handle)
            return &types[slots[s] - 1];
    return NULL;
}

/* Packing is the one local call that minds whether a type has been committed. */
static int check_committed(MPI_Datatype type)
{
    char byte;
    int at = 0;

    return PMPI_Pack(&byte, 0, type, &byte, 1, &at, tt_quiet_self());
}

/* Runs that could not be made are left out: this rank's trouble alone, which it can tell of once it takes part. */
static int ask_layout(MPI_Datatype type, struct tt_layout *l)
{
    MPI_Aint lb;
    MPI_Count size;
    int64_t at;
    int error = PMPI_Type_size_x(type, &size);

    if (error == MPI_SUCCESS)
        error = PMPI_Type_get_extent(type, &lb, &l->extent);
    if (error == MPI_SUCCESS)
        error = PMPI_Type_get_true_extent(type, &l->true_lb, &l->true_extent);
    if (error != MPI_SUCCESS)
        return error;
    l->size = (size_t)size;
    l->plain = false;
    if (tt_flat_make(type, &l->runs) != MPI_SUCCESS)
        return MPI_SUCCESS;
    l->plain = tt_runs_solid(l->runs, 2, &at) && at == 0;
    if (size > 0) {
        /* Open MPI 4.1 forgets that a stride may be negative */
        l->true_lb = l->runs->low;
        l->true_extent = l->runs->high - l->runs->low;
    }
    return MPI_SUCCESS;
}

static void add(MPI_Datatype handle, const char *name, enum tt_domain domain, enum tt_class class, bool ours)
{
    unsigned s = slot_of(handle);
    struct type_row row = {.handle = handle, .name = name, .domain = domain, .class = class, .ours = ours};

    if (handle == MPI_DATATYPE_NULL || ntypes == MAX_TYPES || row_of(handle) || ask_layout(handle, &row.layout))
        return;
    types[ntypes] = row;
    while (slots[s])
        s = (s + 1) % SLOTS;
    slots[s] = (unsigned char)++ntypes;
}

static void fill(void)
{
#define TT_MPI_TYPE(handle, domain, class) add(handle, #handle, TT_DOMAIN_##domain, class, false);
#include "cuda/mpi_types.def"
#undef TT_MPI_TYPE
}

static const struct type_row *type_find(MPI_Datatype type)
{
    pthread_once(&once, fill);
    return row_of(type);
}

/* ---- the user's types: what is known of one is an attribute of it, so that it goes when the type goes ---- */

struct known {
    struct tt_layout layout;
    struct known *next, **link; /* of all of them */
};

static struct known *all_known;
/* Recursive: flattening gives back inner types, whose attributes may go then. */
static pthread_mutex_t knowing = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static atomic_int known_key = MPI_KEYVAL_INVALID;
static atomic_bool closed; /* types may still be there, with attributes that point at nothing */

/* Both with the lock held. */
static void remember(struct known *k)
{
    k->next = all_known;
    k->link = &all_known;
    if (k->next)
        k->next->link = &k->next;
    all_known = k;
}

static void forget(struct known *k)
{
    *k->link = k->next;
    if (k->next)
        k->next->link = k->link;
    tt_flat_drop(k->layout.runs);
    free(k);
}

static int on_type_freed(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)extra;
    pthread_mutex_lock(&knowing);
    if (!closed && key == known_key)
        forget(value);
    pthread_mutex_unlock(&knowing);
    return MPI_SUCCESS;
}

/* A duplicate has the same runs, and they live as long as any of the two: a call under way holds its datatypes so. */
static int on_type_duplicated(MPI_Datatype type, int key, void *extra, void *value, void *copy, int *copied)
{
    struct known *k = malloc(sizeof *k);

    (void)type;
    (void)extra;
    pthread_mutex_lock(&knowing);
    *copied = k && !closed && key == known_key;
    if (*copied) {
        k->layout = ((const struct known *)value)->layout;
        tt_flat_hold(k->layout.runs);
        remember(k);
        *(struct known **)copy = k;
    }
    pthread_mutex_unlock(&knowing);
    if (!*copied)
        free(k);
    return MPI_SUCCESS;
}

static const struct known *known_of(MPI_Datatype type)
{
    struct known *k = NULL;
    int there = 0;

    if (closed || known_key == MPI_KEYVAL_INVALID || PMPI_Type_get_attr(type, known_key, &k, &there) != MPI_SUCCESS)
        return NULL;
    return there ? k : NULL;
}

/* With the lock held. */
static int attach(MPI_Datatype type, struct known *k)
{
    int error = MPI_SUCCESS, key = known_key;

    if (key == MPI_KEYVAL_INVALID)
        error = PMPI_Type_create_keyval(on_type_duplicated, on_type_freed, &key, NULL);
    if (error != MPI_SUCCESS)
        return error;
    known_key = key;
    error = PMPI_Type_set_attr(type, key, k);
    if (error != MPI_SUCCESS)
        return error;
    remember(k);
    return MPI_SUCCESS;
}

/* With the lock held. Runs that nobody would keep are not handed out. */
static void keep(MPI_Datatype type, struct tt_layout *layout)
{
    struct known *k = closed ? NULL : malloc(sizeof *k);

    if (k) {
        k->layout = *layout;
        if (attach(type, k) == MPI_SUCCESS)
            return;
    }
    free(k);
    tt_flat_drop(layout->runs);
    layout->runs = NULL;
}

static int learn(MPI_Datatype type, struct tt_layout *layout)
{
    const struct known *k;
    int error;

    pthread_mutex_lock(&knowing);
    k = known_of(type);
    if (k)
        *layout = k->layout;
    error = k ? MPI_SUCCESS : ask_layout(type, layout);
    if (!k && error == MPI_SUCCESS) {
        error = check_committed(type);
        if (error == MPI_SUCCESS && layout->runs)
            keep(type, layout);
        else
            tt_flat_drop(layout->runs);
    }
    pthread_mutex_unlock(&knowing);
    return error;
}

static void forget_all(void)
{
    int key = known_key;

    pthread_mutex_lock(&knowing);
    closed = true;
    while (all_known)
        forget(all_known);
    if (key != MPI_KEYVAL_INVALID)
        PMPI_Type_free_keyval(&key);
    known_key = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&knowing);
}

void tt_types_open(void)
{
    closed = false;
}

int tt_layout_of(MPI_Datatype type, struct tt_layout *layout, bool *lasting)
{
    const struct type_row *row = type_find(type);
    const struct known *k = row ? NULL : known_of(type);

    *lasting = row;
    if (!row && !k)
        return learn(type, layout);
    *layout = row ? row->layout : k->layout;
    return MPI_SUCCESS;
}

/* ---- ops ---- */

static const struct op_row {
    MPI_Op handle;
    const char *name;
} ops[TT_NOPS] = {
#define TT_OPERATION(id, MPI_NAME, classes) [TT_OP_##id] = {MPI_NAME, #MPI_NAME},
#include "cuda/ops.def"
#undef TT_OPERATION
};

static enum tt_op op_find(MPI_Op op)
{
    int i = 0;

    while (i < TT_NOPS && ops[i].handle != op)
        i++;
    return (enum tt_op)i;
}

const struct tt_cell *tt_cell_of(MPI_Datatype type, MPI_Op op, const char **why, bool *ours)
{
    const struct type_row *row = type_find(type);
    const enum tt_op which = op_find(op);
    const struct tt_cell *cell = NULL;

    *ours = row && row->ours && which < TT_NOPS;
    *why = "only the MPI below knows this type";
    if (which == TT_NOPS)
        *why = "a user's op: the MPI below calls it";
    else if (row && !tt_op_legal(which, row->class))
        *why = "the standard does not allow this op on this type";
    else if (row)
        cell = tt_cell_find(tt_type_of(row->domain, row->layout.size), which);
    return cell && (MPI_Aint)cell->size == row->layout.extent ? cell : NULL;
}

bool tt_op_is_applicable(MPI_Datatype type, MPI_Op op)
{
    const struct type_row *row = type_find(type);
    const enum tt_op which = op_find(op);

    if (which == TT_NOPS)
        return op != MPI_OP_NULL && op != MPI_REPLACE && op != MPI_NO_OP;
    return row && tt_op_legal(which, row->class);
}

const char *tt_mpi_type_name(MPI_Datatype type)
{
    const struct type_row *row = type_find(type);

    return row ? row->name : "other type";
}

const char *tt_mpi_type_kin(MPI_Datatype type, uint16_t *kin)
{
    const struct type_row *row = type_find(type);
    const enum tt_type of = row ? tt_type_of(row->domain, row->layout.size) : TT_NTYPES;

    *kin = of == TT_NTYPES ? 0 : (uint16_t)(1 + of);
    return row ? row->name : NULL;
}

const char *tt_mpi_op_name(MPI_Op op)
{
    const enum tt_op which = op_find(op);

    return which < TT_NOPS ? ops[which].name : "user's op";
}

/* ---- types of our own ---- */

static const struct {
    const char *name;
    enum tt_domain domain;
    int bytes;
} formats[NFORMATS] = {
    [TUTTI_FLOAT16] = {"TUTTI_FLOAT16", TT_DOMAIN_floating, 2},
    [TUTTI_BFLOAT16] = {"TUTTI_BFLOAT16", TT_DOMAIN_brain, 2},
    [TUTTI_FLOAT8_E4M3] = {"TUTTI_FLOAT8_E4M3", TT_DOMAIN_e4m3, 1},
    [TUTTI_FLOAT8_E5M2] = {"TUTTI_FLOAT8_E5M2", TT_DOMAIN_e5m2, 1},
};

static int format_make(enum tutti_format format, MPI_Datatype *type)
{
    int error = PMPI_Type_contiguous(formats[format].bytes, MPI_BYTE, type);

    if (error == MPI_SUCCESS)
        error = PMPI_Type_commit(type);
    if (error == MPI_SUCCESS)
        error = PMPI_Type_set_name(*type, formats[format].name);
    if (error == MPI_SUCCESS)
        add(*type, formats[format].name, formats[format].domain, TT_FLOATING, true);
    return error;
}

static MPI_Datatype made[NFORMATS];
static bool have[NFORMATS];

__attribute__((visibility("default"))) int tutti_type(enum tutti_format format, MPI_Datatype *type)
{
    int error = MPI_SUCCESS;

    if ((int)format < 0 || (int)format >= NFORMATS || !type)
        return MPI_ERR_ARG;
    type_find(MPI_BYTE);
    pthread_mutex_lock(&making);
    if (!have[format]) {
        error = format_make(format, &made[format]);
        have[format] = error == MPI_SUCCESS;
    }
    *type = made[format];
    pthread_mutex_unlock(&making);
    return error;
}

/* Its handle may come to mean another type. */
static void unmake(MPI_Datatype *type)
{
    for (int i = 0; i < ntypes; i++)
        if (types[i].handle == *type)
            types[i].handle = MPI_DATATYPE_NULL;
    PMPI_Type_free(type);
}

void tt_types_close(void)
{
    forget_all();
    for (int i = 0; i < NFORMATS; i++) {
        if (have[i])
            unmake(&made[i]);
        have[i] = false;
    }
}
