/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided runs on the host: plain loops over rows. Rows as short as an element of C are copied by an instruction, not
 * by a call, which is what a column of a matrix lives on; longer ones by memcpy. */
#include "cuda/runs.h"

#include <stdlib.h>
#include <string.h>

void tt_runs_sum(struct tt_runs *runs, struct tt_run *run)
{
    runs->run = run;
    runs->size = runs->low = runs->high = 0;
    runs->bits = 0;
    for (int64_t i = 0; i < runs->nruns; i++) {
        const int64_t last = run[i].at + (run[i].n - 1) * run[i].stride;
        const int64_t low = last < run[i].at ? last : run[i].at, high = (last < run[i].at ? run[i].at : last);

        run[i].before = runs->size;
        runs->size += run[i].length * run[i].n;
        runs->bits |= (uint64_t)(run[i].at | run[i].length | (run[i].n > 1 ? run[i].stride : 0));
        runs->low = i == 0 || low < runs->low ? low : runs->low;
        runs->high = i == 0 || high + run[i].length > runs->high ? high + run[i].length : runs->high;
    }
}

/* ---- lists ---- */

static int push(struct tt_run_list *l, const struct tt_run *r)
{
    if (l->n == l->room) {
        const int64_t room = l->room ? 2 * l->room : 4;
        struct tt_run *run = realloc(l->run, (size_t)room * sizeof *run);

        if (!run)
            return -1;
        l->run = run;
        l->room = room;
    }
    l->run[l->n++] = *r;
    return 0;
}

/* Can r be told as more rows of last? Where both are one row, any distance will do. */
static bool continues(const struct tt_run *last, const struct tt_run *r)
{
    const int64_t stride = last->n > 1 ? last->stride : r->n > 1 ? r->stride : r->at - last->at;

    return last->length == r->length && r->at == last->at + last->n * stride && (r->n == 1 || r->stride == stride);
}

int tt_run_list_add(struct tt_run_list *l, const struct tt_run *r)
{
    struct tt_run *last = l->n ? &l->run[l->n - 1] : NULL;

    if (last && last->n == 1 && r->n == 1 && r->at == last->at + last->length) {
        last->length += r->length;
        return 0;
    }
    if (last && continues(last, r)) {
        last->stride = last->n > 1 ? last->stride : r->at - last->at;
        last->n += r->n;
        return 0;
    }
    return push(l, r);
}

void tt_run_list_end(struct tt_run_list *l)
{
    free(l->run);
    *l = (struct tt_run_list){NULL, 0, 0};
}

/* ---- elements seen as one ---- */

bool tt_runs_join(const struct tt_runs *runs, int64_t count, struct tt_run *one)
{
    if (runs->nruns != 1)
        return false;
    *one = runs->run[0];
    if (count == 1)
        return true;
    if (one->n > 1 && runs->extent != one->n * one->stride)
        return false;
    one->stride = one->n == 1 ? runs->extent : one->stride;
    one->n *= count;
    if (one->stride == one->length) {
        one->length *= one->n;
        one->n = 1;
    }
    return true;
}

bool tt_runs_solid(const struct tt_runs *runs, int64_t count, int64_t *at)
{
    struct tt_run one;

    *at = 0;
    if (count == 0 || runs->nruns == 0)
        return true;
    if (!tt_runs_join(runs, count, &one) || one.n > 1)
        return false;
    *at = one.at;
    return true;
}

void tt_runs_span(const struct tt_runs *runs, int64_t count, int64_t *low, int64_t *high)
{
    const int64_t last = count > 0 ? (count - 1) * runs->extent : 0;

    *low = count > 0 ? runs->low + (last < 0 ? last : 0) : 0;
    *high = count > 0 ? runs->high + (last > 0 ? last : 0) : 0;
}

/* ---- rows ---- */

static inline __attribute__((always_inline)) void copy_each(char *to, int64_t to_step, const char *from,
                                                            int64_t from_step, size_t length, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_step, from + i * from_step, length);
}

static void copy_rows(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t length, int64_t n)
{
    switch (length) {
    case 1:
        copy_each(to, to_step, from, from_step, 1, n);
        break;
    case 2:
        copy_each(to, to_step, from, from_step, 2, n);
        break;
    case 4:
        copy_each(to, to_step, from, from_step, 4, n);
        break;
    case 8:
        copy_each(to, to_step, from, from_step, 8, n);
        break;
    case 16:
        copy_each(to, to_step, from, from_step, 16, n);
        break;
    default:
        copy_each(to, to_step, from, from_step, (size_t)length, n);
    }
}

/* An address of the user's, which may be MPI_BOTTOM: a number, until bytes are added. */
static char *away(const void *from, int64_t bytes)
{
    return (char *)((uintptr_t)from + (uintptr_t)bytes);
}

typedef void move_rows(char *spread, int64_t stride, char *packed, int64_t step, int64_t length, int64_t n);

static void pack_rows(char *spread, int64_t stride, char *packed, int64_t step, int64_t length, int64_t n)
{
    copy_rows(packed, step, spread, stride, length, n);
}

static void unpack_rows(char *spread, int64_t stride, char *packed, int64_t step, int64_t length, int64_t n)
{
    copy_rows(spread, stride, packed, step, length, n);
}

/* ---- elements ---- */

/* A run of one row is a strided run over the elements. */
static void move_run(move_rows *move, const struct tt_runs *runs, const struct tt_run *r, int64_t count, char *spread,
                     char *packed)
{
    if (r->n == 1) {
        move(away(spread, r->at), runs->extent, packed + r->before, runs->size, r->length, count);
        return;
    }
    for (int64_t e = 0; e < count; e++)
        move(away(spread, e * runs->extent + r->at), r->stride, packed + e * runs->size + r->before, r->length,
             r->length, r->n);
}

/* Some elements at a time, so that both sides of them stay in the first cache while their runs take turns. */
static void move_all(move_rows *move, const struct tt_runs *runs, int64_t count, char *spread, char *packed)
{
    enum { TOGETHER = 64 };
    struct tt_run one;

    if (count > 0 && tt_runs_join(runs, count, &one)) {
        move(away(spread, one.at), one.stride, packed, one.length, one.length, one.n);
        return;
    }
    for (int64_t e = 0; e < count; e += TOGETHER)
        for (int64_t i = 0; i < runs->nruns; i++)
            move_run(move, runs, &runs->run[i], count - e < TOGETHER ? count - e : TOGETHER,
                     away(spread, e * runs->extent), packed + e * runs->size);
}

void tt_runs_pack(const struct tt_runs *runs, int64_t count, const void *spread, void *packed)
{
    move_all(pack_rows, runs, count, (char *)spread, packed);
}

void tt_runs_unpack(const struct tt_runs *runs, int64_t count, void *spread, const void *packed)
{
    move_all(unpack_rows, runs, count, spread, (char *)packed);
}
