/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that make no sense. On host memory the class of the error must be that of the MPI below for the very
 * same call; with a device buffer there must be an error too, and no crash. On a rank of its own every fault, since
 * there nobody can be left waiting; on MPI_COMM_WORLD those that all ranks commit together. Then what one rank alone
 * can know to be wrong, a send side as long as no receive side, which every rank must come back from; and error
 * handlers that leave by longjmp or communicate themselves. */
#include "tests/mpi/harness.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mpi/rows.h"
#include "tests/mpi/starve.h"

enum { COUNT = 4, MAX_RANKS = 16 };

static MPI_Comm alone;                      /* MPI_COMM_SELF again */
static MPI_Comm alone_in_ring, all_in_ring; /* where every rank has neighbours */
static int bad_counts[MAX_RANKS];
static MPI_Count wide_bad_counts[MAX_RANKS];

/* ---- faults ---- */

static void negative_count(struct tt_call *c)
{
    c->send.count = c->recv.count = -1;
    c->send.counts = c->recv.counts = c->wide ? (const void *)wide_bad_counts : bad_counts;
}

static void no_counts(struct tt_call *c)
{
    c->send.counts = c->recv.counts = NULL;
}

static void no_topology(struct tt_call *c)
{
    c->comm = c->comm == alone_in_ring ? alone : MPI_COMM_WORLD;
}

static void root_too_large(struct tt_call *c)
{
    PMPI_Comm_size(c->comm, &c->root);
}

static void root_negative(struct tt_call *c)
{
    c->root = -5;
}

static void null_type(struct tt_call *c)
{
    c->send.type = c->recv.type = MPI_DATATYPE_NULL;
}

static void null_op(struct tt_call *c)
{
    c->op = MPI_OP_NULL;
}

static void band_of_doubles(struct tt_call *c)
{
    c->send.type = c->recv.type = MPI_DOUBLE;
    c->op = MPI_BAND;
}

static void maxloc_of_ints(struct tt_call *c)
{
    c->op = MPI_MAXLOC;
}

static void sum_of_pairs(struct tt_call *c)
{
    c->send.type = c->recv.type = MPI_2INT;
}

static void null_send(struct tt_call *c)
{
    c->send.buf = NULL;
}

/* A gap after each element, but the first byte counts. */
static void null_send_of_pairs(struct tt_call *c)
{
    c->send.buf = NULL;
    c->send.type = c->recv.type = MPI_DOUBLE_INT;
    c->op = MPI_MINLOC;
}

/* Types of the user's, and an op that takes them. */
static MPI_Datatype two_ints, uncommitted;
static MPI_Op add_op;

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 2 * *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void null_send_of_derived(struct tt_call *c)
{
    c->send.buf = NULL;
    c->send.type = c->recv.type = two_ints;
    c->op = add_op;
}

static void null_recv(struct tt_call *c)
{
    c->recv.out = NULL;
}

static void null_recv_of_pairs(struct tt_call *c)
{
    c->recv.out = NULL;
    c->send.type = c->recv.type = MPI_DOUBLE_INT;
    c->op = MPI_MINLOC;
}

static void null_recv_of_derived(struct tt_call *c)
{
    c->recv.out = NULL;
    c->send.type = c->recv.type = two_ints;
    c->op = add_op;
}

static void uncommitted_type(struct tt_call *c)
{
    c->send.type = c->recv.type = uncommitted;
    c->op = add_op;
}

static void receive_in_place(struct tt_call *c)
{
    c->recv.out = MPI_IN_PLACE;
}

static void send_in_place(struct tt_call *c)
{
    c->send.buf = MPI_IN_PLACE;
}

static void same_buffer(struct tt_call *c)
{
    c->send.buf = c->recv.out;
}

static void null_communicator(struct tt_call *c)
{
    c->comm = MPI_COMM_NULL;
}

