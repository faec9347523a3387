/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a mover: one run if the elements can be told as one, and the widest word that nothing stands across. */
#include "cuda/movers.h"

#include <string.h>

enum form { FORM_run, FORM_runs };

static const struct row {
    enum tt_way way;
    enum form form;
    unsigned word;
    const char *name;
} rows[TT_NMOVERS] = {
#define MOVER(way, form, word)                                                                                         \
    [TT_MOVER_##way##_##form##_##word] = {TT_WAY_##way, FORM_##form, word, "tt_" #way "_" #form "_" #word},
    TT_EACH_MOVER(MOVER)};

const char *tt_mover_name(enum tt_mover mover)
{
    return rows[mover].name;
}

unsigned tt_mover_word(enum tt_mover mover)
{
    return rows[mover].word;
}

static enum tt_mover find(enum tt_way way, enum form form, unsigned word)
{
    int i = 0;

    while (i < TT_NMOVERS && !(rows[i].way == way && rows[i].form == form && rows[i].word == word))
        i++;
    return (enum tt_mover)i;
}

static unsigned word_of(uint64_t bits)
{
    const uint64_t lowest = bits & -bits;

    return lowest > 16 ? 16 : (unsigned)lowest;
}

static int64_t low_of(const struct tt_run *r)
{
    const int64_t reach = (r->n - 1) * r->stride;

    return r->at + (reach < 0 ? reach : 0);
}

/* As if they were one element of one run. */
static void take_one(struct tt_mover_args *args, const struct tt_run *one)
{
    const int64_t reach = (one->n - 1) * one->stride;

    args->few[0] = *one;
    args->origin = -low_of(one);
    args->span = (reach < 0 ? -reach : reach) + one->length;
    args->count = args->nruns = 1;
    args->size = one->length * one->n;
    args->extent = 0;
}

static void take_all(struct tt_mover_args *args, const struct tt_runs *runs, int64_t count)
{
    int64_t low, high;

    tt_runs_span(runs, count, &low, &high);
    args->origin = -low;
    args->span = high - low;
    args->count = count;
    args->nruns = runs->nruns;
    args->size = runs->size;
    args->extent = runs->extent;
    if (runs->nruns <= TT_FEW_RUNS)
        memcpy(args->few, runs->run, (size_t)runs->nruns * sizeof args->few[0]);
}

enum tt_mover tt_mover_prepare(struct tt_mover_args *args, enum tt_way way, const struct tt_runs *runs, int64_t count,
                               void *spread, void *packed, const struct tt_runs **table)
{
    struct tt_run one;
    const bool joined = tt_runs_join(runs, count, &one);
    uint64_t bits = (uintptr_t)spread | (uintptr_t)packed;

    memset(args, 0, sizeof *args);
    args->packed = packed;
    if (joined) {
        take_one(args, &one);
        bits |= (uint64_t)(one.at | one.length | (one.n > 1 ? one.stride : 0));
    } else {
        take_all(args, runs, count);
        bits |= runs->bits | (uint64_t)(count > 1 ? runs->extent : 0);
    }
    args->spread = (void *)((uintptr_t)spread - (uintptr_t)args->origin);
    *table = args->nruns > TT_FEW_RUNS ? runs : NULL;
    return find(way, args->nruns == 1 ? FORM_run : FORM_runs, word_of(bits));
}
