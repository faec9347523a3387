/* SPDX-License-Identifier: BSD-3-Clause */
/* Open MPI's Fortran, which never calls the C functions that a library like this one can replace, but PMPI_ at once.
 * So each routine is replaced under the names by which it is reached: mpi_x_ from mpif.h and `use mpi`, ompi_x_f from
 * the routines of mpi_f08, or, where those have a logical to convert, their own, mpi_x_f08_. All three hand over the
 * same: mpi_f08's handles, statuses and absent ierrors (NULL) look to C like mpif.h's. A wrapper turns handles into C's
 * and calls the C function, which is this library's where it has one, and counts the call once. Costs a table look-up
 * of Open MPI's for each handle, as its own Fortran does. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "coll/error.h"
#include "coll/fortran.h"

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "configure is to leave this file out where INTEGER is not C's int");

/* ---- constants that are addresses in Fortran; an Open MPI without Fortran lacks them ---- */
#pragma weak mpi_fortran_bottom_
#pragma weak mpi_fortran_in_place_
extern char mpi_fortran_bottom_, mpi_fortran_in_place_;

static void *real_address(void *at)
{
    if (!at || at == &mpi_fortran_bottom_)
        return MPI_BOTTOM;
    return at == &mpi_fortran_in_place_ ? MPI_IN_PLACE : at;
}

/* ---- arrays that were converted for C ---- */
struct array {
    struct array *next;
    MPI_Request request; /* kept: until this one is complete */
    max_align_t elements[];
};

struct scratch {
    struct array *arrays;
    bool short_of_memory;
};

static void *take(struct scratch *s, int n, size_t size)
{
    struct array *a = malloc(sizeof *a + (n > 0 ? (size_t)n * size : 0));

    s->short_of_memory |= !a;
    if (!a)
        return NULL;
    a->next = s->arrays;
    s->arrays = a;
    return a->elements;
}

static void scratch_end(struct scratch *s)
{
    while (s->arrays) {
        struct array *a = s->arrays;

        s->arrays = a->next;
        free(a);
    }
}

static int no_memory(void)
{
    tt_call_handler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

/* A nonblocking call's arrays of types belong to the MPI until it is complete. They are freed when Fortran completes
 * the request; or, if C does so behind our back, when Fortran completes a later one of the same handle: late, but never
 * early. */
static struct array *_Atomic kept;
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

static void keep(struct scratch *s, MPI_Request request)
{
    if (!s->arrays || request == MPI_REQUEST_NULL)
        return;
    pthread_mutex_lock(&keeping);
    while (s->arrays) {
        struct array *a = s->arrays;

        s->arrays = a->next;
        a->request = request;
        a->next = kept;
        kept = a;
    }
    pthread_mutex_unlock(&keeping);
}

static void let_go(MPI_Request request)
{
    struct scratch gone = {NULL, false};
    struct array *left = NULL, *a, *next;

    if (!kept)
        return;
    pthread_mutex_lock(&keeping);
    for (a = kept; a; a = next) {
        struct array **to = a->request == request ? &gone.arrays : &left;

        next = a->next;
        a->next = *to;
        *to = a;
    }
    kept = left;
    pthread_mutex_unlock(&keeping);
    scratch_end(&gone);
}

/* ---- arrays of types ---- */
static int ranks_of(MPI_Comm comm)
{
    int n = 0, inter = 0;

    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return 0;
    return (inter ? PMPI_Comm_remote_size : PMPI_Comm_size)(comm, &n) == MPI_SUCCESS ? n : 0;
}

struct neighbours {
    int to, from;
};

static struct neighbours neighbours_of(MPI_Comm comm)
{
    struct neighbours n = {0, 0};
    int kind = MPI_UNDEFINED, weighted, rank, dimensions;

    if (comm != MPI_COMM_NULL)
        PMPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &n.from, &n.to, &weighted);
    } else if (kind == MPI_GRAPH && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS) {
        PMPI_Graph_neighbors_count(comm, rank, &n.to);
        n.from = n.to;
    } else if (kind == MPI_CART && PMPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS) {
        n.to = n.from = 2 * dimensions;
    }
    return n;
}

static const MPI_Datatype *types_of(struct scratch *s, const MPI_Fint *given, int n)
{
    MPI_Datatype *types = take(s, n, sizeof *types);

    for (int i = 0; types && i < n; i++)
        types[i] = PMPI_Type_f2c(given[i]);
    return types;
}

/* What is sent is ignored where it is in place: there need be no such array. */
static const MPI_Datatype *types_sent(struct scratch *s, const MPI_Fint *given, void *sendbuf, MPI_Comm comm)
{
    return real_address(sendbuf) == MPI_IN_PLACE ? NULL : types_of(s, given, ranks_of(comm));
}

/* ---- requests and statuses ---- */

/* A request before the call, and after it: completed ones are gone from the MPI's table of Fortran's handles. */
struct held {
    MPI_Request now, before;
};

