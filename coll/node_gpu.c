/* SPDX-License-Identifier: BSD-3-Clause */
/* A flight's place, entered and left. */
#include "coll/node_gpu.h"

#include <stdatomic.h>

#include "coll/config.h"

static bool enter(const struct tt_flight *f)
{
    return f->place->dev->enter(f->place) == 0;
}

static void leave(const struct tt_flight *f)
{
    f->place->dev->leave(f->place);
}

int tt_gpu_copy(const struct tt_flight *f, enum tt_flow flow, void *dst, const void *src, size_t n, uint64_t *mark)
{
    const struct tt_dev *dev = f->place->dev;
    const int queue = f->queue + (int)flow;
    int error;

    if (!enter(f))
        return -1;
    error = dev->copy(f->place, queue, dst, src, n) || dev->mark(f->place, queue, mark);
    leave(f);
    return error ? -1 : 0;
}

int tt_gpu_reached(const struct tt_flight *f, enum tt_flow flow, uint64_t mark)
{
    int state;

    if (!enter(f))
        return -1;
    state = f->place->dev->reached(f->place, f->queue + (int)flow, mark);
    leave(f);
    return state;
}

void tt_gpu_pin(const struct tt_flight *f, const struct tt_ring *ring)
{
    char *at = (char *)ring->read;

    if (!f->place->dev->pin || !enter(f))
        return;
    f->place->dev->pin(f->place, at, (size_t)(ring->bytes + ring->nbytes - at));
    leave(f);
}

bool tt_gpu_name(const struct tt_flight *f, struct tt_name *name)
{
    bool named;

    if (!f->place->dev->export || f->bytes == 0 || !enter(f))
        return false;
    named = f->place->dev->export(f->place, f->buf, f->bytes, name);
    leave(f);
    return named;
}

/* Said once: it is no failure, but whoever wonders how bytes travel will ask. */
static void say_why_not(int peer)
{
    static atomic_bool said;

    if (!atomic_exchange(&said, true))
        tt_log(TT_INFO, "GPU memory of rank %d cannot be opened here (%s): it comes through memory of the host", peer,
               tt_fault());
}

const void *tt_gpu_import(const struct tt_flight *f, const struct tt_name *name)
{
    const void *at;

    if (!f->place->dev->import || !enter(f))
        return NULL;
    at = f->place->dev->import(f->place, name);
    leave(f);
    if (!at)
        say_why_not(f->peer);
    return at;
}

void tt_gpu_release(const struct tt_flight *f, const struct tt_name *name)
{
    f->place->dev->release(f->place, name);
}
