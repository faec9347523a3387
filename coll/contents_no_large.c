/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI without the large-count constructors (MPI-3): no datatype was made by one. */
#include "coll/contents.h"

int tt_envelope_get(MPI_Datatype type, struct tt_envelope *e)
{
    int ints, addresses, types;
    const int error = PMPI_Type_get_envelope(type, &ints, &addresses, &types, &e->combiner);

    e->nints = ints;
    e->naddresses = addresses;
    e->nlarge = 0;
    e->ntypes = types;
    return error;
}

int tt_envelope_open(MPI_Datatype type, const struct tt_envelope *e, int *ints, MPI_Aint *addresses, MPI_Count *large,
                     MPI_Datatype *types)
{
    (void)large;
    return PMPI_Type_get_contents(type, (int)e->nints, (int)e->naddresses, (int)e->ntypes, ints, addresses, types);
}
