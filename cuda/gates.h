/* SPDX-License-Identifier: BSD-3-Clause */
/* A gate in a stream: what is given to the stream behind it waits until the host opens it. */
#ifndef TT_CUDA_GATES_H
#define TT_CUDA_GATES_H

#include <stdint.h>

#include "cuda/driver.h"

struct tt_gate {
    int word; /* of those that streams wait for */
    uint32_t value;
};

/* Puts one into a stream of the current context. -1: the driver has no such thing, or none is left. Any thread. */
int tt_gate_put(const struct tt_driver *driver, CUstream stream, struct tt_gate *gate);

/* Opens it, once. A store: no driver call. Any thread. */
void tt_gate_open(const struct tt_gate *gate);

#endif
