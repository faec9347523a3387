/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated node, about which its libraries, libcuda.so.1 and libnvidia-ml.so.1, must agree: what the environment
 * says of it. Functions that return CUresult say on stderr what is wrong. */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>

#include "cuda/cuda_abi.h"

enum { SIM_MAX_GPUS = 64 };

void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number in [low, high] from the environment; *value is left alone when it is unset. */
CUresult sim_environment_number(const char *name, long low, long high, long *value);

/* TUTTI_SIM_GPUS: how many there are; *gpus is left alone when it is unset. */
CUresult sim_node_gpus(long *gpus);

/* CUDA_VISIBLE_DEVICES: which of the `present` a process sees, in its order. How many. */
int sim_node_visible(int present, int physical[SIM_MAX_GPUS]);

/* TUTTI_SIM_LINKS: what lies between two GPUs of the node. */
CUresult sim_node_links(bool *reachable, bool *linked);

/* Of the GPU with that ordinal on the node. */
CUuuid sim_node_uuid(int physical);

#endif
