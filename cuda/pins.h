/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory of others that a context has been told to pin. Known to this room only; dev.h has it as a place's pin. */
#ifndef TT_CUDA_PINS_H
#define TT_CUDA_PINS_H

#include <pthread.h>

#include "cuda/driver.h"

struct tt_pin;

struct tt_pins {
    const struct tt_driver *driver;
    pthread_mutex_t lock;
    struct tt_pin *first;
};

void tt_pins_open(struct tt_pins *pins, const struct tt_driver *driver);

/* As struct tt_dev has it, the context being entered. */
void tt_pin(struct tt_pins *pins, void *at, size_t bytes);

/* Unpins all, unless that went with the context. */
void tt_pins_close(struct tt_pins *pins, bool gone);

#endif