/* needs, unless: traits that the collective must have, one of them, or must not have. */
static const struct fault {
    const char *name;
    void (*commit)(struct tt_call *c);
    unsigned needs, unless;
    bool together; /* all ranks find the fault in their own arguments */
    bool alias;    /* the standard forbids it, but an MPI need not look */
} faults[] = {
    {"a negative count", negative_count, ~0u, TT_NO_BUFFER, true, false},
    {"no array of counts", no_counts, TT_COUNTS | TT_SEND_COUNTS | TT_RECV_COUNTS, 0, false, false},
    {"a communicator without a topology", no_topology, TT_NEIGHBOURS, TT_SEND_COUNTS | TT_RECV_COUNTS, true, false},
    {"a root beyond the last rank", root_too_large, TT_ROOTED, 0, true, false},
    {"a negative root", root_negative, TT_ROOTED, 0, true, false},
    {"a null type", null_type, ~0u, TT_NO_BUFFER, true, false},
    {"a null op", null_op, TT_REDUCES, 0, true, false},
    {"MPI_BAND of doubles", band_of_doubles, TT_REDUCES, 0, true, false},
    {"MPI_MAXLOC of ints", maxloc_of_ints, TT_REDUCES, 0, true, false},
    {"MPI_SUM of pairs", sum_of_pairs, TT_REDUCES, 0, true, false},
    {"a type that is not committed", uncommitted_type, ~0u, TT_NO_BUFFER, false, false},
    {"a null send buffer of MPI_DOUBLE_INT", null_send_of_pairs, ~0u, TT_NO_BUFFER | TT_ONE_BUFFER, false, false},
    {"a null send buffer of a derived type", null_send_of_derived, ~0u, TT_NO_BUFFER | TT_ONE_BUFFER, false, false},
    {"a null receive buffer of MPI_DOUBLE_INT", null_recv_of_pairs, ~0u, TT_NO_BUFFER | TT_RECV_NOT_FIRST, false,
     false},
    {"a null receive buffer of a derived type", null_recv_of_derived, ~0u, TT_NO_BUFFER | TT_RECV_NOT_FIRST, false,
     false},
    {"a null send buffer", null_send, ~0u, TT_NO_BUFFER | TT_ONE_BUFFER, false, false},
    {"a null receive buffer", null_recv, ~0u, TT_NO_BUFFER | TT_RECV_NOT_FIRST, false, false},
    {"MPI_IN_PLACE to receive in", receive_in_place, ~0u, TT_NO_BUFFER | TT_SEND_AT_ROOT, false, false},
    {"MPI_IN_PLACE to send from", send_in_place, TT_SEND_AT_ROOT, 0, false, false},
    {"one buffer twice", same_buffer, ~0u, TT_NO_BUFFER | TT_ONE_BUFFER | TT_RECV_NOT_FIRST, false, true},
    {"a null communicator", null_communicator, ~0u, 0, true, false},
};
enum { NFAULTS = sizeof faults / sizeof *faults };

/* ---- a call with a fault ---- */

static struct region regions[NMEMORIES][2];

/* The types of blocks, where they have their own. */
static const MPI_Datatype *repeated(MPI_Datatype types[MAX_RANKS], MPI_Datatype type)
{
    for (int i = 0; i < MAX_RANKS; i++)
        types[i] = type;
    return types;
}

static struct tt_call call_of(const struct row *row, const struct fault *f, MPI_Comm comm, bool wide, enum memory from,
                              enum memory to)
{
    static const double data[2 * COUNT * MAX_RANKS];
    static MPI_Datatype types[2][MAX_RANKS];
    struct tt_call c = row_call(row, COUNT, MPI_INT, comm, wide);

    if (row->traits & TT_NEIGHBOURS)
        c.comm = comm == alone ? alone_in_ring : all_in_ring;
    c.send.buf = region_set(&regions[from][0], 0, data, sizeof data);
    c.recv.out = region_set(&regions[to][1], 0, data, sizeof data);
    f->commit(&c);
    c.send.types = repeated(types[0], c.send.type);
    c.recv.types = repeated(types[1], c.recv.type);
    return c;
}

static int class_of(int error)
{
    int class = error;

    PMPI_Error_class(error, &class);
    return class;
}

struct native_call {
    call_function *by;
    const struct tt_call *call;
};

static void call_native(const void *of)
{
    const struct native_call *n = of;

    n->by(n->call);
}

static bool native_survives(call_function *native, const struct tt_call *c)
{
    return test_survives(call_native, &(struct native_call){native, c});
}

static void call_to_be_refused(const void *of)
{
    const struct native_call *n = of;

    if (n->by(n->call) == MPI_SUCCESS)
        _exit(1);
}

