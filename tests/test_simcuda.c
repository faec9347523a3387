/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated device is itself tested: what other tests conclude from it is worth no more than this. Each test
 * runs in a process of its own (Check forks), on a node of two devices, and finds no driver state left by another.
 * Asynchrony is shown with held streams, not with clocks. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/cells.h"
#include "cuda/cuda_abi.h"
#include "cuda/kernels.h"
#include "tests/simcuda/simcuda.h"

#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "tests/simcuda/driver_more.def"

#define GIVES(call, result) ck_assert_int_eq(call, result)
#define OK(call) GIVES(call, CUDA_SUCCESS)

/* The primary context of device 0, current. */
static CUcontext begin(void)
{
    CUcontext context;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    return context;
}

static CUdeviceptr device_memory(size_t bytes)
{
    CUdeviceptr p;

    OK(cuMemAlloc_v2(&p, bytes));
    return p;
}

static void *pinned_memory(size_t bytes)
{
    void *p;

    OK(cuMemHostAlloc(&p, bytes, 0));
    return p;
}

static int on_device(CUdeviceptr p)
{
    return *(volatile int *)simcuda_alias((void *)p);
}

static struct simcuda_counters counters(void)
{
    struct simcuda_counters c;

    simcuda_counters(&c);
    return c;
}

static void inject(const char *spec)
{
    ck_assert_int_eq(simcuda_inject(spec), 0);
}

