/* SPDX-License-Identifier: BSD-3-Clause */
/* Of several handles of one representation the first in mpi_types.def that the op is legal on. Small floats are Tutti's
 * alone: MPICH 4.0.2 has an MPI_REAL2 and aborts when it is to move some. */
#include "tools/mpi_types.h"

#include "tools/mpi_tutti.h"

struct search {
    enum tt_type type;
    enum tt_op op;
    MPI_Datatype found;
};

static void consider(struct search *s, MPI_Datatype handle, enum tt_domain domain, enum tt_class class)
{
    int size;

    if (s->found != MPI_DATATYPE_NULL || handle == MPI_DATATYPE_NULL || !tt_op_legal(s->op, class))
        return;
    PMPI_Type_size(handle, &size);
    if (tt_type_of(domain, (size_t)size) == s->type)
        s->found = handle;
}

int tool_mpi_type(enum tt_type type, enum tt_op op, MPI_Datatype *datatype, bool *ours)
{
    static const struct {
        enum tt_type type;
        enum tutti_format format;
    } formats[] = {{TT_TYPE_f16, TUTTI_FLOAT16},
                   {TT_TYPE_bf16, TUTTI_BFLOAT16},
                   {TT_TYPE_f8e4m3, TUTTI_FLOAT8_E4M3},
                   {TT_TYPE_f8e5m2, TUTTI_FLOAT8_E5M2}};
    struct search s = {type, op, MPI_DATATYPE_NULL};

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].type == type) {
            *ours = true;
            return tool_tutti_type(formats[i].format, datatype) ? -1 : 0;
        }
    *ours = false;
#define TT_MPI_TYPE(handle, domain, class) consider(&s, handle, TT_DOMAIN_##domain, class);
#include "cuda/mpi_types.def"
#undef TT_MPI_TYPE
    *datatype = s.found;
    return s.found == MPI_DATATYPE_NULL ? -1 : 0;
}

MPI_Op tool_mpi_op(enum tt_op op)
{
    const MPI_Op ops[TT_NOPS] = {
#define TT_OPERATION(id, name, classes) [TT_OP_##id] = name,
#include "cuda/ops.def"
#undef TT_OPERATION
    };

    return ops[op];
}
