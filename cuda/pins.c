/* SPDX-License-Identifier: BSD-3-Clause */
/* Pinning costs a system call per page, once; copies to and from pinned memory are asynchronous and twice as fast. So
 * what is pinned stays so for the life of the context, and is asked for in each call: it is found in a list of as many
 * entries as a rank has neighbours on its node. What cannot be pinned, or was by another of the process's contexts, is
 * noted alike: copies are right either way. */
#include "cuda/pins.h"

#include <stdlib.h>

struct tt_pin {
    struct tt_pin *next;
    void *at;
    bool ours; /* to unpin */
};

void tt_pins_open(struct tt_pins *pins, const struct tt_driver *driver)
{
    pins->driver = driver;
    pthread_mutex_init(&pins->lock, NULL);
}

/* Without memory to note it, it is not pinned at all: it would be pinned for ever. */
static void pin_anew(struct tt_pins *pins, void *at, size_t bytes)
{
    struct tt_pin *pin = malloc(sizeof *pin);

    if (!pin)
        return;
    pin->at = at;
    pin->ours = pins->driver->cuMemHostRegister(at, bytes, CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS;
    pin->next = pins->first;
    pins->first = pin;
}

void tt_pin(struct tt_pins *pins, void *at, size_t bytes)
{
    const struct tt_pin *pin;

    pthread_mutex_lock(&pins->lock);
    pin = pins->first;
    while (pin && pin->at != at)
        pin = pin->next;
    if (!pin)
        pin_anew(pins, at, bytes);
    pthread_mutex_unlock(&pins->lock);
}

void tt_pins_close(struct tt_pins *pins, bool gone)
{
    while (pins->first) {
        struct tt_pin *pin = pins->first;

        pins->first = pin->next;
        if (pin->ours && !gone)
            pins->driver->cuMemHostUnregister(pin->at);
        free(pin);
    }
    pthread_mutex_destroy(&pins->lock);
}
