/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of a datatype: fetched, put into one form, and given back. */
#include "coll/contents.h"

#include <stdlib.h>

/* Types that exist without anybody having made them must not be freed, whoever hands them out. */
static bool is_predefined(int combiner)
{
    switch (combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return true;
    default:
        return false;
    }
}

/* Arrays as the MPI fills them. calloc of at least one element: no NULL where it could be refused. */
struct raw {
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *large;
};

static int open_raw(MPI_Datatype type, const struct tt_envelope *e, struct raw *raw, struct tt_contents *c)
{
    raw->ints = calloc((size_t)e->nints + 1, sizeof *raw->ints);
    raw->addresses = calloc((size_t)e->naddresses + 1, sizeof *raw->addresses);
    raw->large = calloc((size_t)e->nlarge + 1, sizeof *raw->large);
    c->types = calloc((size_t)e->ntypes + 1, sizeof *c->types);
    c->numbers = calloc((size_t)(e->nints + e->naddresses + e->nlarge) + 1, sizeof *c->numbers);
    if (!raw->ints || !raw->addresses || !raw->large || !c->types || !c->numbers)
        return MPI_ERR_NO_MEM;
    return tt_envelope_open(type, e, raw->ints, raw->addresses, raw->large, c->types);
}

static void take_numbers(const struct tt_envelope *e, const struct raw *raw, struct tt_contents *c)
{
    for (MPI_Count i = 0; i < e->nints; i++)
        c->numbers[c->nnumbers++] = raw->ints[i];
    for (MPI_Count i = 0; i < e->naddresses; i++)
        c->numbers[c->nnumbers++] = raw->addresses[i];
    for (MPI_Count i = 0; i < e->nlarge; i++)
        c->numbers[c->nnumbers++] = raw->large[i];
}

static int read_contents(MPI_Datatype type, const struct tt_envelope *e, struct tt_contents *c)
{
    struct raw raw = {NULL, NULL, NULL};
    const int error = open_raw(type, e, &raw, c);

    if (error == MPI_SUCCESS) {
        c->ntypes = e->ntypes;
        take_numbers(e, &raw, c);
    }
    free(raw.ints);
    free(raw.addresses);
    free(raw.large);
    return error;
}

int tt_contents_get(MPI_Datatype type, struct tt_contents *c)
{
    struct tt_envelope e;
    int error = tt_envelope_get(type, &e);

    *c = (struct tt_contents){0};
    if (error != MPI_SUCCESS)
        return error;
    c->combiner = e.combiner;
    c->large = e.nlarge > 0;
    if (is_predefined(e.combiner))
        return MPI_SUCCESS;
    error = read_contents(type, &e, c);
    if (error != MPI_SUCCESS)
        tt_contents_end(c);
    return error;
}

void tt_contents_end(struct tt_contents *c)
{
    struct tt_envelope e;

    for (int64_t i = 0; i < c->ntypes; i++)
        if (tt_envelope_get(c->types[i], &e) == MPI_SUCCESS && !is_predefined(e.combiner))
            PMPI_Type_free(&c->types[i]);
    free(c->types);
    free(c->numbers);
    *c = (struct tt_contents){0};
}
