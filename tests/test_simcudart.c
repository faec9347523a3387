/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated runtime API, seen as a program that is linked with the shared cudart sees it. What it shares with the
 * driver's face is tested there (test_simcuda.c); here it is what the runtime adds: devices without contexts, its
 * structs, its errors, and what nvcc's host code does before main. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simcuda/runtime.h"
#include "tests/simcuda/simcuda.h"

void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name, int limit, void *tid,
                            void *bid, dim3 *block, dim3 *grid, int *warp);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);

#define GIVES(call, result) ck_assert_int_eq(call, result)
#define OK(call) GIVES(call, CUDA_SUCCESS)

START_TEST(devices_need_no_context)
{
    CUcontext context;
    int n, device;

    OK(cudaGetDeviceCount(&n));
    ck_assert_int_eq(n, 2);
    OK(cudaRuntimeGetVersion(&n));
    ck_assert_int_eq(n, 13000);
    OK(cudaGetDevice(&device));
    ck_assert_int_eq(device, 0);
    OK(cuCtxGetCurrent(&context));
    ck_assert_ptr_null(context); /* looking touches no device */
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    ck_assert_int_eq(device, 1);
    GIVES(cudaSetDevice(2), CUDA_ERROR_INVALID_DEVICE);
    OK(cuCtxGetDevice(&device));
    ck_assert_int_eq(device, 1);
}
END_TEST

static void *device_here(void *device)
{
    void *p;

    OK(cudaGetDevice(device));
    OK(cudaMalloc(&p, 4));
    OK(cudaFree(p));
    return NULL;
}

START_TEST(each_thread_has_its_device)
{
    pthread_t thread;
    int device = -1;

    OK(cudaSetDevice(1));
    ck_assert_int_eq(pthread_create(&thread, NULL, device_here, &device), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(device, 0);
}
END_TEST

START_TEST(properties_fill_the_struct_and_no_more)
{
    enum { SIZE = 1008 };
    unsigned char p[SIZE + 1];
    int major;

    memset(p, 0xee, sizeof p);
    OK(cudaGetDeviceProperties((struct cudaDeviceProp *)p, 0));
    ck_assert_ptr_nonnull(strstr((char *)p, "simulated"));
    memcpy(&major, p + 360, sizeof major);
    ck_assert_int_eq(major, 9);
    ck_assert_uint_eq(p[SIZE - 1], 0);
    ck_assert_uint_eq(p[SIZE], 0xee);
    GIVES(cudaGetDeviceProperties((struct cudaDeviceProp *)p, 2), CUDA_ERROR_INVALID_DEVICE);
}
END_TEST

static struct cudaPointerAttributes known(const void *p)
{
    struct {
        struct cudaPointerAttributes a;
        long reserved[8];
    } out;

    memset(&out, 0xee, sizeof out);
    OK(cudaPointerGetAttributes(&out.a, p));
    ck_assert_int_eq(out.reserved[0] | out.reserved[7], 0);
    return out.a;
}

START_TEST(pointers_of_all_kinds)
{
    int *device, *pinned, *managed, local;

    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMallocHost((void **)&pinned, 64));
    OK(cudaMallocManaged((void **)&managed, 64, 0));
    ck_assert_int_eq(known(device + 3).type, cudaMemoryTypeDevice);
    ck_assert_ptr_eq(known(device + 3).devicePointer, device + 3);
    ck_assert_ptr_null(known(device).hostPointer);
    ck_assert_int_eq(known(pinned).type, cudaMemoryTypeHost);
    ck_assert_int_eq(known(managed).type, cudaMemoryTypeManaged);
    ck_assert_int_eq(known(&local).type, cudaMemoryTypeUnregistered);
    ck_assert_int_eq(known(&local).device, cudaInvalidDeviceId);
    ck_assert_ptr_eq(known(&local).hostPointer, &local);
}
END_TEST