/* Does the MPI below refuse it, on a communicator of one rank? MPICH can be built to look at no arguments, and its wheel
 * (5.0.2) is. Then it begins the call, or crashes; and a child that begins one with other ranks takes the messages that
 * are its parent's, which then waits for them. */
static bool native_refuses(const struct row *row, const struct fault *f, MPI_Comm comm)
{
    const struct tt_call c = call_of(row, f, comm, false, HOST, HOST);

    return test_survives(call_to_be_refused, &(struct native_call){row->theirs, &c});
}

/* Can it be asked of the MPI below? A negative count only if it is refused: MPICH 4.0's MPI_Allreduce on one rank takes it
 * for a huge one, copies from and to what lies behind the buffers, and returns success. */
static bool native_answers(const struct row *row, const struct fault *f, const struct tt_call *c, MPI_Comm comm)
{
    const bool may_harm = f->commit == negative_count;

    return comm == alone && !may_harm ? native_survives(row->theirs, c) : native_refuses(row, f, alone);
}

static void try_on_host(const struct row *row, const struct fault *f, MPI_Comm comm)
{
    struct tt_call c = call_of(row, f, comm, false, HOST, HOST);
    int theirs, ours;

    test_now("%s with %s, host memory, on %s", row->id, f->name, comm == alone ? "one rank" : "all ranks");
    if (!native_answers(row, f, &c, comm))
        return; /* the MPI below crashes, and so it would under us: nothing to compare with */
    theirs = class_of(row->theirs(&c));
    ours = class_of(row->ours(&c));
    test_check(theirs == ours, "expected error class %d, as the MPI below gives, got %d", theirs, ours);
    if (!row->large)
        return;
    c = call_of(row, f, comm, true, HOST, HOST);
    test_now("%s_c with %s, host memory", row->id, f->name);
    ours = class_of(row->large(&c));
    test_check(theirs == ours, "expected error class %d, as without _c, got %d", theirs, ours);
}

static bool in_place(const struct fault *f)
{
    return f->commit == receive_in_place || f->commit == send_in_place;
}

/* MPIs do not agree on the class. */
static bool differs(const struct fault *f)
{
    return f->commit == null_type || f->commit == no_counts || f->commit == no_topology;
}

/* The other buffer is on the device, so that Tutti is needed; the MPI below must not get to see it. */
static void try_on_device(const struct row *row, const struct fault *f, MPI_Comm comm)
{
    const struct tt_call host = call_of(row, f, comm, false, HOST, HOST);
    const bool survives = native_answers(row, f, &host, comm);
    const bool comparable = !f->alias && !in_place(f) && !differs(f) && survives;
    const int theirs = comparable ? class_of(row->theirs(&host)) : MPI_SUCCESS;
    const struct tt_call c = call_of(row, f, comm, false, DEVICE, DEVICE);
    int ours;

    if (f->commit == null_communicator && !survives)
        return; /* without a communicator Tutti can only hand the call on */
    test_now("%s with %s, device memory, on %s", row->id, f->name, comm == alone ? "one rank" : "all ranks");
    ours = class_of(row->ours(&c));
    test_check(ours != MPI_SUCCESS, "expected an error, got MPI_SUCCESS");
    if (theirs != MPI_SUCCESS)
        test_check(ours == theirs, "expected error class %d, as on the host, got %d", theirs, ours);
}

static bool applies(const struct fault *f, const struct row *row, MPI_Comm comm)
{
    const bool here =
        comm == alone || (f->together && !(row->traits & TT_NEIGHBOURS)); /* of which an MPI may send first */

    return (f->needs == ~0u || row->traits & f->needs) && !(row->traits & f->unless) && here;
}

static bool keeps_receive_buffer(const struct fault *f, const struct row *row)
{
    const struct tt_call c = call_of(row, f, alone, false, HOST, HOST);

    return c.recv.out && c.recv.out != MPI_IN_PLACE;
}

/* Is there a buffer left that can be on a device? */
static bool has_device(const struct fault *f, const struct row *row)
{
    return test_gpus > 0 && !(row->traits & TT_NO_BUFFER) &&
           (keeps_receive_buffer(f, row) || !(row->traits & TT_ONE_BUFFER));
}

