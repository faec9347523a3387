/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce_local is how MPI lets a program call an op, whoever made it and in whichever language. It gives inout = in
 * op inout, on elements as the datatype lays them out; so elements with gaps are unpacked into room for a piece of
 * either operand, and the result is packed again. Those without are used where they are: the left operand always, the
 * right one where it, or a copy of it, is where the result goes. A piece is small enough to stay in a core's cache, and
 * large enough for the calls not to count: the cost is a copy of what has to move, as in any MPI. */
#include "coll/apply.h"

#include <stdint.h>
#include <string.h>

#include "coll/error.h"

enum {
    PIECE = 1 << 16, /* bytes */
    ALIGNED = 256    /* what an element without gaps before it is, in both operands */
};

static size_t magnitude(MPI_Aint n)
{
    return (size_t)(n < 0 ? -n : n);
}

/* The bytes of a piece's elements lie in [*low, *low + room), seen from the first; *low is a multiple of ALIGNED, so
 * that elements are as well aligned as they can be. */
static size_t span(const struct tt_apply *a, int64_t *low)
{
    int64_t high;

    if (!a->runs) {
        *low = 0;
        return (size_t)a->piece * a->size;
    }
    tt_runs_span(a->runs, a->piece, low, &high);
    *low &= -(int64_t)ALIGNED;
    return (size_t)(high - *low);
}

/* Of one operand. */
static size_t room_of(const struct tt_apply *a)
{
    int64_t low;

    return (span(a, &low) + ALIGNED - 1) / ALIGNED * ALIGNED;
}

size_t tt_apply_open(struct tt_apply *a, MPI_Op op, MPI_Datatype type, const struct tt_layout *layout)
{
    size_t each = magnitude(layout->extent) > layout->size ? magnitude(layout->extent) : layout->size;

    *a = (struct tt_apply){.op = op, .type = type, .size = layout->size, .runs = layout->plain ? NULL : layout->runs};
    each = each ? each : 1;
    a->piece = each < PIECE ? (MPI_Count)(PIECE / each) : 1;
    return (a->runs ? 2 : 1) * room_of(a);
}

void tt_apply_place(struct tt_apply *a, char *room)
{
    int64_t low;

    span(a, &low);
    a->inout = (char *)((uintptr_t)room - (uintptr_t)low);
    a->in = a->runs ? a->inout + room_of(a) : NULL;
}

/* Outside of Tutti: the op is the user's code. */
static int call(const struct tt_apply *a, const void *in, void *inout, MPI_Count n)
{
    const int inside = tt_inside;
    int error;

    tt_inside = 0;
    error = PMPI_Reduce_local(in, inout, (int)n, a->type, a->op);
    tt_inside = inside;
    return error;
}

static int apply_spread(const struct tt_apply *a, char *dst, const char *left, const char *right, MPI_Count n)
{
    int error;

    tt_runs_unpack(a->runs, n, a->in, left);
    tt_runs_unpack(a->runs, n, a->inout, right);
    error = call(a, a->in, a->inout, n);
    tt_runs_pack(a->runs, n, a->inout, dst);
    return error;
}

static int apply_plain(const struct tt_apply *a, char *dst, const char *left, const char *right, MPI_Count n)
{
    char *inout = dst == left ? a->inout : dst;
    const size_t bytes = (size_t)n * a->size;
    int error;

    if (inout != right)
        memcpy(inout, right, bytes);
    error = call(a, left, inout, n);
    if (inout != dst)
        memcpy(dst, inout, bytes);
    return error;
}

int tt_apply(const struct tt_apply *a, void *dst, const void *left, const void *right, int64_t n)
{
    int error = MPI_SUCCESS;

    for (int64_t i = 0; i < n && error == MPI_SUCCESS; i += a->piece) {
        const MPI_Count now = n - i < a->piece ? n - i : a->piece;
        const size_t at = (size_t)i * a->size;

        error = (a->runs ? apply_spread : apply_plain)(a, (char *)dst + at, (const char *)left + at,
                                                       (const char *)right + at, now);
    }
    return error;
}
