/* SPDX-License-Identifier: BSD-3-Clause */
/* A table goes up through pinned memory, asynchronously, in the queue whose work needs it first; until that has been
 * seen to end, another queue gets a copy of its own. Nothing here waits. What no queue uses is kept up to a bound, for
 * an irregular datatype is packed by again and again, and its table may be larger than its data. */
#include "cuda/tables.h"

#include <stdlib.h>
#include <string.h>

enum { IDLE_TABLES = 64 };
static const size_t IDLE_BYTES = (size_t)64 << 20;

struct tt_table {
    struct tt_table *next;
    uint64_t id; /* of the runs */
    size_t bytes;
    void *at, *staging; /* staging: until it has gone up */
    int queue;          /* through which it did */
    unsigned busy;      /* bit per queue */
};

static void drop(struct tt_tables *t, struct tt_table **link)
{
    struct tt_table *table = *link;

    *link = table->next;
    tt_pool_give(t->scratch, table->at);
    if (table->staging)
        tt_pool_give(t->pinned, table->staging);
    free(table);
}

static void trim(struct tt_tables *t)
{
    struct tt_table **link = &t->first;
    size_t bytes = 0;
    int n = 0;

    while (*link) {
        if (!(*link)->busy && ((*link)->id == 0 || ++n > IDLE_TABLES || (bytes += (*link)->bytes) > IDLE_BYTES))
            drop(t, link);
        else
            link = &(*link)->next;
    }
}

/* Takes it out of the list. */
static struct tt_table *find(struct tt_tables *t, uint64_t id, int queue)
{
    struct tt_table **link = &t->first, *table;

    while (*link && !(id && (*link)->id == id && (!(*link)->staging || (*link)->queue == queue)))
        link = &(*link)->next;
    table = *link;
    if (table)
        *link = table->next;
    return table;
}

static int upload(struct tt_tables *t, struct tt_table *table, const struct tt_runs *runs, CUstream stream)
{
    const struct tt_driver *d = t->driver;

    table->at = tt_pool_take(t->scratch, table->bytes);
    table->staging = table->at ? tt_pool_take(t->pinned, table->bytes) : NULL;
    if (!table->staging)
        return -1;
    memcpy(table->staging, runs->run, table->bytes);
    return tt_driver_check(d,
                           d->cuMemcpyAsync((CUdeviceptr)(uintptr_t)table->at, (CUdeviceptr)(uintptr_t)table->staging,
                                            table->bytes, stream),
                           "cuMemcpyAsync of a table of %lld runs", (long long)runs->nruns);
}

static struct tt_table *make(struct tt_tables *t, const struct tt_runs *runs, int queue, CUstream stream)
{
    struct tt_table *table = calloc(1, sizeof *table);

    trim(t);
    if (!table) {
        tt_fault_set("out of memory for bookkeeping");
        return NULL;
    }
    table->id = runs->id;
    table->bytes = (size_t)runs->nruns * sizeof runs->run[0];
    table->queue = queue;
    if (upload(t, table, runs, stream)) {
        drop(t, &table);
        return NULL;
    }
    return table;
}

const struct tt_run *tt_table_take(struct tt_tables *t, const struct tt_runs *runs, int queue, CUstream stream)
{
    struct tt_table *table = find(t, runs->id, queue);

    if (!table)
        table = make(t, runs, queue, stream);
    if (!table)
        return NULL;
    table->next = t->first;
    t->first = table;
    table->busy |= 1u << queue;
    t->busy |= 1u << queue;
    return table->at;
}

void tt_tables_drained(struct tt_tables *t, int queue)
{
    t->busy &= ~(1u << queue);
    for (struct tt_table *table = t->first; table; table = table->next) {
        table->busy &= ~(1u << queue);
        if (table->staging && table->queue == queue) {
            tt_pool_give(t->pinned, table->staging);
            table->staging = NULL;
        }
    }
}

void tt_tables_close(struct tt_tables *t)
{
    while (t->first)
        drop(t, &t->first);
}