START_TEST(copies_in_all_directions)
{
    int host[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {0}, *p, *q;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&p, sizeof host));
    OK(cudaMalloc((void **)&q, sizeof host));
    OK(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpyAsync(q, p, sizeof host, cudaMemcpyDeviceToDevice, s));
    OK(cudaMemcpyAsync(back, q, sizeof host, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    ck_assert_mem_eq(back, host, sizeof host);
    OK(cudaMemset(p, 0, sizeof host));
    OK(cudaMemcpy2D(back, 16, p, 16, 4, 2, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(back[0] | back[4], 0);
    ck_assert_int_eq(back[1], 2);
    GIVES(cudaMemcpy(p, host, 4, (enum cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
    GIVES(cudaMemcpy(host, host, 4, cudaMemcpyHostToDevice), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(the_last_error_is_kept_once)
{
    cudaStream_t s;
    void *p;

    OK(cudaMalloc(&p, 0));
    ck_assert_ptr_null(p);
    GIVES(cudaFree(&p), CUDA_ERROR_INVALID_VALUE);
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&p, 4));
    ck_assert_int_eq(simcuda_inject("hold"), 0);
    OK(cudaMemsetAsync(p, 0, 4, s));
    GIVES(cudaStreamQuery(s), CUDA_ERROR_NOT_READY);
    GIVES(cudaPeekAtLastError(), CUDA_ERROR_INVALID_VALUE); /* not ready is not an error */
    GIVES(cudaGetLastError(), CUDA_ERROR_INVALID_VALUE);
    OK(cudaGetLastError());
    ck_assert_str_eq(cudaGetErrorName(2), "cudaErrorMemoryAllocation");
    ck_assert_str_eq(cudaGetErrorString(0), "no error");
    ck_assert_str_eq(cudaGetErrorString(12345), "unrecognized error code");
}
END_TEST

START_TEST(a_reset_device_begins_anew)
{
    void *p;

    OK(cudaMalloc(&p, 64));
    OK(cudaDeviceReset());
    ck_assert_int_eq(known(p).type, cudaMemoryTypeUnregistered);
    OK(cudaMalloc(&p, 64));
    ck_assert_int_eq(known(p).type, cudaMemoryTypeDevice);
    ck_assert_int_eq(simcuda_inject("sticky:after=1"), 0);
    OK(cudaMemset(p, 0, 64));
    GIVES(cudaDeviceSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    GIVES(cudaMalloc(&p, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cudaDeviceReset());
    OK(cudaMalloc(&p, 64));
}
END_TEST

static void set_to_thread(const void *param, const struct simcuda_where *w)
{
    int *p;

    memcpy(&p, param, sizeof p);
    p[w->block.x * w->threads.x + w->thread.x] = (int)w->thread.x;
}

START_TEST(kernels_go_by_their_names)
{
    static const char known_stub, unknown_stub, unregistered;
    const dim3 two = {2, 1, 1}, three = {3, 1, 1};
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    int *p, host[6];
    void *args[] = {&p};

    ck_assert_int_eq(simcuda_add_kernel("_Z3setPi", sizeof p, set_to_thread), 0);
    __cudaRegisterFunction(NULL, &known_stub, NULL, "_Z3setPi", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(NULL, &unknown_stub, NULL, "_Z4minePi", -1, NULL, NULL, NULL, NULL, NULL);
    OK(cudaMalloc((void **)&p, sizeof host));
    __cudaPushCallConfiguration(two, three, 0, NULL);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    GIVES(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
    OK(cudaLaunchKernel(&known_stub, grid, block, args, shared, stream));
    OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    ck_assert_int_eq(host[5], 2);
    GIVES(cudaLaunchKernel(&unknown_stub, grid, block, args, 0, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
    GIVES(cudaLaunchKernel(&unregistered, grid, block, args, 0, NULL), cudaErrorInvalidDeviceFunction);
}
END_TEST

START_TEST(peers_and_priorities)
{
    int can, least, greatest;

    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    ck_assert_int_eq(can, 1);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    GIVES(cudaDeviceEnablePeerAccess(1, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cudaDeviceDisablePeerAccess(1));
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ck_assert_int_ge(least, greatest);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        devices_need_no_context, each_thread_has_its_device, properties_fill_the_struct_and_no_more,
        pointers_of_all_kinds, copies_in_all_directions, the_last_error_is_kept_once, a_reset_device_begins_anew,
        kernels_go_by_their_names, peers_and_priorities,
    };
    Suite *suite = suite_create("simcudart");
    TCase *tcase = tcase_create("simulated runtime");
    SRunner *runner;
    int failed;

    setenv("TUTTI_SIM_GPUS", "2", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
