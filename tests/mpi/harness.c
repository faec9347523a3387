/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI tests' common ground. Device memory is read and written through the simulator's own view of it where there
 * is a simulator: no driver call, so counters show Tutti's alone, and no waiting, so a call that returned before its
 * copies were done is found out. On a real GPU it is cudaMemcpy. */
#include "tests/mpi/harness.h"

#include <ctype.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GUARD = 192, ALIGN = 256, GUARD_BYTE = 0xA5, MAX_SAID = 20, CUDA_MEMCPY_DEFAULT = 4, CUDA_ATTACH_GLOBAL = 1 };

int test_rank, test_size, test_gpus;
bool test_open_mpi;
MPI_Status *const no_statuses = MPI_STATUSES_IGNORE;
struct simulator simulator;
static uint64_t seed;
static atomic_long checks, failures;
static __thread char doing[512];
static bool trace; /* TUTTI_TEST_TRACE: say everything that is done, to find what crashes */

int *no_weights(void)
{
    return MPI_UNWEIGHTED;
}

/* ---- checks ---- */

void test_now(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(doing, sizeof doing, format, args);
    va_end(args);
    if (trace)
        fprintf(stderr, "rank %d: %s\n", test_rank, doing);
}

bool test_check(bool ok, const char *format, ...)
{
    char text[1024];
    va_list args;

    checks++;
    if (ok)
        return true;
    if (failures++ < MAX_SAID) {
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        fprintf(stderr, "FAIL rank %d of %d: %s: %s\n", test_rank, test_size, doing, text);
    }
    return false;
}

bool test_success(int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (error == MPI_SUCCESS)
        return test_check(true, " ");
    PMPI_Error_string(error, text, &length);
    return test_check(false, "expected MPI_SUCCESS, got error %d: %s", error, text);
}

bool test_survives(void (*what)(const void *), const void *of)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        alarm(5);
        what(of);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int test_end(void)
{
    long ours[] = {checks, failures}, all[] = {0, 0};

    test_now("the end");
    PMPI_Allreduce(ours, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (test_rank == 0)
        printf("%ld%%: Checks: %ld, Failures: %ld, Errors: 0\n", 100 * (all[0] - all[1]) / all[0], all[0], all[1]);
    MPI_Finalize();
    return all[1] ? 1 : 0;
}

/* ---- the watchdog ---- */

static void bite(int signal)
{
    char text[640];
    const int n = snprintf(text, sizeof text, "FAIL rank %d of %d: still waiting after its time was up: %s\n",
                           test_rank, test_size, doing);

    (void)signal;
    if (write(2, text, (size_t)n) < 0)
        _exit(125);
    _exit(124);
}

static void watch(unsigned seconds)
{
    struct sigaction action = {.sa_handler = bite};

    sigaction(SIGALRM, &action, NULL);
    alarm(seconds);
}

/* ---- the beginning ---- */

/* A function by name in whatever this process has loaded; ISO C has no cast for it. */
static void find(const char *name, void *function)
{
    void *address = dlsym(RTLD_DEFAULT, name);

    memcpy(function, &address, sizeof address);
}

static void find_simulator(void)
{
    find("simcuda_counters", &simulator.counters);
    find("simcuda_reset", &simulator.reset);
    find("simcuda_alias", &simulator.alias);
    find("simcuda_inject", &simulator.inject);
}

static void find_gpus(void)
{
    const char *simulated = getenv("TUTTI_SIM_GPUS");

    if (cudaGetDeviceCount(&test_gpus) != 0)
        test_gpus = 0;
    if (test_gpus)
        cudaSetDevice(test_rank % test_gpus);
    test_check(test_gpus > 0 || !simulated || atoi(simulated) == 0, "TUTTI_SIM_GPUS=%s, but there are no GPUs",
               simulated);
    find_simulator();
}

static void find_mpi(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    PMPI_Get_library_version(version, &length);
    test_open_mpi = strncmp(version, "Open MPI", 8) == 0;
}

static void choose_seed(void)
{
    const char *given = getenv("TUTTI_TEST_SEED");

    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    PMPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}

static void before_init(unsigned seconds)
{
    trace = getenv("TUTTI_TEST_TRACE");
    test_now("MPI_Init");
    watch(seconds);
}

static void after_init(const char *name)
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &test_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    find_mpi();
    choose_seed();
    find_gpus();
    if (test_rank == 0)
        printf("%s: %d ranks, %d GPUs, TUTTI_TEST_SEED=%llu\n", basename(name), test_size, test_gpus,
               (unsigned long long)seed);
}

