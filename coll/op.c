/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of the ops that are held, usually empty; MPI_Op_free of one of them is put off. */
#include "coll/op.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct held {
    MPI_Op op;
    int holders;
    bool freed; /* by the user */
    struct held *next;
};

static struct held *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Where op's entry is, or would be. With the lock held. */
static struct held **place_of(MPI_Op op)
{
    struct held **at = &all;

    while (*at && (*at)->op != op)
        at = &(*at)->next;
    return at;
}

int tt_op_hold(MPI_Op op)
{
    struct held **at;

    pthread_mutex_lock(&lock);
    at = place_of(op);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (*at)
            (*at)->op = op;
    }
    if (*at)
        (*at)->holders++;
    pthread_mutex_unlock(&lock);
    return *at ? 0 : -1;
}

void tt_op_release(MPI_Op op)
{
    struct held **at, *gone = NULL;

    pthread_mutex_lock(&lock);
    at = place_of(op);
    if (*at && --(*at)->holders == 0) {
        gone = *at;
        *at = gone->next;
    }
    pthread_mutex_unlock(&lock);
    if (gone && gone->freed)
        PMPI_Op_free(&op);
    free(gone);
}

__attribute__((visibility("default"))) int MPI_Op_free(MPI_Op *op)
{
    struct held *h;

    pthread_mutex_lock(&lock);
    h = op ? *place_of(*op) : NULL;
    if (h)
        h->freed = true;
    pthread_mutex_unlock(&lock);
    if (!h)
        return PMPI_Op_free(op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}