static struct held hold(MPI_Fint given)
{
    const MPI_Request request = PMPI_Request_f2c(given);

    return (struct held){request, request};
}

static void put_request(MPI_Fint *to, MPI_Request now, MPI_Request before)
{
    if (before != MPI_REQUEST_NULL && now == MPI_REQUEST_NULL)
        let_go(before);
    *to = PMPI_Request_c2f(now);
}

static void put_new_request(MPI_Fint *to, MPI_Request request, struct scratch *s)
{
    *to = PMPI_Request_c2f(request);
    keep(s, request);
}

/* n requests, and the same again as they were before. */
static MPI_Request *hold_all(struct scratch *s, const MPI_Fint *given, int n)
{
    MPI_Request *requests = take(s, n, 2 * sizeof *requests);

    for (int i = 0; requests && i < n; i++)
        requests[i] = requests[n + i] = PMPI_Request_f2c(given[i]);
    return requests;
}

static void put_requests(MPI_Fint *to, const MPI_Request *requests, int n)
{
    for (int i = 0; requests && i < n; i++)
        put_request(&to[i], requests[i], requests[n + i]);
}

/* A status that the call leaves alone is to come back as it was: so it goes in, too. */
static MPI_Status *get_status(const MPI_Fint *given, MPI_Status *status)
{
    if (given == MPI_F_STATUS_IGNORE)
        return MPI_STATUS_IGNORE;
    PMPI_Status_f2c(given, status);
    return status;
}

static void put_status(MPI_Fint *to, const MPI_Status *status)
{
    if (to != MPI_F_STATUS_IGNORE)
        PMPI_Status_c2f(status, to);
}

enum { STATUS_INTS = sizeof(MPI_Status) / sizeof(MPI_Fint) };

static MPI_Status *get_statuses(struct scratch *s, const MPI_Fint *given, int n)
{
    MPI_Status *statuses;

    if (given == MPI_F_STATUSES_IGNORE)
        return MPI_STATUSES_IGNORE;
    statuses = take(s, n, sizeof *statuses);
    for (int i = 0; statuses && i < n; i++)
        PMPI_Status_f2c(given + (size_t)i * STATUS_INTS, &statuses[i]);
    return statuses;
}

static void put_statuses(MPI_Fint *to, const MPI_Status *statuses, int n)
{
    for (int i = 0; to != MPI_F_STATUSES_IGNORE && statuses && i < n; i++)
        PMPI_Status_c2f(&statuses[i], to + (size_t)i * STATUS_INTS);
}

/* ---- the kinds: the parameter, what is done before, the argument, what is done after ---- */
#define TT_KIND_BUF(x) void *x, , real_address(x),
#define TT_KIND_INT(x) const MPI_Fint *x, , *x,
#define TT_KIND_INTS(x) const MPI_Fint *x, , x,
#define TT_KIND_AINTS(x) const MPI_Aint *x, , x,
#define TT_KIND_TYPE(x) const MPI_Fint *x, , PMPI_Type_f2c(*x),
#define TT_KIND_OP(x) const MPI_Fint *x, , PMPI_Op_f2c(*x),
#define TT_KIND_COMM(x) const MPI_Fint *x, , PMPI_Comm_f2c(*x),
#define TT_KIND_GROUP(x) const MPI_Fint *x, , PMPI_Group_f2c(*x),
#define TT_KIND_INFO(x) const MPI_Fint *x, , PMPI_Info_f2c(*x),
#define TT_KIND_WIN(x) const MPI_Fint *x, , PMPI_Win_f2c(*x),
#define TT_KIND_REQUEST_GIVEN(x) const MPI_Fint *x, , PMPI_Request_f2c(*x),

#define TT_TYPE_ARRAY(x, convert) const MPI_Fint *x, const MPI_Datatype *c_##x = convert, c_##x,
#define TT_KIND_TYPES_TO_RANKS(x) TT_TYPE_ARRAY(x, types_sent(&scratch, x, sendbuf, PMPI_Comm_f2c(*comm)))
#define TT_KIND_TYPES_FROM_RANKS(x) TT_TYPE_ARRAY(x, types_of(&scratch, x, ranks_of(PMPI_Comm_f2c(*comm))))
#define TT_KIND_TYPES_TO_NEIGHBOURS(x) TT_TYPE_ARRAY(x, types_of(&scratch, x, neighbours_of(PMPI_Comm_f2c(*comm)).to))
#define TT_KIND_TYPES_FROM_NEIGHBOURS(x) TT_TYPE_ARRAY(x, types_of(&scratch, x, neighbours_of(PMPI_Comm_f2c(*comm)).from))

#define TT_CHANGED(x, Class)                                                                                           \
    MPI_Fint *x, MPI_##Class c_##x = PMPI_##Class##_f2c(*x), &c_##x, *x = PMPI_##Class##_c2f(c_##x)