void test_begin(int *argc, char ***argv, unsigned seconds)
{
    before_init(seconds);
    MPI_Init(argc, argv);
    after_init(**argv);
}

bool test_begin_threads(int *argc, char ***argv, unsigned seconds)
{
    int provided;

    before_init(seconds);
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    after_init(**argv);
    return provided == MPI_THREAD_MULTIPLE;
}

/* ---- Tutti ---- */

/* The function of that name; without Tutti there is nothing to test. */
static void need(const char *name, void *function)
{
    find(name, function);
    if (dlsym(RTLD_DEFAULT, name))
        return;
    fprintf(stderr, "FAIL: no %s in this process: start it with LD_PRELOAD=libtutti.so\n", name);
    exit(1);
}

int test_try_set(const char *name, const char *value)
{
    static int (*set)(const char *, const char *);

    if (!set)
        need("tutti_set", &set);
    return set(name, value);
}

void test_set(const char *name, const char *value)
{
    if (test_try_set(name, value) != MPI_SUCCESS)
        test_check(false, "expected tutti_set(%s, %s) to succeed", name, value ? value : "NULL");
}

const char *test_algorithm(const char *collective, int i)
{
    static const char *(*algorithm)(const char *, int);

    if (!algorithm)
        need("tutti_algorithm", &algorithm);
    return algorithm(collective, i);
}

void test_pin(const char *collective, const char *algorithm)
{
    char name[64];

    snprintf(name, sizeof name, "TUTTI_%s", collective);
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    test_set(name, algorithm);
}

const char *test_choice(MPI_Comm comm, const char *collective)
{
    static const char *(*choice)(MPI_Comm, const char *);
    const char *text;

    if (!choice)
        need("tutti_choice", &choice);
    text = choice(comm, collective);
    return text ? text : "";
}

int test_format(int format, MPI_Datatype *type)
{
    static int (*make)(int, MPI_Datatype *);

    if (!make)
        need("tutti_type", &make);
    return make(format, type);
}

/* ---- random numbers ---- */

