/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA driver library of this process, if there is one: its entry points, and its errors as words. */
#ifndef TT_CUDA_DRIVER_H
#define TT_CUDA_DRIVER_H

#include <stdbool.h>

#include "cuda/cuda_abi.h"

struct tt_driver {
#define TT_DRIVER(name, symbol, need, params) CUresult(*name) params;
#include "cuda/driver.def"
    bool simulated;
    const char *lacks; /* an entry point that must be there and is not: the library is of no use */
};

/* The driver, if somebody has loaded it; NULL if not (yet). Never loads it. */
const struct tt_driver *tt_driver_find(void);

/* 0 on success; else -1, with tt_fault() "<what was tried>: <the driver's words> (<its name for it>)". */
int tt_driver_check(const struct tt_driver *driver, CUresult result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