static void try_all(MPI_Comm comm)
{
    for (int r = 0; r < NROWS; r++)
        for (int i = 0; i < NFAULTS; i++)
            if (applies(&faults[i], &rows[r], comm)) {
                try_on_host(&rows[r], &faults[i], comm);
                if (has_device(&faults[i], &rows[r]))
                    try_on_device(&rows[r], &faults[i], comm);
            }
}

/* ---- afterwards ---- */

static void try_sound(void)
{
    double mine = test_rank, sum = 0;

    test_now("an allreduce after all those errors");
    test_success(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    test_check(sum == test_size * (test_size - 1) / 2.0, "expected %g, got %g", test_size * (test_size - 1) / 2.0, sum);
}

/* The user's own handler sees an error of Tutti's once, and one of the MPI below as often as without Tutti. */
static int seen;

static void note(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    seen++;
}

/* A fault that the MPI below refuses in a call on one rank; the first one if it refuses none. */
static const struct fault *refused_fault(const struct row *row)
{
    for (int i = 0; i < NFAULTS; i++)
        if (faults[i].together && applies(&faults[i], row, alone) && native_refuses(row, &faults[i], alone))
            return &faults[i];
    return faults;
}

static void try_handler(enum memory memory, const struct fault *f)
{
    const struct row *allreduce = rows;
    const struct tt_call c = call_of(allreduce, f, MPI_COMM_SELF, false, memory, memory);
    MPI_Errhandler handler;
    int due = 1;

    test_now("a user's error handler, %s memory", memory_names[memory]);
    PMPI_Comm_create_errhandler(note, &handler);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    seen = 0;
    if (memory == HOST) {
        allreduce->theirs(&c);
        due = seen;
    }
    seen = 0;
    allreduce->ours(&c);
    test_check(seen == due, "expected it to be called %d times, it was called %d times", due, seen);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    PMPI_Errhandler_free(&handler);
}

/* ---- sides of unequal length ---- */

enum { UNEVEN = 600 }; /* ints in a block: several messages */

/* Memory of exactly so many bytes: behind it, on the host, none that may be read. */
static char *fenced(enum memory memory, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    char *at;

    if (memory != HOST)
        return memory_take(memory, bytes ? bytes : 1);
    at = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(at + whole, page, PROT_NONE);
    return at + whole - bytes;
}

static void unfence(enum memory memory, char *at, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;

    if (memory == HOST)
        munmap(at + bytes - whole, whole + page);
    else
        memory_give(memory, at);
}

static bool error_says(int error, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    PMPI_Error_string(error, text, &length);
    return strcasestr(text, words) != NULL;
}

static void check_says(int error, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    PMPI_Error_string(error, text, &length);
    test_check(error_says(error, words), "expected an error that says \"%s\", got: %s", words, text);
}

/* The side whose length the other ranks cannot see is not that of the other: the send side, or at the root of a scatter
 * the receive side. */
static struct tt_call uneven_call(const struct row *row, char *send, char *recv, int other, MPI_Datatype type)
{
    const bool scatter = row->traits & TT_SEND_AT_ROOT;
    struct tt_call c = {
        .send = {send, UNEVEN, MPI_INT}, .recv = {recv, UNEVEN, MPI_INT}, .op = MPI_SUM, .comm = MPI_COMM_WORLD};

    if (scatter) {
        c.recv.count = other;
        c.recv.type = type;
    } else {
        c.send.count = other;
        c.send.type = type;
    }
    return c;
}

static size_t uneven_bytes(const struct row *row, unsigned blocks, MPI_Count count, MPI_Datatype type)
{
    int size;

    PMPI_Type_size(type, &size);
    return (size_t)size * (size_t)count * (row->traits & blocks ? (size_t)test_size : 1);
}

static bool waits_for_rank_0(const struct row *row)
{
    return !(row->traits & TT_ROOTED) || row->traits & TT_SEND_AT_ROOT;
}

/* wrong: this rank's sides are not of one length. */
static void try_uneven(const struct row *row, enum memory memory, int other, MPI_Datatype type, bool wrong)
{
    struct tt_call c = uneven_call(row, NULL, NULL, wrong ? other : UNEVEN, wrong ? type : MPI_INT);
    const size_t ns = uneven_bytes(row, TT_SEND_BLOCKS, c.send.count, c.send.type);
    const size_t nr = uneven_bytes(row, TT_RECV_BLOCKS, c.recv.count, c.recv.type);
    char *send = fenced(memory, ns), *recv = fenced(memory, nr);
    const bool fails = wrong || waits_for_rank_0(row);
    char name[32];
    int error;

    c.send.buf = send;
    c.recv.out = recv;
    error = row->ours(&c);
    snprintf(name, sizeof name, "rank %d: ", test_rank);
    test_check((error != MPI_SUCCESS) == fails, "expected %s, got error %d", fails ? "an error" : "MPI_SUCCESS", error);
    if (error != MPI_SUCCESS) {
        check_says(error, "Tutti");
        check_says(error, name);
        check_says(error, row->id);
        check_says(error, wrong ? "do not match" : "sent 0 bytes");
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    unfence(memory, send, ns);
    unfence(memory, recv, nr);
}

static void try_uneven_row(const struct row *row, const char *algorithm, enum memory memory)
{
    static const struct {
        const char *what;
        int other;
        bool doubles;
    } ways[] = {{"one more", UNEVEN + 1, false},
                {"one less", UNEVEN - 1, false},
                {"doubles", UNEVEN, true},
                {"nothing", 0, false}};

    for (int i = 0; i < 4; i++)
        for (int all = !(row->traits & TT_ROOTED); all >= 0; all--) {
            test_now("%s by %s, %s memory, %s of blocks of %s", row->id, algorithm, memory_names[memory],
                     all ? "all ranks" : "rank 0", ways[i].what);
            try_uneven(row, memory, ways[i].other, ways[i].doubles ? MPI_DOUBLE : MPI_INT, all || test_rank == 0);
        }
}

static void try_all_uneven(void)
{
    const char *algorithm;

    test_set("TUTTI_CHUNK", "1K");
    for (int r = 0; r < NROWS; r++)
        for (int a = 0; (algorithm = test_algorithm(rows[r].id, a)); a++) {
            if (rows[r].traits & (TT_REDUCES | TT_NO_BUFFER | TT_ONE_BUFFER | TT_SEND_COUNTS | TT_RECV_COUNTS | TT_NEIGHBOURS) ||
                strcmp(algorithm, "native") == 0)
                continue; /* the MPI below is not asked: a rank that cannot take part there leaves the others waiting */
            test_pin(rows[r].id, algorithm);
            try_uneven_row(&rows[r], algorithm, HOST);
            if (test_gpus > 0)
                try_uneven_row(&rows[r], algorithm, DEVICE);
            test_pin(rows[r].id, NULL);
        }
    test_set("TUTTI_CHUNK", NULL);
}

/* ---- one buffer for both sides, on one rank alone ---- */

/* Whatever the MPI below thinks of it: nobody may be left waiting, and what arrives is what was there before. */
static void try_alias(const struct row *row, const char *algorithm, enum memory memory, bool all)
{
    static int ours[2 * COUNT * MAX_RANKS], want[2 * COUNT * MAX_RANKS], got[2 * COUNT * MAX_RANKS];
    const size_t bytes = sizeof(int) * COUNT * (size_t)(row->traits & TT_RECV_BLOCKS ? test_size : 1);
    struct region *send = &regions[memory][0], *recv = &regions[memory][1];
    struct tt_call c = row_call(row, COUNT, MPI_INT, MPI_COMM_WORLD, false);
    const bool wrong = all || test_rank == 0;

    test_now("%s by %s, %s memory, one buffer for both sides on %s", row->id, algorithm, memory_names[memory],
             all ? "all ranks" : "rank 0");
    for (int i = 0; i < 2 * COUNT * MAX_RANKS; i++)
        ours[i] = 100 * test_rank + i;
    memset(want, 0, sizeof want);
    c.send.buf = ours;
    c.recv.out = want;
    row->theirs(&c);
    c.recv.out = region_set(recv, 0, ours, sizeof ours);
    c.send.buf = wrong ? c.recv.out : region_set(send, 0, ours, sizeof ours);
    if (!test_success(row->ours(&c)) || ((row->traits & TT_RECV_AT_ROOT) && test_rank != c.root))
        return;
    test_check(region_get(recv, got), "bytes around the receive buffer were written");
    test_check(memcmp(got, want, bytes) == 0, "expected what two buffers give");
}

static void try_aliases(void)
{
    const char *algorithm;

    for (int r = 0; r < NROWS; r++)
        for (int a = 0; (algorithm = test_algorithm(rows[r].id, a)); a++) {
            if (rows[r].traits & (TT_NO_BUFFER | TT_ONE_BUFFER | TT_RECV_NOT_FIRST | TT_NEIGHBOURS) ||
                strcmp(algorithm, "native") == 0)
                continue; /* the MPI below is not asked: it may refuse, and leave the others waiting */
            test_pin(rows[r].id, algorithm);
            for (int all = 0; all < 2; all++) {
                try_alias(&rows[r], algorithm, HOST, all);
                if (test_gpus > 0)
                    try_alias(&rows[r], algorithm, DEVICE, all);
            }
            test_pin(rows[r].id, NULL);
        }
}

/* ---- handlers that do more than return ---- */

enum raiser { BELOW, REFUSED, FAILED, NRAISERS };
static const char *const raisers[NRAISERS] = {"the MPI below", "Tutti, of arguments", "Tutti, of a call under way"};

static MPI_Comm apart;   /* MPI_COMM_SELF again, with a handler */
static MPI_Comm meeting; /* all ranks again */
static jmp_buf place;
static int jumps;
static double met;

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    jumps++;
    longjmp(place, 1);
}

static void meet(MPI_Comm *comm, int *error, ...)
{
    double mine = test_rank + 1;

    (void)comm;
    (void)error;
    if (met == 0)
        MPI_Allreduce(&mine, &met, 1, MPI_DOUBLE, MPI_SUM, meeting);
}

/* The MPI below raises errors of arguments only if it looks at them. */
static enum raiser first_raiser(void)
{
    return native_refuses(&rows[0], &(struct fault){.commit = null_type}, MPI_COMM_SELF) ? BELOW : REFUSED;
}

/* Has the error that raiser raises raised, on this rank alone or, what is under way, on all. */
static void raise_error(enum raiser raiser, MPI_Comm all)
{
    const enum memory memory = test_gpus > 0 && raiser != BELOW ? DEVICE : HOST;
    const struct fault wrong = {.commit = raiser == REFUSED ? band_of_doubles : null_type};
    struct tt_call c = call_of(&rows[0], &wrong, apart, false, memory, memory);

    if (raiser != FAILED) {
        rows[0].ours(&c);
        return;
    }
    c.comm = all;
    c.send.type = c.recv.type = MPI_INT;
    c.send.count = test_rank == 0 ? COUNT - 1 : COUNT;
    row_named("allgather")->ours(&c);
}

/* Do collectives still go through Tutti? It asks where each buffer is, which the MPI below does not. */
static void check_served(MPI_Comm comm)
{
    struct simcuda_counters counted = {.pointer_queries = 1};
    double mine = test_rank + 1, sum = 0, want = test_size * (test_size + 1) / 2.0;

    if (simulator.counters && test_gpus > 0)
        simulator.reset();
    test_success(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm));
    if (simulator.counters && test_gpus > 0)
        simulator.counters(&counted);
    test_check(sum == want, "then an allreduce on host memory: expected %g, got %g", want, sum);
    test_check(counted.pointer_queries > 0, "then an allreduce went past Tutti");
    if (test_gpus == 0 || counted.pointer_queries == 0)
        return;
    region_set(&regions[DEVICE][0], 0, &mine, sizeof mine);
    region_set(&regions[DEVICE][1], 0, &mine, sizeof mine);
    test_success(MPI_Allreduce(regions[DEVICE][0].at, regions[DEVICE][1].at, 1, MPI_DOUBLE, MPI_SUM, comm));
    region_get(&regions[DEVICE][1], &sum);
    test_check(sum == want, "then an allreduce on device memory: expected %g, got %g", want, sum);
}

