/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes: no buffer, but places where a program waits, or looks again and again, while nonblocking collectives are to
 * move on. */
#include "coll/error.h"
#include "coll/pause.h"
#include "coll/request.h"
#include "coll/watch.h"

#define TT_PUBLIC __attribute__((visibility("default")))

struct probe {
    int source, tag;
    MPI_Comm comm;
    MPI_Message *message; /* NULL: not matched */
    MPI_Status *status;
    int flag, error;
};

static bool found(void *what)
{
    struct probe *p = what;

    tt_progress();
    p->error = p->message ? PMPI_Improbe(p->source, p->tag, p->comm, &p->flag, p->message, p->status)
                          : PMPI_Iprobe(p->source, p->tag, p->comm, &p->flag, p->status);
    return p->flag || p->error != MPI_SUCCESS;
}

static int wait_for(struct probe p)
{
    tt_wait(found, &p);
    return p.error;
}

static bool passes_through(void)
{
    return tt_inside || !tt_has_business();
}

static void progress(void)
{
    if (!tt_inside)
        tt_progress();
}

TT_PUBLIC int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    TT_WATCHED_WITH("Probe", comm, source, tag,
                    passes_through() ? PMPI_Probe(source, tag, comm, status)
                                     : wait_for((struct probe){source, tag, comm, .status = status}));
}

TT_PUBLIC int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    TT_WATCHED_WITH("Mprobe", comm, source, tag,
                    passes_through() ? PMPI_Mprobe(source, tag, comm, message, status)
                                     : wait_for((struct probe){source, tag, comm, .message = message, .status = status}));
}

/* In vain: who looks without end waits, too. */
static int looked(int error, int flag, int source, int tag, MPI_Comm comm, const void *caller)
{
    if (error == MPI_SUCCESS && !flag)
        tt_watch_look(comm, source, tag, caller);
    return error;
}

TT_PUBLIC int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    int error;

    progress();
    error = PMPI_Iprobe(source, tag, comm, flag, status);
    return looked(error, *flag, source, tag, comm, __builtin_return_address(0));
}

TT_PUBLIC int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    int error;

    progress();
    error = PMPI_Improbe(source, tag, comm, flag, message, status);
    return looked(error, *flag, source, tag, comm, __builtin_return_address(0));
}
