/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiler's stand-in: what NVTX loads if NVTX_INJECTION64_PATH names it. It keeps count of ranges, and says at the
 * end how many of each name there were, and whether each was ended. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NAMES = 64 };

static struct {
    char name[128];
    int n;
} seen[NAMES];
static char domain_name[64];
static int open_ranges, began;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const nvtxEventAttributes_t *range)
{
    int i = 0;

    pthread_mutex_lock(&lock);
    while (i < NAMES - 1 && seen[i].n && strcmp(seen[i].name, range->message.ascii) != 0)
        i++;
    snprintf(seen[i].name, sizeof seen[i].name, "%s", range->message.ascii);
    seen[i].n++;
    open_ranges++;
    began++;
    pthread_mutex_unlock(&lock);
}

static void end_one(void)
{
    pthread_mutex_lock(&lock);
    open_ranges--;
    pthread_mutex_unlock(&lock);
}

static nvtxDomainHandle_t create(const char *name)
{
    snprintf(domain_name, sizeof domain_name, "%s", name);
    return (nvtxDomainHandle_t)domain_name;
}

static void destroy(nvtxDomainHandle_t domain)
{
    for (int i = 0; i < NAMES && seen[i].n; i++)
        fprintf(stderr, "nvtx %s: %d x %s\n", (char *)domain, seen[i].n, seen[i].name);
    fprintf(stderr, "nvtx %s: %d ranges, %d not ended\n", (char *)domain, began, open_ranges);
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range)
{
    (void)domain;
    note(range);
    return 0;
}

static int pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    end_one();
    return 0;
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range)
{
    (void)domain;
    note(range);
    return 0;
}

static void end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    (void)domain;
    (void)id;
    end_one();
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned n = 0;

    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &n) ||
        n <= NVTX_CBID_CORE2_DomainDestroy)
        return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
    *table[NVTX_CBID_CORE2_DomainDestroy] = (NvtxFunctionPointer)destroy;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    *table[NVTX_CBID_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)start;
    *table[NVTX_CBID_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)end;
    return 1;
}