static void jump_once(enum raiser raiser, MPI_Comm all)
{
    if (setjmp(place) == 0) {
        raise_error(raiser, all);
        test_check(false, "the handler was not called");
    }
}

/* A handler that leaves takes nothing with it: the next call finds the scratch where the last one had it. */
static void check_nothing_taken(MPI_Comm all)
{
    struct simcuda_counters counted;

    if (test_gpus == 0 || !simulator.counters)
        return;
    simulator.reset();
    for (int i = 0; i < 5; i++)
        jump_once(FAILED, all);
    simulator.counters(&counted);
    test_check(counted.device_allocs + counted.pinned_allocs == 0, "5 more calls allocated %llu times",
               counted.device_allocs + counted.pinned_allocs);
}

static void try_jumps(MPI_Comm all)
{
    for (int i = (int)first_raiser(); i < NRAISERS; i++)
        for (int on_one = 0; on_one < 2; on_one++) {
            if (on_one && i == FAILED)
                continue;
            test_now("a handler that leaves by longjmp from an error of %s, on %s", raisers[i],
                     on_one ? "rank 1" : "all ranks");
            jumps = 0;
            if (!on_one || test_rank == 1)
                jump_once((enum raiser)i, all);
            test_check(jumps == (!on_one || test_rank == 1), "the handler was called %d times", jumps);
            check_served(MPI_COMM_WORLD);
            check_served(all);
        }
    check_nothing_taken(all);
}

