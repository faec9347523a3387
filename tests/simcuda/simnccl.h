/* SPDX-License-Identifier: BSD-3-Clause */
/* What a test may ask of the stand-in for NCCL, the simulated device's libnccl.so.2; a program that is not linked with
 * it finds these functions with dlsym. It is told what to do wrong by simcuda_inject and TUTTI_SIM_FAULT. */
#ifndef SIMNCCL_H
#define SIMNCCL_H

/* Of this process, since its start or the last reset: calls of each entry point, by its name without "nccl". */
struct simnccl_counters {
#define TT_NCCL(name, result, need, since, params) unsigned long long name;
#include "cuda/nccl.def"
    unsigned long long launches; /* what reached a stream: a group on one communicator is one */
    unsigned long long reports;  /* misuse, said on stderr in lines that begin "simulated NCCL: " */
    unsigned long long alive;    /* communicators, not reset */
};

void simnccl_counters(struct simnccl_counters *counters);
void simnccl_reset(void);

#endif
