/* SPDX-License-Identifier: BSD-3-Clause */
/* What the node is beyond the GPUs that CUDA shows to this process, by NVML, if it is there. */
#ifndef TT_CUDA_NVML_H
#define TT_CUDA_NVML_H

#include <stdbool.h>

struct tt_nvml_seen {
    int gpus;    /* of the node, as far as this process may talk to them; whatever CUDA_VISIBLE_DEVICES says */
    int peers;   /* those among them of which it is known how the GPU reaches them, */
    int reached; /* how many it reaches directly, */
    int linked;  /* and how many by NVLink */
    bool links;  /* has the GPU an active NVLink, wherever it leads? */
};

/* Asks about the GPU of that UUID. Opens libnvidia-ml.so.1, which can take tens of milliseconds, but remembers the last
 * answer. False: nobody knows. Thread-safe. */
bool tt_nvml_look(const unsigned char uuid[16], struct tt_nvml_seen *seen);

#endif