/* Polls until the handler has been called, or for some seconds. */
static void progress_until_jump(void)
{
    int flag;

    for (int i = 0; i < 5000 && jumps == 0; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 1, meeting, &flag, MPI_STATUS_IGNORE);
        usleep(1000);
    }
}

/* MPICH has forgotten by then which communicator the message was of. */
static void set_handlers(MPI_Errhandler handler)
{
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
}

/* Nobody waits for a receive that has been freed, so that its error comes up while whatever call polls; then what is
 * under way must still move on. */
static void try_jump_out_of_poll(MPI_Comm all, MPI_Errhandler jumper)
{
    struct region *from = &regions[DEVICE][0], *to = &regions[DEVICE][1];
    static const int numbers[COUNT];
    double mine = test_rank + 1, sum = 0, want = test_size * (test_size + 1) / 2.0;
    MPI_Request request;

    if (test_gpus == 0)
        return;
    test_now("a handler that leaves by longjmp from a freed receive that is too short");
    jumps = 0;
    region_set(to, 0, numbers, sizeof numbers);
    if (test_rank == 0) {
        test_success(MPI_Irecv(to->at, 1, MPI_INT, 1, 3, all, &request));
        test_success(MPI_Request_free(&request));
        PMPI_Barrier(meeting);
        set_handlers(jumper);
        if (setjmp(place) == 0)
            progress_until_jump();
        set_handlers(MPI_ERRORS_RETURN);
        test_check(jumps == 1, "the handler was called %d times", jumps);
    } else {
        PMPI_Barrier(meeting);
        if (test_rank == 1)
            test_success(PMPI_Send(numbers, COUNT, MPI_INT, 0, 3, all));
    }
    region_set(from, 0, &mine, sizeof mine);
    region_set(to, 0, &sum, sizeof sum);
    test_success(MPI_Iallreduce(from->at, to->at, 1, MPI_DOUBLE, MPI_SUM, meeting, &request));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    region_get(to, &sum);
    test_check(sum == want, "then an Iallreduce: expected %g, got %g", want, sum);
    check_served(MPI_COMM_WORLD);
}