#define TT_KIND_MESSAGE(x) TT_CHANGED(x, Message)
#define TT_KIND_NEW_MESSAGE(x) TT_CHANGED(x, Message)
#define TT_KIND_NEW_COMM(x) MPI_Fint *x, MPI_Comm c_##x = MPI_COMM_NULL, &c_##x, *x = PMPI_Comm_c2f(c_##x)
#define TT_KIND_NEW_INFO(x)                                                                                            \
    MPI_Fint *x, MPI_Info c_##x = MPI_INFO_NULL, &c_##x, *x = PMPI_Info_c2f(c_##x)
#define TT_KIND_COMM_LEFT(x) TT_CHANGED(x, Comm)
#define TT_KIND_OP_LEFT(x) TT_CHANGED(x, Op)

#define TT_KIND_REQUEST(x)                                                                                             \
    MPI_Fint *x, struct held c_##x = hold(*x), &c_##x.now, put_request(x, c_##x.now, c_##x.before)
#define TT_KIND_REQUESTS(x)                                                                                            \
    MPI_Fint *x, MPI_Request *c_##x = hold_all(&scratch, x, *count), c_##x, put_requests(x, c_##x, *count)
#define TT_KIND_NEW_REQUEST(x)                                                                                         \
    MPI_Fint *x, MPI_Request c_##x = MPI_REQUEST_NULL, &c_##x, put_new_request(x, c_##x, &scratch)

#define TT_KIND_STATUS(x) MPI_Fint *x, MPI_Status c_##x, get_status(x, &c_##x), put_status(x, &c_##x)
#define TT_KIND_STATUSES(x)                                                                                            \
    MPI_Fint *x, MPI_Status *c_##x = get_statuses(&scratch, x, *count), c_##x, put_statuses(x, c_##x, *count)

#define TT_KIND_FLAG(x) MPI_Fint *x, int c_##x = 0, &c_##x, *x = tt_logical(c_##x)
#define TT_KIND_INT_OUT(x) MPI_Fint *x, *x = 0, x,
#define TT_KIND_INDEX(x) MPI_Fint *x, *x = MPI_UNDEFINED, x, tt_count_from_one(x, 1)
#define TT_KIND_INDICES(x) MPI_Fint *x, , x, tt_count_from_one(x, *outcount)
#define TT_KIND_ERRHANDLER(x) const MPI_Fint *x, , PMPI_Errhandler_f2c(*x),
#define TT_KIND_NEW_SESSION(x) MPI_Fint *x, MPI_Session c_##x = MPI_SESSION_NULL, &c_##x, *x = PMPI_Session_c2f(c_##x)
#define TT_KIND_SESSION_LEFT(x) TT_CHANGED(x, Session)

/* ---- the wrappers ---- */
#define TT_NAME(name, id) __attribute__((visibility("default"), alias("fortran_" #id))) __typeof__(fortran_##id) name;
#define TT_NAMES(id) TT_NAME(mpi_##id##_, id) TT_NAME(ompi_##id##_f, id)
#define TT_WRAP(call, id, ...)                                                                                         \
    static void fortran_##id(TT_EACH(TT_PARAM, TT_COMMA, __VA_ARGS__) __VA_OPT__(, ) MPI_Fint *ierror)                 \
    {                                                                                                                  \
        struct scratch scratch = {NULL, false};                                                                        \
        int error;                                                                                                     \
                                                                                                                       \
        TT_EACH(TT_BEFORE, TT_SEMICOLON, __VA_ARGS__);                                                                 \
        error = scratch.short_of_memory ? no_memory() : call(TT_EACH(TT_ARG, TT_COMMA, __VA_ARGS__));                  \
        TT_EACH(TT_AFTER, TT_SEMICOLON, __VA_ARGS__);                                                                  \
        scratch_end(&scratch);                                                                                         \
        if (ierror)                                                                                                    \
            *ierror = error;                                                                                           \
    }                                                                                                                  \
    TT_NAMES(id)

#define TT_FORTRAN_COLLECTIVE(id, Name, ...)                                                                           \
    TT_WRAP(MPI_##Name, id, __VA_ARGS__)                                                                               \
    TT_WRAP(MPI_I##id, i##id, __VA_ARGS__, NEW_REQUEST(request))                                                       \
    TT_PERSISTENT(id, Name, __VA_ARGS__)
#define TT_FORTRAN_BUFFERS(id, Name, ...) TT_WRAP(MPI_##Name, id, __VA_ARGS__)
#define TT_FORTRAN(id, Name, ...) TT_WRAP(MPI_##Name, id, __VA_ARGS__) TT_NAME(mpi_##id##_f08_, id)
#include "coll/fortran.def"
TT_WRAP(tt_init, init)
TT_WRAP(tt_init_thread, init_thread, INT(required), INT_OUT(provided))
TT_SESSIONS