/* splitmix64, by Sebastiano Vigna: any key is as good as any other. */
uint64_t test_random(uint64_t key)
{
    uint64_t z = seed + (key + 1) * UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* ---- memory ---- */

const char *const memory_names[NMEMORIES] = {"host", "pinned", "managed", "device", "other device"};

bool memory_exists(enum memory memory)
{
    return memory == HOST || test_gpus > (memory == OTHER_DEVICE);
}

static int take_device(void **block, size_t bytes, int shift)
{
    int error;

    cudaSetDevice((test_rank + shift) % test_gpus);
    error = cudaMalloc(block, bytes);
    cudaSetDevice(test_rank % test_gpus);
    return error;
}

/* Apart from the heap, and with a page behind it that nobody may touch: for some arguments that make no sense an MPI that
 * does not look at them writes past the buffer, which must not hit what is somebody else's. Its length is in the page
 * before. */
static void *take_host(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    char *at = mmap(NULL, whole + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    *(size_t *)at = whole + 2 * page;
    mprotect(at + page + whole, page, PROT_NONE);
    return at + page;
}

static void give_host(char *block)
{
    char *at = block - sysconf(_SC_PAGESIZE);

    munmap(at, *(size_t *)at);
}

char *memory_take(enum memory memory, size_t bytes)
{
    void *block = NULL;
    int error = 0;

    if (memory == HOST)
        block = take_host(bytes);
    else if (memory == PINNED)
        error = cudaMallocHost(&block, bytes);
    else if (memory == MANAGED)
        error = cudaMallocManaged(&block, bytes, CUDA_ATTACH_GLOBAL);
    else
        error = take_device(&block, bytes, memory == OTHER_DEVICE);
    if (error || !block) {
        fprintf(stderr, "FAIL rank %d: no %zu bytes of %s memory: error %d\n", test_rank, bytes, memory_names[memory],
                error);
        exit(1);
    }
    return block;
}

void memory_give(enum memory memory, char *block)
{
    if (memory == HOST)
        give_host(block);
    else if (memory == PINNED)
        cudaFreeHost(block);
    else
        cudaFree(block);
}

/* Where the CPU reaches it, or NULL. */
static char *reach(enum memory memory, const char *at)
{
    if (memory < DEVICE)
        return (char *)at;
    return simulator.alias ? simulator.alias(at) : NULL;
}

static void copy(char *to, const char *from, size_t bytes)
{
    const int error = cudaMemcpy(to, from, bytes, CUDA_MEMCPY_DEFAULT);

    if (error)
        test_check(false, "cudaMemcpy of the test itself: error %d", error);
}

void memory_put(enum memory memory, char *to, const void *from, size_t bytes)
{
    char *at = bytes ? reach(memory, to) : NULL;

    if (at)
        memcpy(at, from, bytes);
    else if (bytes)
        copy(to, from, bytes);
}

void memory_get(enum memory memory, void *to, const char *from, size_t bytes)
{
    const char *at = bytes ? reach(memory, from) : NULL;

    if (at)
        memcpy(to, at, bytes);
    else if (bytes)
        copy(to, from, bytes);
}

/* ---- regions ---- */

void region_make(struct region *r, enum memory memory, size_t capacity)
{
    *r = (struct region){.memory = memory, .capacity = capacity};
    r->block = memory_take(memory, capacity + 2 * GUARD + 3 * ALIGN);
}

void region_free(struct region *r)
{
    memory_give(r->memory, r->block);
}

static char *first_aligned(char *block)
{
    return (char *)(((uintptr_t)block + GUARD + ALIGN - 1) / ALIGN * ALIGN);
}

char *region_set(struct region *r, size_t shift, const void *data, size_t bytes)
{
    char guard[GUARD];

    if (bytes > r->capacity || shift >= ALIGN) {
        fprintf(stderr, "FAIL rank %d: %s: %zu bytes do not fit the test's own region of %zu\n", test_rank, doing,
                bytes, r->capacity);
        exit(1);
    }
    memset(guard, GUARD_BYTE, GUARD);
    r->at = first_aligned(r->block) + shift;
    r->bytes = bytes;
    memory_put(r->memory, r->at - GUARD, guard, GUARD);
    memory_put(r->memory, r->at, data, bytes);
    memory_put(r->memory, r->at + bytes, guard, GUARD);
    return r->at;
}

static bool guard_whole(const struct region *r, const char *at)
{
    unsigned char guard[GUARD];
    size_t i = 0;

    memory_get(r->memory, guard, at, GUARD);
    while (i < GUARD && guard[i] == GUARD_BYTE)
        i++;
    return i == GUARD;
}

bool region_get(const struct region *r, void *data)
{
    memory_get(r->memory, data, r->at, r->bytes);
    return guard_whole(r, r->at - GUARD) && guard_whole(r, r->at + r->bytes);
}

bool region_holds(const struct region *r, const void *data)
{
    static __thread char *now;
    static __thread size_t room;

    if (r->bytes > room) {
        room = r->bytes;
        now = realloc(now, room);
    }
    return region_get(r, now) && (r->bytes == 0 || memcmp(now, data, r->bytes) == 0);
}

/* ---- elements ---- */

long first_difference(const void *a, const void *b, size_t n, size_t extent, size_t payload)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp((const char *)a + i * extent, (const char *)b + i * extent, payload) != 0)
            return (long)i;
    return -1;
}
