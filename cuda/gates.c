/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPU itself waits for a word of pinned host memory to reach a value (cuStreamWaitValue32), so that no thread of
 * the driver's does, of which there is one for the host functions of all streams. Values of a word only go up, and a
 * stream goes on from its value or any higher one: so a word may be another gate's as soon as it is opened, though the
 * stream may look at it only later. The page is pinned by the first context that needs one, and never freed; where that
 * was in vain, or the context is gone, there are no gates any more. */
#include "cuda/gates.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { WORDS = 1024 }; /* a page; so many gates may be closed */

static struct {
    pthread_mutex_t lock;
    bool is_tried;
    CUdeviceptr at; /* where the GPU has the words; 0: it has not */
    uint32_t last[WORDS];
    int free[WORDS], nfree;
} gates = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Alignas(4096) _Atomic uint32_t words[WORDS];

static CUdeviceptr pin_words(const struct tt_driver *d)
{
    CUpointer_attribute what = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    CUdeviceptr at = 0;
    void *answer = &at;

    if (!d->cuStreamWaitValue32 ||
        d->cuMemHostRegister(words, sizeof words, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP))
        return 0;
    return d->cuPointerGetAttributes(1, &what, &answer, (CUdeviceptr)(uintptr_t)words) ? 0 : at;
}

static void open_gates(const struct tt_driver *d)
{
    if (gates.is_tried)
        return;
    gates.is_tried = true;
    gates.at = pin_words(d);
    for (int i = 0; i < WORDS; i++)
        gates.free[gates.nfree++] = i;
}

static bool take(const struct tt_driver *d, struct tt_gate *gate)
{
    bool taken;

    pthread_mutex_lock(&gates.lock);
    open_gates(d);
    taken = gates.at && gates.nfree > 0;
    if (taken) {
        gate->word = gates.free[--gates.nfree];
        gate->value = ++gates.last[gate->word];
    }
    pthread_mutex_unlock(&gates.lock);
    return taken;
}

int tt_gate_put(const struct tt_driver *d, CUstream stream, struct tt_gate *gate)
{
    CUresult result;

    if (!take(d, gate))
        return -1;
    result = d->cuStreamWaitValue32(stream, gates.at + (CUdeviceptr)gate->word * sizeof *words, gate->value,
                                    CU_STREAM_WAIT_VALUE_GEQ);
    if (result == CUDA_SUCCESS)
        return 0;
    tt_gate_open(gate);
    pthread_mutex_lock(&gates.lock);
    gates.at = 0;
    pthread_mutex_unlock(&gates.lock);
    return -1;
}

void tt_gate_open(const struct tt_gate *gate)
{
    atomic_store_explicit(&words[gate->word], gate->value, memory_order_release);
    pthread_mutex_lock(&gates.lock);
    gates.free[gates.nfree++] = gate->word;
    pthread_mutex_unlock(&gates.lock);
}