/* Rank 0 meets the others from within its handler, they meet it from the program. */
static void try_meetings(void)
{
    const double mine = test_rank + 1, want = test_size * (test_size + 1) / 2.0;

    for (int i = (int)first_raiser(); i < FAILED; i++) {
        test_now("a handler that communicates, at an error of %s", raisers[i]);
        met = 0;
        if (test_rank == 0)
            raise_error((enum raiser)i, MPI_COMM_NULL);
        else
            MPI_Allreduce(&mine, &met, 1, MPI_DOUBLE, MPI_SUM, meeting);
        test_check(met == want, "expected %g, got %g", want, met);
        check_served(MPI_COMM_WORLD);
    }
}

static void try_handlers(void)
{
    MPI_Errhandler jumper, meeter;
    MPI_Comm all;

    PMPI_Comm_create_errhandler(jump, &jumper);
    PMPI_Comm_create_errhandler(meet, &meeter);
    PMPI_Comm_dup(MPI_COMM_SELF, &apart);
    PMPI_Comm_dup(MPI_COMM_WORLD, &meeting);
    PMPI_Comm_dup(MPI_COMM_WORLD, &all);
    PMPI_Comm_set_errhandler(apart, jumper);
    PMPI_Comm_set_errhandler(all, jumper);
    test_pin("allgather", "bruck");
    try_jumps(all);
    MPI_Barrier(meeting);
    try_jump_out_of_poll(all, jumper);
    test_pin("allgather", NULL);
    PMPI_Comm_set_errhandler(apart, meeter);
    try_meetings();
    PMPI_Errhandler_free(&jumper);
    PMPI_Errhandler_free(&meeter);
    MPI_Comm_free(&apart);
    MPI_Comm_free(&meeting);
    MPI_Comm_free(&all);
}

