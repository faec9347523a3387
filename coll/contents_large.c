/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes may have been made by the large-count constructors of MPI-4. Built where the MPI has them; else
 * contents_no_large.c is. */
#include "coll/contents.h"

int tt_envelope_get(MPI_Datatype type, struct tt_envelope *e)
{
    return PMPI_Type_get_envelope_c(type, &e->nints, &e->naddresses, &e->nlarge, &e->ntypes, &e->combiner);
}

int tt_envelope_open(MPI_Datatype type, const struct tt_envelope *e, int *ints, MPI_Aint *addresses, MPI_Count *large,
                     MPI_Datatype *types)
{
    return PMPI_Type_get_contents_c(type, e->nints, e->naddresses, e->nlarge, e->ntypes, ints, addresses, large, types);
}
