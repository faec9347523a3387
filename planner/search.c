/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes are divisors of the number of GPUs, whose product it is. What follows from the sizes is looked at once, then
 * the variants. O(layouts), a few microseconds each once their calls are known. */
#include "planner/search.h"

#include <stdlib.h>
#include <string.h>

/* What is tried where the wish leaves it open. */
static const int micros[] = {1, 2, 4, 8, 16}, pieces[] = {2, 3, 4, 6, 8}, contexts[] = {1, 2, 4, 8, 16, 32};
enum { LONG_SEQUENCE = 32768 }; /* from there on context parallelism is tried */
#define N(list) ((int)(sizeof(list) / sizeof *(list)))

struct walk {
    struct tt_search *s;
    const struct tt_setting *with;
    struct tt_layout l;
    struct tt_ranked best; /* of these sizes */
    int error;
};

static void refuse(struct walk *w, const char *why)
{
    struct tt_search *s = w->s;
    struct tt_refusal *more;

    s->refused++;
    for (int i = 0; i < s->nrefusals; i++)
        if (strcmp(s->refusals[i].why, why) == 0) {
            s->refusals[i].count++;
            return;
        }
    more = realloc(s->refusals, (size_t)(s->nrefusals + 1) * sizeof *more);
    if (!more) {
        w->error = -1;
        return;
    }
    s->refusals = more;
    more[s->nrefusals] = (struct tt_refusal){.count = 1, .example = w->l};
    strcpy(more[s->nrefusals++].why, why);
}

/* ---- variants of the same sizes ---- */

static bool better(const struct tt_iteration *a, const struct tt_iteration *b)
{
    if (a->memory.fits != b->memory.fits)
        return a->memory.fits;
    return a->memory.fits ? a->seconds < b->seconds * (1 - 1e-9) : a->memory.total < b->memory.total * (1 - 1e-9);
}

static void try_layout(struct walk *w)
{
    char why[sizeof w->s->refusals->why];
    struct tt_iteration step;

    if (!tt_layout_is(&w->l, &w->s->wish))
        return;
    if (tt_layout_impossible(&w->l, w->with->m, why, sizeof why)) {
        refuse(w, why);
        return;
    }
    w->error |= tt_iteration_work_out(&step, &w->l, w->with);
    w->s->worked_out++;
    w->s->fitting += step.memory.fits;
    if (!w->best.variants++ || better(&step, &w->best.step))
        w->best.step = step;
}

/* Of one piece, and cut further where the schedule interleaves. */
static void try_schedules(struct walk *w)
{
    const int each = w->with->m->layers / w->l.pipeline, wished = w->s->wish.pieces;

    w->l.pieces = wished > 1 ? wished : 1;
    w->l.schedule = TT_SCHEDULE_1f1b;
    try_layout(w);
    if (w->l.pipeline == 1)
        return;
    w->l.schedule = TT_SCHEDULE_gpipe;
    try_layout(w);
    w->l.schedule = TT_SCHEDULE_interleaved;
    for (int i = 0; i < (wished > 1 ? 1 : N(pieces)); i++) {
        w->l.pieces = wished > 1 ? wished : pieces[i];
        if (each % w->l.pieces == 0 || wished > 1)
            try_layout(w);
    }
}

static void try_micros(struct walk *w)
{
    const int wished = w->s->wish.micro;

    for (int i = 0; i < (wished ? 1 : N(micros)); i++) {
        w->l.micro = wished ? wished : micros[i];
        if (wished || w->l.micro * w->l.data <= w->with->m->batch)
            try_schedules(w);
    }
}

/* What lies between the exchanges of a tensor group is cut wherever it can be: it moves as many bytes and keeps fewer.
 */
static void try_variants(struct walk *w)
{
    const struct tt_layout *wish = &w->s->wish;
    const bool cut = w->l.tensor > 1 && w->with->m->sequence / w->l.context % w->l.tensor == 0;

    w->best = (struct tt_ranked){0};
    w->l.sequence = wish->sequence < 0 || w->l.tensor == 1 ? cut : wish->sequence;
    for (w->l.zero = 0; w->l.zero <= 3; w->l.zero++)
        if (w->l.zero == 0 || w->l.data * w->l.context > 1 || wish->zero == w->l.zero)
            try_micros(w);
}