/* Runs act in a child; returns how it ended. */
static int in_child(void (*act)(void *), void *arg)
{
    int status;
    const pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        act(arg);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

/* ---- devices ---- */

START_TEST(nothing_before_init)
{
    CUcontext context;
    int n;

    GIVES(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    GIVES(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&n));
    ck_assert_int_eq(n, 13000);
    GIVES(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&n));
    ck_assert_int_eq(n, 2);
    OK(cuCtxGetCurrent(&context));
    ck_assert_ptr_null(context);
    GIVES(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST(devices_say_they_are_simulated)
{
    char name[64], bus[32];
    CUuuid a, b, again;
    CUdevice device;
    int value;

    OK(cuInit(0));
    OK(cuDeviceGetName(name, sizeof name, 1));
    ck_assert_ptr_nonnull(strstr(name, "simulated"));
    OK(cuDeviceGetUuid_v2(&a, 0));
    OK(cuDeviceGetUuid_v2(&again, 0));
    OK(cuDeviceGetUuid_v2(&b, 1));
    ck_assert_mem_eq(&a, &again, sizeof a);
    ck_assert_mem_ne(&a, &b, sizeof a);
    GIVES(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
    GIVES(cuDeviceGetName(name, sizeof name, -1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    ck_assert_int_eq(value, 9);
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
    OK(cuDeviceGetByPCIBusId(&device, bus));
    ck_assert_int_eq(device, 1);
}
END_TEST

static void first_uuid(void *out)
{
    setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
    if (cuInit(0) || cuDeviceGetUuid_v2(out, 0))
        _exit(1);
}

START_TEST(uuids_agree_between_processes)
{
    CUuuid *theirs = mmap(NULL, sizeof *theirs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), ours;

    ck_assert_int_eq(in_child(first_uuid, theirs), 0);
    OK(cuInit(0));
    OK(cuDeviceGetUuid_v2(&ours, 1));
    ck_assert_mem_eq(theirs, &ours, sizeof ours);
}
END_TEST

START_TEST(environment_is_read_strictly)
{
    static const char *const bad[][2] = {{"TUTTI_SIM_GPUS", "two"}, {"TUTTI_SIM_GPUS", "65"}, {"TUTTI_SIM_GPUS", "-1"},
                                         {"TUTTI_SIM_MEMORY", "8GB"}, {"TUTTI_SIM_MEMORY", "-8"},
                                         {"TUTTI_SIM_DELAY_US", "1.5"},
                                         {"TUTTI_SIM_FAULT", "oom"}};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *before = getenv(bad[i][0]);

        setenv(bad[i][0], bad[i][1], 1);
        GIVES(cuInit(0), CUDA_ERROR_INVALID_VALUE);
        if (before)
            setenv(bad[i][0], "2", 1);
        else
            unsetenv(bad[i][0]);
    }
    setenv("TUTTI_SIM_GPUS", "0", 1);
    GIVES(cuInit(0), CUDA_ERROR_NO_DEVICE);
    setenv("TUTTI_SIM_GPUS", "2", 1);
    OK(cuInit(0));
}
END_TEST

static void use_after_fork(void *unused)
{
    CUdeviceptr p;

    (void)unused;
    if (cuMemAlloc_v2(&p, 4) != CUDA_ERROR_NOT_INITIALIZED || cuInit(0) != CUDA_ERROR_NOT_INITIALIZED)
        _exit(1);
}

START_TEST(a_forked_child_has_no_cuda)
{
    begin();
    ck_assert_int_eq(in_child(use_after_fork, NULL), 0);
    OK(cuCtxSynchronize());
}
END_TEST

START_TEST(errors_have_names)
{
    const char *text;

    OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    ck_assert_str_eq(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    ck_assert_str_eq(text, "illegal address");
    OK(cuGetErrorString(CUDA_SUCCESS, &text));
    ck_assert_str_eq(text, "no error");
    GIVES(cuGetErrorName(12345, &text), CUDA_ERROR_INVALID_VALUE);
    ck_assert_ptr_null(text);
}
END_TEST

START_TEST(entry_points_by_name)
{
    void *f;

    OK(cuGetProcAddress_v2("cuMemAlloc", &f, 13000, 0, NULL));
    ck_assert_ptr_eq(f, cuMemAlloc_v2);
    GIVES(cuGetProcAddress_v2("cuNoSuchThing", &f, 13000, 0, NULL), CUDA_ERROR_NOT_FOUND);
    ck_assert_ptr_null(f);
}
END_TEST

static void ask_for_tables(void *errors)
{
    const void *table = errors;
    CUuuid id = {{0}};

    dup2(fileno(errors), STDERR_FILENO);
    for (int i = 0; i < 2; i++)
        if (cuGetExportTable(&table, &id) != CUDA_ERROR_NOT_SUPPORTED || table)
            _exit(1);
}

START_TEST(a_runtime_linked_inside_is_told_so_once)
{
    char said[1024] = "";
    FILE *errors = tmpfile();

    ck_assert_int_eq(in_child(ask_for_tables, errors), 0);
    ck_assert_int_gt(pread(fileno(errors), said, sizeof said - 1, 0), 0);
    ck_assert_ptr_nonnull(strstr(said, "nvcc -cudart shared"));
    ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
}
END_TEST

/* ---- memory ---- */

static void touch(void *p)
{
    (void)*(volatile char *)p;
}

static void overwrite(void *p)
{
    *(volatile char *)p = 1;
}

static void assert_faults(uintptr_t p)
{
    int status = in_child(touch, (void *)p);

    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = in_child(overwrite, (void *)p);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

START_TEST(host_code_cannot_touch_device_memory)
{
    begin();
    const CUdeviceptr p = device_memory(10000);
    assert_faults(p);
    assert_faults(p + 9999);
    OK(cuMemFree_v2(p));
    assert_faults(p);
    ck_assert_int_eq(in_child(overwrite, pinned_memory(10)), 0);
}
END_TEST

START_TEST(copies_move_bytes)
{
    int from[100], to[100] = {0};

    begin();
    const CUdeviceptr a = device_memory(sizeof from), b = device_memory(sizeof from);
    for (int i = 0; i < 100; i++)
        from[i] = i * i;
    OK(cuMemcpyHtoD_v2(a, from, sizeof from));
    OK(cuMemcpyDtoD_v2(b + 4, a, sizeof from - 4));
    OK(cuMemcpy((uintptr_t)to, b + 4, sizeof from - 4));
    ck_assert_mem_eq(to, from, sizeof from - 4);
    ck_assert_int_eq(to[99], 0);
    OK(cuMemcpy((uintptr_t)to, (uintptr_t)from, sizeof from));
    ck_assert_mem_eq(to, from, sizeof from);
}
END_TEST

START_TEST(copies_are_held_to_their_bounds)
{
    char host[200];

    begin();
    const CUdeviceptr p = device_memory(100);
    GIVES(cuMemcpyHtoD_v2(p, host, 101), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemcpyDtoH_v2(host, p + 50, 51), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemcpyDtoH_v2(host, p - 1, 1), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemcpyDtoH_v2(host, (uintptr_t)host + 100, 1), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemcpyHtoD_v2(p, (void *)p, 1), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemcpyHtoD_v2(p, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemsetD8_v2(p, 0, 101), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemsetD32_v2(p + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyHtoD_v2(p, host, 100));
    OK(cuMemFree_v2(p));
    GIVES(cuMemcpyHtoD_v2(p, host, 1), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(frees_take_what_was_allocated)
{
    begin();
    const CUdeviceptr p = device_memory(100);
    void *const pinned = pinned_memory(100);
    GIVES(cuMemFree_v2(p + 4), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemFree_v2((uintptr_t)pinned), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuMemFreeHost((void *)p), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(0));
    OK(cuMemFree_v2(p));
    GIVES(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(pinned));
    GIVES(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(memory_is_limited)
{
    CUdeviceptr p, q;
    size_t available, total;

    setenv("TUTTI_SIM_MEMORY", "64M", 1);
    begin();
    OK(cuMemAlloc_v2(&p, 40 << 20));
    OK(cuMemGetInfo_v2(&available, &total));
    ck_assert_uint_eq(total, 64 << 20);
    ck_assert_uint_eq(available, 24 << 20);
    GIVES(cuMemAlloc_v2(&q, 25 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    GIVES(cuMemAlloc_v2(&q, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    GIVES(cuMemAlloc_v2(&q, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
    OK(cuMemAlloc_v2(&q, 64 << 20));
}
END_TEST

START_TEST(fills_and_rectangles)
{
    unsigned char host[8][10];
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .dstMemoryType = CU_MEMORYTYPE_HOST};
    CUdeviceptr p;
    size_t pitch;

    begin();
    OK(cuMemAllocPitch_v2(&p, &pitch, 10, 8, 4));
    ck_assert_uint_eq(pitch % 512, 0);
    OK(cuMemsetD8_v2(p, 1, 8 * pitch));
    OK(cuMemsetD2D8_v2(p + 2 * pitch + 3, pitch, 7, 4, 5));
    OK(cuMemsetD16_v2(p + pitch, 0x0203, 5));
    c.srcDevice = p;
    c.srcPitch = pitch;
    c.dstHost = host;
    c.dstPitch = c.WidthInBytes = 10;
    c.Height = 8;
    OK(cuMemcpy2D_v2(&c));
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 10; x++) {
            const bool inside = y >= 2 && y < 7 && x >= 3 && x < 7;
            ck_assert_uint_eq(host[y][x], y == 1 ? 3 - x % 2 : inside ? 7 : 1);
        }
    c.srcY = 1;
    GIVES(cuMemcpy2D_v2(&c), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(managed_and_registered_memory)
{
    static int plain[64];
    CUdeviceptr p, q;
    unsigned flags;

    begin();
    OK(cuMemAllocManaged(&p, 256, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemsetD32_v2(p, 5, 64));
    OK(cuCtxSynchronize());
    ck_assert_int_eq(((int *)p)[63], 5);
    GIVES(cuMemHostGetDevicePointer_v2(&q, plain, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister_v2(plain, sizeof plain, CU_MEMHOSTREGISTER_PORTABLE));
    GIVES(cuMemHostRegister_v2(plain + 1, 4, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostGetDevicePointer_v2(&q, plain + 2, 0));
    ck_assert_uint_eq(q, (uintptr_t)(plain + 2));
    OK(cuMemHostGetFlags(&flags, plain));
    ck_assert(flags & CU_MEMHOSTREGISTER_PORTABLE);
    GIVES(cuMemHostUnregister(plain + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemHostUnregister(plain));
    GIVES(cuMemHostUnregister(plain), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemFree_v2(p));
}
END_TEST

/* ---- pointers ---- */

struct known {
    CUcontext context;
    unsigned type, managed;
    int device;
    CUdeviceptr from;
    void *host;
    unsigned long long id;
    CUdeviceptr start;
    size_t size;
};

static struct known ask(CUdeviceptr p)
{
    struct known k;
    CUpointer_attribute a[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                               CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                               CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                               CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                               CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *data[] = {&k.context, &k.type, &k.managed, &k.device, &k.from, &k.host, &k.id, &k.start, &k.size};

    memset(&k, 0xee, sizeof k);
    OK(cuPointerGetAttributes(sizeof a / sizeof a[0], a, data, p));
    return k;
}

START_TEST(pointers_are_known_exactly)
{
    const CUcontext context = begin();
    const CUdeviceptr p = device_memory(1000);
    char *const pinned = pinned_memory(1000);
    struct known k = ask(p + 999);

    ck_assert_ptr_eq(k.context, context);
    ck_assert_uint_eq(k.type, CU_MEMORYTYPE_DEVICE);
    ck_assert_uint_eq(k.managed, 0);
    ck_assert_int_eq(k.device, 0);
    ck_assert_uint_eq(k.from, p + 999);
    ck_assert_ptr_null(k.host);
    ck_assert_uint_eq(k.start, p);
    ck_assert_uint_eq(k.size, 1000);
    k = ask((uintptr_t)pinned + 5);
    ck_assert_uint_eq(k.type, CU_MEMORYTYPE_HOST);
    ck_assert_ptr_eq(k.host, pinned + 5);
    ck_assert_uint_eq(k.from, (uintptr_t)pinned + 5);
    ck_assert_uint_eq(ask(p + 1000).type, 0); /* one past the end */
}
END_TEST

START_TEST(unknown_pointers)
{
    CUcontext none;
    int local, type;

    begin();
    const struct known k = ask((uintptr_t)&local);
    ck_assert_uint_eq(k.type, 0);
    ck_assert_ptr_null(k.context);
    ck_assert_uint_eq(k.id, 0);
    GIVES(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&local), CUDA_ERROR_INVALID_VALUE);
    const CUdeviceptr p = device_memory(4);
    OK(cuCtxPopCurrent_v2(&none)); /* no context is needed to ask */
    ck_assert_uint_eq(ask(p).type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    ck_assert_int_eq(type, CU_MEMORYTYPE_DEVICE);
}
END_TEST

START_TEST(an_address_comes_back_as_another_buffer)
{
    CUdeviceptr managed;

    begin();
    const CUdeviceptr p = device_memory(100);
    const unsigned long long id = ask(p).id;
    OK(cuMemFree_v2(p));
    ck_assert_uint_eq(ask(p).type, 0);
    ck_assert_uint_eq(device_memory(100), p);
    ck_assert_uint_ne(ask(p).id, id);
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    ck_assert_uint_eq(ask(managed).managed, 1);
    ck_assert_uint_eq(ask(managed).type, CU_MEMORYTYPE_DEVICE);
    ck_assert_ptr_eq(ask(managed).host, (void *)managed);
}
END_TEST

/* ---- streams and events ---- */

static CUstream stream_of(unsigned flags)
{
    CUstream s;

    OK(cuStreamCreate(&s, flags));
    return s;
}

START_TEST(work_is_not_done_when_the_call_returns)
{
    begin();
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    int *const host = pinned_memory(4);
    OK(cuMemsetD32_v2(p, 1, 1));
    OK(cuCtxSynchronize());
    *host = 7;
    OK(cuStreamQuery(s));
    inject("hold");
    OK(cuMemcpyHtoDAsync_v2(p, host, 4, s));
    usleep(2000);
    GIVES(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(on_device(p), 1);
    *host = 8; /* what is pinned is read when the copy runs */
    inject("release");
    OK(cuStreamSynchronize(s));
    OK(cuStreamQuery(s));
    ck_assert_int_eq(on_device(p), 8);
}
END_TEST

START_TEST(a_delay_delays)
{
    begin();
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    inject("delay:us=100000");
    OK(cuMemsetD32Async(p, 3, 1, s));
    GIVES(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(s));
    ck_assert_int_eq(on_device(p), 3);
}
END_TEST

START_TEST(pageable_memory_is_staged)
{
    int host = 7, back = 0;

    begin();
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    inject("hold");
    OK(cuMemcpyAsync(p, (uintptr_t)&host, 4, s));
    host = 8;
    inject("release");
    OK(cuMemcpyDtoHAsync_v2(&back, p, 4, s)); /* returns with the data there */
    ck_assert_int_eq(back, 7);
}
END_TEST

START_TEST(events_follow_the_stream)
{
    CUevent e, never, late;
    float ms;

    begin();
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    OK(cuEventCreate(&e, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&never, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&late, CU_EVENT_DEFAULT));
    OK(cuEventQuery(never));
    OK(cuEventRecord(e, s));
    OK(cuEventSynchronize(e));
    inject("hold;delay:us=3000");
    OK(cuMemsetD32Async(p, 3, 1, s));
    OK(cuEventRecord(late, s));
    GIVES(cuEventQuery(late), CUDA_ERROR_NOT_READY);
    GIVES(cuEventElapsedTime(&ms, e, late), CUDA_ERROR_NOT_READY);
    inject("release");
    OK(cuEventSynchronize(late));
    ck_assert_int_eq(on_device(p), 3);
    OK(cuEventElapsedTime(&ms, e, late));
    ck_assert_float_ge(ms, 3);
    GIVES(cuEventElapsedTime(&ms, e, never), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy_v2(e));
    GIVES(cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

static void wait_for_go(void *go)
{
    while (!__atomic_load_n((int *)go, __ATOMIC_ACQUIRE))
        usleep(100);
}

START_TEST(a_stream_waits_for_the_event_of_another)
{
    static int go;
    CUevent e;

    begin();
    const CUstream first = stream_of(CU_STREAM_NON_BLOCKING), second = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuLaunchHostFunc(first, wait_for_go, &go));
    OK(cuMemsetD32Async(p, 1, 1, first));
    OK(cuEventRecord(e, first));
    OK(cuStreamWaitEvent(second, e, 0));
    OK(cuEventDestroy_v2(e)); /* the wait stands */
    OK(cuMemsetD32Async(p, 2, 1, second));
    usleep(2000);
    GIVES(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(second));
    OK(cuStreamQuery(first));
    ck_assert_int_eq(on_device(p), 2);
}
END_TEST

START_TEST(the_default_stream_joins_blocking_streams_only)
{
    static int go;

    begin();
    const CUstream blocking = stream_of(CU_STREAM_DEFAULT), other = stream_of(CU_STREAM_DEFAULT),
                   free = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4), q = device_memory(4);
    OK(cuLaunchHostFunc(blocking, wait_for_go, &go));
    OK(cuMemsetD32Async(p, 1, 1, NULL));  /* after blocking */
    OK(cuMemsetD32Async(p, 2, 1, other)); /* after the default stream */
    OK(cuMemsetD32Async(q, 3, 1, free));
    OK(cuStreamSynchronize(free)); /* it overtakes */
    ck_assert_int_eq(on_device(q), 3);
    GIVES(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    GIVES(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(other));
    ck_assert_int_eq(on_device(p), 2);
}
END_TEST

START_TEST(the_default_stream_does_not_wait_for_the_others)
{
    static int go;

    begin();
    const CUstream free = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    OK(cuLaunchHostFunc(free, wait_for_go, &go));
    OK(cuMemsetD32Async(p, 4, 1, NULL));
    OK(cuStreamSynchronize(NULL));
    ck_assert_int_eq(on_device(p), 4);
    GIVES(cuStreamQuery(free), CUDA_ERROR_NOT_READY);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
}
END_TEST

START_TEST(freeing_waits_for_all_work)
{
    begin();
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    void *const pinned = pinned_memory(4);
    inject("delay:us=20000");
    OK(cuMemsetD32Async(p, 4, 1, s));
    OK(cuMemFree_v2(p));
    OK(cuStreamQuery(s));
    OK(cuMemsetD32Async(device_memory(4), 4, 1, s));
    OK(cuMemFreeHost(pinned));
    OK(cuStreamQuery(s));
}
END_TEST

static void call_cuda(void *result)
{
    CUdeviceptr p;

    *(CUresult *)result = cuMemAlloc_v2(&p, 4);
}

START_TEST(host_functions_may_not_call_cuda)
{
    CUresult result = CUDA_SUCCESS;

    begin();
    OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, call_cuda, &result));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    GIVES(result, CUDA_ERROR_NOT_PERMITTED);
}
END_TEST

START_TEST(stream_handles_are_checked)
{
    begin();
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    GIVES(cuStreamQuery((CUstream)&s), CUDA_ERROR_INVALID_HANDLE);
    inject("hold");
    OK(cuMemsetD32Async(p, 9, 1, s));
    OK(cuStreamDestroy_v2(s)); /* what it was given is still done */
    GIVES(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
    inject("release");
    OK(cuCtxSynchronize());
    ck_assert_int_eq(on_device(p), 9);
    GIVES(cuStreamDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

START_TEST(memory_in_the_order_of_a_stream)
{
    CUdeviceptr p;

    begin();
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    OK(cuMemAllocAsync(&p, 64, s));
    inject("hold");
    OK(cuMemsetD32Async(p, 5, 16, s));
    OK(cuMemFreeAsync(p, s));
    ck_assert_ptr_nonnull(simcuda_alias((void *)p));
    inject("release");
    OK(cuStreamSynchronize(s));
    ck_assert_ptr_null(simcuda_alias((void *)p));
}
END_TEST

/* ---- contexts ---- */

START_TEST(contexts_stack_and_end)
{
    CUcontext a, b, popped;
    CUdevice device;
    unsigned long long id_a, id_b;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&a, 0, 0));
    OK(cuCtxCreate_v2(&b, 0, 1));
    OK(cuCtxGetDevice(&device));
    ck_assert_int_eq(device, 1);
    const CUdeviceptr p = device_memory(4);
    ck_assert_int_eq(ask(p).device, 1);
    OK(cuCtxGetId(a, &id_a));
    OK(cuCtxGetId(NULL, &id_b));
    ck_assert_uint_ne(id_a, id_b);
    OK(cuCtxPopCurrent_v2(&popped));
    ck_assert_ptr_eq(popped, b);
    OK(cuCtxDestroy_v2(b));
    ck_assert_uint_eq(ask(p).type, 0);
    ck_assert_ptr_null(simcuda_alias((void *)p));
    GIVES(cuCtxPushCurrent_v2(b), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    GIVES(cuCtxGetId(b, &id_b), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    GIVES(cuCtxPushCurrent_v2((CUcontext)&b), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxDestroy_v2(a)); /* current: popped */
    OK(cuCtxGetCurrent(&popped));
    ck_assert_ptr_null(popped);
    GIVES(cuCtxPopCurrent_v2(&popped), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST(a_primary_context_has_one_handle_and_many_lives)
{
    const CUcontext context = begin();
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = device_memory(4);
    void *const pinned = pinned_memory(4);
    unsigned long long before, after;
    unsigned flags;
    CUcontext again;
    int active;

    OK(cuCtxGetId(context, &before));
    OK(cuDevicePrimaryCtxReset_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    ck_assert_int_eq(active, 0);
    GIVES(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    ck_assert_ptr_eq(again, context);
    OK(cuCtxGetId(context, &after));
    ck_assert_uint_ne(after, before);
    GIVES(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_uint_eq(ask(p).type, 0);
    ck_assert_uint_eq(ask((uintptr_t)pinned).type, 0);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    GIVES(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

/* ---- kernels ---- */

static void add_one(const void *param, const struct simcuda_where *w)
{
    struct {
        int *p;
        long n;
    } a;

    memcpy(&a, param, sizeof a);
    const long i = (long)w->block.x * w->threads.x + w->thread.x;
    if (i < a.n)
        a.p[i]++;
}

/* Launches add_one over n ints at p. */
static CUresult launch_add_one(CUdeviceptr p, long n)
{
    struct {
        CUdeviceptr p;
        long n;
    } a = {p, n};
    void *params[] = {&a};
    CUmodule module;
    CUfunction f;

    ck_assert_int_eq(simcuda_add_kernel("add_one", sizeof a, add_one), 0);
    OK(cuModuleLoadData(&module, "any image"));
    OK(cuModuleGetFunction(&f, module, "add_one"));
    return cuLaunchKernel(f, (unsigned)(n + 31) / 32, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
}

START_TEST(kernels_of_the_test_run)
{
    CUmodule module;
    CUfunction f;

    begin();
    const CUdeviceptr p = device_memory(1000 * sizeof(int));
    OK(cuMemsetD32_v2(p, 41, 1000));
    OK(launch_add_one(p, 1000));
    OK(cuCtxSynchronize());
    ck_assert_int_eq(on_device(p), 42);
    ck_assert_int_eq(on_device(p + 999 * sizeof(int)), 42);
    OK(cuModuleLoadData(&module, "any image"));
    GIVES(cuModuleGetFunction(&f, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&f, module, "add_one"));
    OK(cuModuleUnload(module));
    GIVES(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    GIVES(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

static CUresult launch_sum(CUdeviceptr dst, CUdeviceptr a, CUdeviceptr b, size_t n)
{
    struct tt_kernel_args args = {.dst = (void *)dst, .src = {(void *)a, (void *)b}, .n = n, .k = 2, .order = TT_LEFT_TO_RIGHT};
    size_t size = sizeof args;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CUmodule module;
    CUfunction f;

    OK(cuModuleLoadData(&module, "any image"));
    OK(cuModuleGetFunction(&f, module, "tt_sum_f32"));
    return cuLaunchKernel(f, 3, 1, 1, 64, 1, 1, 0, NULL, NULL, extra);
}

START_TEST(the_kernels_of_tutti_run)
{
    float a[1001], b[1001], c[1001];
    CUdeviceptr managed;

    begin();
    for (int i = 0; i < 1001; i++) {
        a[i] = (float)i;
        b[i] = 0.5f;
    }
    const CUdeviceptr p = device_memory(sizeof a), q = device_memory(sizeof b);
    OK(cuMemAllocManaged(&managed, sizeof c, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemcpyHtoD_v2(p, a, sizeof a));
    OK(cuMemcpyHtoD_v2(q, b, sizeof b));
    OK(launch_sum(managed, p, q, 1001));
    OK(cuCtxSynchronize());
    for (int i = 0; i < 1001; i++)
        ck_assert_float_eq(((float *)managed)[i], (float)i + 0.5f);
}
END_TEST

START_TEST(a_kernel_cannot_touch_pageable_memory)
{
    static int plain[64];
    int type;

    begin();
    OK(cuMemHostRegister_v2(plain, sizeof plain, 0));
    OK(launch_add_one((uintptr_t)plain, 64));
    OK(cuCtxSynchronize());
    ck_assert_int_eq(plain[63], 1);
    OK(cuMemHostUnregister(plain));
    OK(launch_add_one((uintptr_t)plain, 64)); /* asynchronous: the error comes later */
    GIVES(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    GIVES(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    GIVES(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)plain), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_int_eq(plain[63], 1);
    OK(cuDevicePrimaryCtxReset_v2(0)); /* the way back */
    begin();
    OK(cuCtxSynchronize());
}
END_TEST

START_TEST(a_kernel_of_tutti_keeps_its_bounds)
{
    begin();
    const CUdeviceptr p = device_memory(4000), q = device_memory(4000);
    OK(launch_sum(p, p, q, 1000));
    OK(cuCtxSynchronize());
    OK(launch_sum(p, p, q + 4, 1000));
    GIVES(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(another_devices_memory_needs_peer_access)
{
    CUcontext zero = begin(), one;
    int can;

    OK(cuDevicePrimaryCtxRetain(&one, 1));
    OK(cuCtxPushCurrent_v2(one));
    const CUdeviceptr theirs = device_memory(4000);
    OK(cuMemsetD32_v2(theirs, 0, 1000));
    OK(cuCtxPopCurrent_v2(&one));
    const CUdeviceptr ours = device_memory(4000);
    OK(cuMemcpyPeer(ours, zero, theirs, one, 4000)); /* copies need none */
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    ck_assert_int_eq(can, 1);
    OK(cuCtxEnablePeerAccess(one, 0));
    GIVES(cuCtxEnablePeerAccess(one, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(launch_sum(ours, ours, theirs, 1000));
    OK(cuCtxSynchronize());
    OK(cuCtxDisablePeerAccess(one));
    OK(launch_sum(ours, ours, theirs, 1000));
    GIVES(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

/* ---- injected faults ---- */

START_TEST(faults_come_when_asked_for)
{
    CUdeviceptr p;
    void *pinned;

    begin();
    inject("oom:after=2;pinned:after=1");
    OK(cuMemAlloc_v2(&p, 4));
    GIVES(cuMemAlloc_v2(&p, 4), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc_v2(&p, 4));
    GIVES(cuMemHostAlloc(&pinned, 4, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemHostAlloc(&pinned, 4, 0));
    inject("sticky:after=2");
    OK(cuMemsetD32_v2(p, 0, 1));
    OK(cuCtxSynchronize());
    OK(cuMemsetD32_v2(p, 0, 1));
    GIVES(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    GIVES(cuMemAlloc_v2(&p, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    GIVES(cuMemsetD32_v2(p, 0, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(a_context_can_be_lost)
{
    begin();
    const CUdeviceptr p = device_memory(4);
    inject("lost:after=1");
    GIVES(cuMemsetD32_v2(p, 0, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    GIVES(cuMemFree_v2(p), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ck_assert_uint_eq(ask(p).type, 0);
}
END_TEST

START_TEST(a_fault_that_is_misspelt_is_refused)
{
    static const char *const bad[] = {"", "oom", "oom:after=", "oom:after=0", "oom:after=3x", "oom:before=3",
                                      "Oom:after=3", "oom:after=-1", "hold:after=1", "hold;", "oom:after=1;nonsense",
                                      "delay:after=1"};

    begin();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(simcuda_inject(bad[i]) == -1, "\"%s\" was accepted", bad[i]);
    device_memory(4); /* and nothing of them took effect */
}
END_TEST

START_TEST(faults_from_the_environment)
{
    CUdeviceptr p;

    setenv("TUTTI_SIM_FAULT", "oom:after=1", 1);
    begin();
    GIVES(cuMemAlloc_v2(&p, 4), CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

/* ---- counters ---- */

START_TEST(everything_is_counted)
{
    int host[4];
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *data = host;

    begin();
    const CUdeviceptr p = device_memory(64);
    void *const pinned = pinned_memory(64);
    simcuda_reset();
    OK(cuMemcpyHtoD_v2(p, host, 16));
    OK(cuMemcpyHtoDAsync_v2(p, pinned, 64, NULL));
    OK(cuMemcpyDtoH_v2(host, p, 8));
    OK(cuMemcpyDtoD_v2(p, p + 32, 32));
    OK(cuMemcpy((uintptr_t)pinned, (uintptr_t)host, 4));
    OK(cuMemcpyHtoD_v2(p, host, 0));
    OK(cuStreamQuery(CU_STREAM_PER_THREAD));
    OK(cuPointerGetAttributes(1, &attribute, &data, p));
    const struct simcuda_counters c = counters();
    ck_assert_uint_eq(c.calls, 8);
    ck_assert_uint_eq(c.copies[SIMCUDA_H2D], 2);
    ck_assert_uint_eq(c.bytes[SIMCUDA_H2D], 80);
    ck_assert_uint_eq(c.copies[SIMCUDA_D2H], 1);
    ck_assert_uint_eq(c.bytes[SIMCUDA_D2H], 8);
    ck_assert_uint_eq(c.copies[SIMCUDA_D2D], 1);
    ck_assert_uint_eq(c.bytes[SIMCUDA_D2D], 32);
    ck_assert_uint_eq(c.copies[SIMCUDA_H2H], 1);
    ck_assert_uint_eq(c.syncs, 3);
    ck_assert_uint_eq(c.queries, 1);
    ck_assert_uint_eq(c.pointer_queries, 1);
}
END_TEST

START_TEST(allocations_and_launches_are_counted)
{
    begin();
    simcuda_reset();
    const CUdeviceptr p = device_memory(640);
    void *const pinned = pinned_memory(64);
    stream_of(0);
    OK(launch_add_one(p, 100));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(p));
    OK(cuMemFreeHost(pinned));
    const struct simcuda_counters c = counters();
    ck_assert_uint_eq(c.device_allocs, 1);
    ck_assert_uint_eq(c.device_frees, 1);
    ck_assert_uint_eq(c.pinned_allocs, 1);
    ck_assert_uint_eq(c.pinned_frees, 1);
    ck_assert_uint_eq(c.streams, 1);
    ck_assert_uint_eq(c.launches, 1);
    ck_assert_uint_eq(c.syncs, 3);
}
END_TEST

/* ---- between processes ---- */

struct post {
    CUipcMemHandle memory;
    CUipcEventHandle event;
};

struct pair {
    int to_owner[2], to_guest[2];
    pid_t guest;
};

static void tell(int fd, const void *what, size_t bytes)
{
    ck_assert_int_eq(write(fd, what, bytes), (ssize_t)bytes);
}

static void hear(int fd, void *what, size_t bytes)
{
    ck_assert_int_eq(read(fd, what, bytes), (ssize_t)bytes);
}

/* Forks a guest before either process has met CUDA. Returns in the owner. */
static struct pair start_guest(void (*act)(const struct pair *))
{
    struct pair p;

    ck_assert_int_eq(pipe(p.to_owner) | pipe(p.to_guest), 0);
    p.guest = fork();
    ck_assert_int_ge(p.guest, 0);
    if (p.guest == 0) {
        begin();
        act(&p);
        _exit(0);
    }
    begin();
    return p;
}

static int end_guest(const struct pair *p)
{
    int status;

    ck_assert_int_eq(waitpid(p->guest, &status, 0), p->guest);
    return status;
}

/* Waits for the owner's event, doubles what is there, signals. */
static void guest_adds(const struct pair *p)
{
    struct post post;
    CUdeviceptr at, again;
    CUevent e;
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);

    hear(p->to_guest[0], &post, sizeof post);
    if (cuIpcOpenMemHandle_v2(&at, post.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ||
        cuIpcOpenMemHandle_v2(&again, post.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) || again != at ||
        cuIpcOpenEventHandle(&e, post.event) || cuEventQuery(e) != CUDA_ERROR_NOT_READY || cuStreamWaitEvent(s, e, 0))
        _exit(2);
    tell(p->to_owner[1], "w", 1);
    if (cuStreamSynchronize(s) || on_device(at + 396) != 41 || launch_add_one(at, 100) || cuCtxSynchronize() ||
        ask(at + 8).device != 0 || ask(at + 8).size != 400)
        _exit(3);
    if (cuIpcCloseMemHandle(at) || cuIpcCloseMemHandle(at) || cuIpcCloseMemHandle(at) != CUDA_ERROR_INVALID_VALUE)
        _exit(4);
}

START_TEST(memory_and_events_cross_processes)
{
    const struct pair guest = start_guest(guest_adds);
    const CUdeviceptr p = device_memory(400);
    const CUstream s = stream_of(CU_STREAM_NON_BLOCKING);
    struct post post;
    CUevent e;
    char word;

    OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuIpcGetMemHandle(&post.memory, p));
    OK(cuIpcGetEventHandle(&post.event, e));
    inject("hold");
    OK(cuMemsetD32Async(p, 41, 100, s));
    OK(cuEventRecord(e, s));
    tell(guest.to_guest[1], &post, sizeof post);
    hear(guest.to_owner[0], &word, 1); /* it waits for our event */
    inject("release");
    ck_assert_int_eq(end_guest(&guest), 0);
    ck_assert_int_eq(on_device(p), 42);
    ck_assert_int_eq(on_device(p + 396), 42);
}
END_TEST

static void guest_is_refused(const struct pair *p)
{
    struct post post;
    CUdeviceptr at;

    hear(p->to_guest[0], &post, sizeof post);
    if (cuIpcOpenMemHandle_v2(&at, post.memory, 1) != CUDA_ERROR_INVALID_VALUE)
        _exit(2);
    memset(&post.memory, 1, sizeof post.memory);
    if (cuIpcOpenMemHandle_v2(&at, post.memory, 1) != CUDA_ERROR_INVALID_VALUE)
        _exit(3);
}

START_TEST(stale_handles_are_refused)
{
    const struct pair guest = start_guest(guest_is_refused);
    const CUdeviceptr p = device_memory(400);
    struct post post = {0};
    CUdeviceptr at;

    OK(cuIpcGetMemHandle(&post.memory, p + 16));
    GIVES(cuIpcOpenMemHandle_v2(&at, post.memory, 1), CUDA_ERROR_INVALID_CONTEXT); /* our own */
    OK(cuMemFree_v2(p));
    device_memory(400); /* at the same place */
    tell(guest.to_guest[1], &post, sizeof post);
    ck_assert_int_eq(end_guest(&guest), 0);
    GIVES(cuIpcGetMemHandle(&post.memory, (uintptr_t)pinned_memory(4)), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* The guest owns memory, is killed, and we still have it. */
static void guest_lends_and_hangs(const struct pair *p)
{
    struct post post = {0};
    const CUdeviceptr at = device_memory(400);

    if (cuMemsetD32_v2(at, 77, 100) || cuCtxSynchronize() || cuIpcGetMemHandle(&post.memory, at))
        _exit(2);
    tell(p->to_owner[1], &post, sizeof post);
    pause();
}

START_TEST(an_owner_may_be_killed)
{
    const struct pair guest = start_guest(guest_lends_and_hangs);
    struct post post;
    CUdeviceptr at, more;

    hear(guest.to_owner[0], &post, sizeof post);
    OK(cuIpcOpenMemHandle_v2(&at, post.memory, 1));
    ck_assert_int_eq(kill(guest.guest, SIGKILL), 0);
    ck_assert(WIFSIGNALED(end_guest(&guest)));
    ck_assert_int_eq(on_device(at), 77);
    OK(cuIpcCloseMemHandle(at));
    GIVES(cuIpcOpenMemHandle_v2(&more, post.memory, 1), CUDA_ERROR_MAP_FAILED);
}
END_TEST

/* Opens what it is told of twice: another allocation at the same place cannot be open beside the one that is gone; and
 * what is on a GPU that this one does not reach, cannot be opened. */
static void guest_opens_in_turn(const struct pair *p)
{
    struct post post;
    CUdeviceptr first, second;
    const CUdeviceptr own = device_memory(400);
    struct simcuda_counters c;

    hear(p->to_guest[0], &post, sizeof post);
    if (cuIpcOpenMemHandle_v2(&first, post.memory, 1))
        _exit(2);
    tell(p->to_owner[1], "o", 1);
    hear(p->to_guest[0], &post, sizeof post);
    if (cuIpcOpenMemHandle_v2(&second, post.memory, 1) != CUDA_ERROR_ALREADY_MAPPED || cuIpcCloseMemHandle(first) ||
        cuIpcOpenMemHandle_v2(&second, post.memory, 1))
        _exit(3);
    if (on_device(second) != 5 || cuMemcpyDtoD_v2(own, second, 100) || launch_sum(own, own, second, 8) ||
        cuCtxSynchronize())
        _exit(4);
    c = counters();
    if (c.opens != 2 || c.closes != 1 || c.peer_bytes != 100 + 32)
        _exit(5);
    inject("ipc-open:from=1");
    if (cuIpcOpenMemHandle_v2(&first, post.memory, 1) != CUDA_ERROR_MAP_FAILED || cuIpcCloseMemHandle(second))
        _exit(6);
    simcuda_reset();
    setenv("TUTTI_SIM_LINKS", "none", 1);
    if (cuIpcOpenMemHandle_v2(&first, post.memory, 1) || cuIpcCloseMemHandle(first)) /* on the same GPU */
        _exit(7);
    hear(p->to_guest[0], &post, sizeof post);
    if (cuIpcOpenMemHandle_v2(&first, post.memory, 1) != CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
        _exit(8);
}

START_TEST(freed_memory_bars_its_place_while_it_is_open)
{
    setenv("TUTTI_SIM_GPUS", "2", 1);
    const struct pair guest = start_guest(guest_opens_in_turn);
    CUdeviceptr p = device_memory(400);
    CUcontext other;
    struct post post = {0};
    char word;

    OK(cuIpcGetMemHandle(&post.memory, p));
    tell(guest.to_guest[1], &post, sizeof post);
    hear(guest.to_owner[0], &word, 1);
    OK(cuMemFree_v2(p));
    ck_assert_uint_eq(device_memory(400), p);
    OK(cuMemsetD32_v2(p, 5, 100));
    OK(cuCtxSynchronize());
    OK(cuIpcGetMemHandle(&post.memory, p));
    tell(guest.to_guest[1], &post, sizeof post);
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxPushCurrent_v2(other));
    OK(cuIpcGetMemHandle(&post.memory, device_memory(400)));
    tell(guest.to_guest[1], &post, sizeof post);
    ck_assert_int_eq(end_guest(&guest), 0);
    ck_assert_uint_eq(counters().exports, 3);
}
END_TEST

START_TEST(what_has_no_handle)
{
    CUipcMemHandle handle;
    CUdeviceptr pooled, managed;

    begin();
    const CUdeviceptr plain = device_memory(4);
    OK(cuMemAllocAsync(&pooled, 64, NULL));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    GIVES(cuIpcGetMemHandle(&handle, pooled), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuIpcGetMemHandle(&handle, managed), CUDA_ERROR_INVALID_VALUE);
    inject("ipc-export:from=2");
    OK(cuIpcGetMemHandle(&handle, plain));
    GIVES(cuIpcGetMemHandle(&handle, plain), CUDA_ERROR_NOT_SUPPORTED);
    GIVES(cuIpcGetMemHandle(&handle, plain), CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

/* ---- threads ---- */

static void *hammer(void *context)
{
    int host[256], back[256] = {0};
    CUdeviceptr p;
    CUstream s;

    OK(cuCtxPushCurrent_v2(context));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 256; i++)
            host[i] = round + i;
        OK(cuMemAlloc_v2(&p, sizeof host));
        OK(cuMemcpyHtoDAsync_v2(p, host, sizeof host, s));
        OK(cuMemcpyDtoHAsync_v2(back, p, sizeof back, s));
        ck_assert_mem_eq(host, back, sizeof host);
        OK(cuMemFree_v2(p));
    }
    OK(cuStreamDestroy_v2(s));
    return NULL;
}

START_TEST(threads_share_a_context)
{
    pthread_t threads[4];
    CUcontext none = NULL;
    const CUcontext context = begin();

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, context), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    OK(cuCtxSynchronize());
    OK(cuCtxGetCurrent(&none));
    ck_assert_ptr_eq(none, context);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        nothing_before_init, devices_say_they_are_simulated, uuids_agree_between_processes,
        environment_is_read_strictly,
        a_forked_child_has_no_cuda, errors_have_names, entry_points_by_name, a_runtime_linked_inside_is_told_so_once,
        host_code_cannot_touch_device_memory, copies_move_bytes, copies_are_held_to_their_bounds,
        frees_take_what_was_allocated, memory_is_limited, fills_and_rectangles, managed_and_registered_memory,
        pointers_are_known_exactly, unknown_pointers, an_address_comes_back_as_another_buffer,
        work_is_not_done_when_the_call_returns, a_delay_delays, pageable_memory_is_staged, events_follow_the_stream,
        a_stream_waits_for_the_event_of_another, the_default_stream_joins_blocking_streams_only,
        the_default_stream_does_not_wait_for_the_others, freeing_waits_for_all_work, host_functions_may_not_call_cuda,
        stream_handles_are_checked, memory_in_the_order_of_a_stream,
        contexts_stack_and_end, a_primary_context_has_one_handle_and_many_lives, kernels_of_the_test_run,
        the_kernels_of_tutti_run, a_kernel_cannot_touch_pageable_memory, a_kernel_of_tutti_keeps_its_bounds,
        another_devices_memory_needs_peer_access, faults_come_when_asked_for, a_context_can_be_lost,
        a_fault_that_is_misspelt_is_refused, faults_from_the_environment, everything_is_counted,
        allocations_and_launches_are_counted, memory_and_events_cross_processes, stale_handles_are_refused,
        an_owner_may_be_killed, freed_memory_bars_its_place_while_it_is_open, what_has_no_handle,
        threads_share_a_context,
    };
    Suite *suite = suite_create("simcuda");
    TCase *tcase = tcase_create("simulated device");
    SRunner *runner;
    int failed;

    setenv("TUTTI_SIM_GPUS", "2", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    tcase_set_timeout(tcase, 20);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
