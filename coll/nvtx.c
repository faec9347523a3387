/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges for profilers (Nsight Systems and what else reads NVTX): one for each collective, in a domain "Tutti", named
 * by the call, the algorithm and the size: "MPI_Allreduce ring 4 MiB". A profiler says that it is there by naming its
 * library in the environment, which NVTX's own header then loads; without one nothing listens, and a call pays nothing.
 * A blocking call is a range of its thread, from its first message on; a nonblocking one, which other calls may
 * overlap, of the process. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

#include "coll/sizes.h"
#include "coll/watch.h"

static nvtxDomainHandle_t domain;

static bool open_nvtx(void)
{
    const char *profiler = getenv("NVTX_INJECTION64_PATH");

    if (!profiler || !*profiler)
        return false;
    domain = nvtxDomainCreateA("Tutti");
    return true;
}

static void end(void)
{
    nvtxDomainDestroy(domain);
}

/* What a rank itself moves, where each rank has lengths of its own. */
static int64_t bytes_of(const struct tt_job *job)
{
    const size_t most = job->send.bytes > job->recv.bytes ? job->send.bytes : job->recv.bytes;
    const bool local = tt_coll_lengths_local(job->call->coll) || (job->row->traits & TT_NEIGHBOURS);

    return local ? (int64_t)most : tt_shape_bytes(&job->shape);
}

static void name(const struct tt_event *e, char *text, size_t size)
{
    char bytes[32] = "";

    if (!(e->job->row->traits & TT_NO_BUFFER))
        tt_size_print(bytes, sizeof bytes, bytes_of(e->job));
    snprintf(text, size, "%s%s%s%s%s", e->job->row->name, e->alg ? " " : "", e->alg ? e->alg->name : "",
             *bytes ? " " : "", bytes);
}

static void begin(struct tt_event *e)
{
    char text[128];
    nvtxEventAttributes_t range = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = text,
                                   .payloadType = NVTX_PAYLOAD_TYPE_INT64};

    if (!e->job)
        return;
    name(e, text, sizeof text);
    range.payload.llValue = bytes_of(e->job);
    if (e->flavour == TT_BLOCKING) {
        nvtxDomainRangePushEx(domain, &range);
        e->of[TT_LISTENER_nvtx] = e;
    } else {
        e->of[TT_LISTENER_nvtx] = (void *)(uintptr_t)(nvtxDomainRangeStartEx(domain, &range) + 1);
    }
}

static void leave(struct tt_event *e)
{
    void *own = e->of[TT_LISTENER_nvtx];

    if (own && e->flavour == TT_BLOCKING)
        nvtxDomainRangePop(domain);
    else if (own)
        nvtxDomainRangeEnd(domain, (nvtxRangeId_t)(uintptr_t)own - 1);
}

const struct tt_listener tt_listen_nvtx = {.open = open_nvtx, .end = end, .begin = begin, .leave = leave};