/* ---- sizes ---- */

static void keep(struct walk *w)
{
    struct tt_ranked *more = realloc(w->s->ranked, (size_t)(w->s->n + 1) * sizeof *more);

    if (!more) {
        w->error = -1;
        return;
    }
    w->s->ranked = more;
    more[w->s->n++] = w->best;
}

static bool wished(int wish, int size)
{
    return !wish || wish == size;
}

static void try_sizes(struct walk *w)
{
    const struct tt_layout *wish = &w->s->wish;
    char why[sizeof w->s->refusals->why];

    if (!wished(wish->tensor, w->l.tensor) || !wished(wish->context, w->l.context) ||
        !wished(wish->pipeline, w->l.pipeline) || !wished(wish->data, w->l.data) || !wished(wish->expert, w->l.expert))
        return;
    w->l.zero = w->l.micro = w->l.pieces = w->l.sequence = 0;
    w->l.schedule = -1;
    if (tt_sizes_impossible(&w->l, w->with->m, why, sizeof why)) {
        refuse(w, why);
        return;
    }
    try_variants(w);
    if (w->best.variants)
        keep(w);
}

static void try_experts(struct walk *w)
{
    const int experts = w->with->m->experts, wish = w->s->wish.expert, ranks = w->l.context * w->l.data;

    for (int e = wish ? wish : 1; e <= (wish ? wish : ranks); e++) {
        w->l.expert = e;
        if (wish || e == 1 || (experts && experts % e == 0 && ranks % e == 0))
            try_sizes(w);
    }
}

/* The context's part of what is not the tensor group's, then the pipeline's, then the data's. */
static void try_context(struct walk *w, int rest)
{
    if (rest % w->l.context)
        return;
    rest /= w->l.context;
    for (w->l.pipeline = 1; w->l.pipeline <= rest; w->l.pipeline++)
        if (rest % w->l.pipeline == 0) {
            w->l.data = rest / w->l.pipeline;
            try_experts(w);
        }
}

static void try_contexts(struct walk *w, int rest)
{
    const int wish = w->s->wish.context, tried = w->with->m->sequence >= LONG_SEQUENCE ? N(contexts) : 1;

    for (int i = 0; i < (wish ? 1 : tried); i++) {
        w->l.context = wish ? wish : contexts[i];
        try_context(w, rest);
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct tt_iteration *x = &((const struct tt_ranked *)a)->step, *y = &((const struct tt_ranked *)b)->step;

    return better(x, y) ? -1 : better(y, x);
}

/* What no variant can mend comes first, then what most have. */
static int by_weight(const void *a, const void *b)
{
    const struct tt_refusal *x = a, *y = b;

    if (!x->example.micro != !y->example.micro)
        return x->example.micro ? 1 : -1;
    return y->count - x->count;
}

int tt_search_run(struct tt_search *s, const struct tt_layout *wish, const struct tt_setting *with)
{
    struct walk w = {.s = s, .with = with};

    *s = (struct tt_search){.wish = *wish, .gpus = tt_placement_topo(with->place)->size};
    for (w.l.tensor = 1; w.l.tensor <= s->gpus; w.l.tensor++)
        if (s->gpus % w.l.tensor == 0)
            try_contexts(&w, s->gpus / w.l.tensor);
    if (s->n)
        qsort(s->ranked, (size_t)s->n, sizeof *s->ranked, by_rank);
    if (s->nrefusals)
        qsort(s->refusals, (size_t)s->nrefusals, sizeof *s->refusals, by_weight);
    return w.error;
}

void tt_search_free(struct tt_search *s)
{
    free(s->ranked);
    free(s->refusals);
    *s = (struct tt_search){0};
}

const struct tt_iteration *tt_search_best(const struct tt_search *s)
{
    return s->n && s->ranked[0].step.memory.fits ? &s->ranked[0].step : NULL;
}
