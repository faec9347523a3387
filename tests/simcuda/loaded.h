/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated driver as a test program has it beside Tutti: opened at run time, every entry point by name, and what
 * counts and injects. Include it once, in the test's own file. */
#ifndef SIMCUDA_LOADED_H
#define SIMCUDA_LOADED_H

#include <check.h>
#include <dlfcn.h>

#include "cuda/cuda_abi.h"
#include "tests/simcuda/simcuda.h"

static struct {
#define TT_DRIVER(name, symbol, need, params) CUresult(*name) params;
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) CUresult(*name) params;
#include "tests/simcuda/driver_more.def"
    void (*counters)(struct simcuda_counters *counters);
    void (*reset)(void);
    int (*inject)(const char *spec);
    void *(*alias)(const void *device_ptr);
} cu;

#define OK(call) ck_assert_int_eq(call, CUDA_SUCCESS)

static void load_driver(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);

    ck_assert_msg(handle != NULL, "%s", dlerror());
#define TT_DRIVER(name, symbol, need, params) *(void **)&cu.name = dlsym(handle, #symbol);
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) *(void **)&cu.name = dlsym(handle, #symbol);
#include "tests/simcuda/driver_more.def"
    *(void **)&cu.counters = dlsym(handle, "simcuda_counters");
    *(void **)&cu.reset = dlsym(handle, "simcuda_reset");
    *(void **)&cu.inject = dlsym(handle, "simcuda_inject");
    *(void **)&cu.alias = dlsym(handle, "simcuda_alias");
    ck_assert_msg(cu.counters && cu.reset && cu.inject && cu.alias, "libcuda.so.1 is not the simulated device");
}

/* The primary context of device 0, current. */
static CUcontext use_device(void)
{
    CUcontext context;

    load_driver();
    OK(cu.cuInit(0));
    OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
    OK(cu.cuCtxSetCurrent(context));
    return context;
}

static struct simcuda_counters count(void)
{
    struct simcuda_counters c;

    cu.counters(&c);
    return c;
}

#endif
