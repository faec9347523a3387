/* SPDX-License-Identifier: BSD-3-Clause */
/* Polled like everything else: no function of the driver's that blocks, which would spin on a core that others need. */
#include "coll/drain.h"

#include "coll/pause.h"

struct drain {
    struct tt_place *place;
    int state;
};

static bool drained(void *what)
{
    struct drain *d = what;

    d->state = d->place->dev->poll(d->place, TT_WITHIN);
    return d->state != 0;
}

int tt_drain(struct tt_place *place)
{
    struct drain d = {.place = place};

    if (!drained(&d))
        tt_wait(drained, &d);
    return d.state < 0 ? -1 : 0;
}

int tt_copy_now(struct tt_place *place, void *dst, const void *src, size_t bytes)
{
    int error;

    if (bytes == 0)
        return 0;
    if (place->dev->enter(place))
        return -1;
    error = place->dev->copy(place, TT_WITHIN, dst, src, bytes) || tt_drain(place) ? -1 : 0;
    place->dev->leave(place);
    return error;
}
