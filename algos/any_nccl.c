/* SPDX-License-Identifier: BSD-3-Clause */
/* NVIDIA's NCCL, as a row like any other. What it can serve depends on more than a shape (types, ops, where the ranks'
 * GPUs are), and whether it is ready is agreed on in the call: see doc/nccl.md. What it is expected to take is in
 * selector/nccl.c. */
#include "algos/algos.h"

TT_ALGORITHM(any, nccl, .summary = "whatever NVIDIA's NCCL does, on GPU memory", .delegate = TT_TO_NCCL);
