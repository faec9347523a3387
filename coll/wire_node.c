/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire within a node: a flight goes through the channel to its peer. */
#include "coll/node.h"
#include "coll/node_channel.h"

static int node_post(struct tt_batch *batch, struct tt_flight *f)
{
    f->context = batch->routes->context;
    tt_node_lock();
    tt_channel_post(f->channel, f);
    tt_node_unlock();
    return MPI_SUCCESS;
}

static int node_poll(struct tt_batch *batch, bool *done)
{
    *done = true;
    tt_node_lock();
    for (int i = 0; i < batch->n; i++) {
        struct tt_flight *f = &batch->flights[i];

        if (!f->channel || f->over)
            continue;
        tt_channel_poll(f->channel);
        *done &= f->over;
    }
    tt_node_unlock();
    return MPI_SUCCESS;
}

static void node_release(struct tt_flight *f)
{
    tt_node_lock();
    tt_channel_release(f->channel, f);
    tt_node_unlock();
}

const struct tt_wire tt_wire_node = {.name = "node", .post = node_post, .poll = node_poll, .release = node_release};