/* ---- a rank without memory ---- */

static bool sum_is_right(MPI_Comm comm)
{
    int one = 1, sum = 0;

    return test_success(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm)) &&
           test_check(sum == test_size, "the sum is %d", sum);
}

#if MPI_VERSION >= 4
/* Nor for what a persistent call means: it is told so, and does not leave to the MPI below what the others do not. */
static void try_no_memory_for_persistent(MPI_Comm comm)
{
    const int counts[MAX_RANKS] = {1, 1};
    int from[MAX_RANKS] = {1, 2}, to = 0, error;
    MPI_Request request = MPI_REQUEST_NULL;

    test_now("a persistent call, one rank being out of memory");
    sum_is_right(comm);
    test_starved = test_rank == 1;
    error = MPI_Reduce_scatter_init(from, &to, counts, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    test_check(!test_starved, "nobody asked for memory");
    if (test_rank != 1)
        test_success(error);
    else
        check_says(error, "out of host memory");
    if (error == MPI_SUCCESS)
        test_success(MPI_Request_free(&request));
    sum_is_right(comm);
}
#else
static void try_no_memory_for_persistent(MPI_Comm comm)
{
    (void)comm;
}
#endif

/* One rank has no memory for a communicator's state at its first call: then none of them makes one, every rank is told,
 * and the next call finds them all alike. */
static void try_no_memory(void)
{
    int one = 1, sum = 0, error;
    MPI_Comm comm;

    test_now("asking, perhaps in a thread of its own, what was chosen on a communicator that has seen no call");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    test_starved = true;
    test_choice(comm, "allreduce");
    test_check(test_starved, "something was made for it");
    test_starved = false;
    MPI_Comm_free(&comm);
    test_now("the first call on a communicator, one rank being out of memory");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    test_starved = test_rank == 1;
    error = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    test_check(!test_starved, "nobody asked for memory");
    check_says(error, "out of host memory");
    sum_is_right(comm);
    sum_is_right(comm);
    try_no_memory_for_persistent(comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const int one = 1;
    const struct fault *refused;

    test_begin(&argc, &argv, 60);
    PMPI_Type_contiguous(2, MPI_INT, &two_ints);
    PMPI_Type_commit(&two_ints);
    PMPI_Type_contiguous(2, MPI_INT, &uncommitted);
    PMPI_Op_create(add, 1, &add_op);
    for (int i = 0; i < MAX_RANKS; i++) {
        bad_counts[i] = i ? COUNT : -1;
        wide_bad_counts[i] = bad_counts[i];
    }
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_make(&regions[m][side], (enum memory)m, 4096);
    PMPI_Comm_dup(MPI_COMM_SELF, &alone);
    PMPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &alone_in_ring);
    PMPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, &one, 0, &all_in_ring);
    PMPI_Comm_set_errhandler(alone_in_ring, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(all_in_ring, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL); /* no error of another communicator may end there */
    try_all(alone);
    try_all(MPI_COMM_WORLD);
    refused = refused_fault(rows);
    MPI_Comm_free(&alone);
    MPI_Comm_free(&alone_in_ring);
    MPI_Comm_free(&all_in_ring);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (refused != faults)
        try_handler(HOST, refused);
    if (test_gpus > 0)
        try_handler(DEVICE, refused);
    try_all_uneven();
    try_aliases();
    try_handlers();
    try_no_memory();
    try_sound();
    PMPI_Type_free(&two_ints);
    PMPI_Type_free(&uncommitted);
    PMPI_Op_free(&add_op);
    return test_end();
}
