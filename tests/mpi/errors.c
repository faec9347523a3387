/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that make no sense. On host memory the class of the error must be that of the MPI below for the very
 * same call; with a device buffer there must be an error too, and no crash. On MPI_COMM_SELF every fault, since
 * there nobody can be left waiting; on MPI_COMM_WORLD those that all ranks commit together. */
#include "tests/mpi/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/rows.h"

enum { COUNT = 4, MAX_RANKS = 16 };

static int counts[MAX_RANKS], bad_counts[MAX_RANKS];
static MPI_Count wide_counts[MAX_RANKS], wide_bad_counts[MAX_RANKS];

/* ---- faults ---- */

static void negative_count(struct tt_call *c)
{
    c->send.count = c->recv.count = -1;
    c->counts = c->counts_are_wide ? (const void *)wide_bad_counts : bad_counts;
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

static void null_recv(struct tt_call *c)
{
    c->recv.out = NULL;
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
    {"a root beyond the last rank", root_too_large, TT_ROOTED, 0, true, false},
    {"a negative root", root_negative, TT_ROOTED, 0, true, false},
    {"a null type", null_type, ~0u, TT_NO_BUFFER, true, false},
    {"a null op", null_op, TT_REDUCES, 0, true, false},
    {"MPI_BAND of doubles", band_of_doubles, TT_REDUCES, 0, true, false},
    {"MPI_MAXLOC of ints", maxloc_of_ints, TT_REDUCES, 0, true, false},
    {"MPI_SUM of pairs", sum_of_pairs, TT_REDUCES, 0, true, false},
    {"a null send buffer", null_send, ~0u, TT_NO_BUFFER | TT_ONE_BUFFER, false, false},
    {"a null receive buffer", null_recv, ~0u, TT_NO_BUFFER, false, false},
    {"MPI_IN_PLACE to receive in", receive_in_place, ~0u, TT_NO_BUFFER | TT_SEND_AT_ROOT, false, false},
    {"MPI_IN_PLACE to send from", send_in_place, TT_SEND_AT_ROOT, 0, false, false},
    {"one buffer twice", same_buffer, ~0u, TT_NO_BUFFER | TT_ONE_BUFFER, false, true},
    {"a null communicator", null_communicator, ~0u, 0, true, false},
};
enum { NFAULTS = sizeof faults / sizeof *faults };

/* ---- a call with a fault ---- */

static struct region regions[NMEMORIES][2];

static struct tt_call call_of(const struct fault *f, MPI_Comm comm, bool wide, enum memory from, enum memory to)
{
    static const double data[2 * COUNT * MAX_RANKS];
    struct tt_call c = {.send = {region_set(&regions[from][0], 0, data, sizeof data), COUNT, MPI_INT},
                        .recv = {region_set(&regions[to][1], 0, data, sizeof data), COUNT, MPI_INT},
                        .counts = counts, .counts_are_wide = wide, .op = MPI_SUM, .root = 0, .comm = comm};

    if (wide)
        c.counts = wide_counts;
    f->commit(&c);
    return c;
}

static int class_of(int error)
{
    int class = error;

    PMPI_Error_class(error, &class);
    return class;
}

/* Does the MPI below survive this call? Asked in a child, whose death is the answer. */
static bool native_survives(call_function *native, const struct tt_call *c)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        alarm(5);
        native(c);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void try_on_host(const struct row *row, const struct fault *f, MPI_Comm comm)
{
    struct tt_call c = call_of(f, comm, false, HOST, HOST);
    int theirs, ours;

    test_now("%s with %s, host memory, on %s", row->id, f->name, comm == MPI_COMM_SELF ? "one rank" : "all ranks");
    if (!native_survives(row->theirs, &c))
        return; /* the MPI below crashes, and so it would under us: nothing to compare with */
    theirs = class_of(row->theirs(&c));
    ours = class_of(row->ours(&c));
    test_check(theirs == ours, "expected error class %d, as the MPI below gives, got %d", theirs, ours);
    if (!row->large)
        return;
    c = call_of(f, comm, true, HOST, HOST);
    test_now("%s_c with %s, host memory", row->id, f->name);
    ours = class_of(row->large(&c));
    test_check(theirs == ours, "expected error class %d, as without _c, got %d", theirs, ours);
}

static bool in_place(const struct fault *f)
{
    return f->commit == receive_in_place || f->commit == send_in_place;
}

/* The other buffer is on the device, so that Tutti is needed; the MPI below must not get to see it. */
static void try_on_device(const struct row *row, const struct fault *f, MPI_Comm comm)
{
    const struct tt_call host = call_of(f, comm, false, HOST, HOST);
    const bool survives = native_survives(row->theirs, &host);
    const bool comparable = !f->alias && !in_place(f) && f->commit != null_type && survives;
    const int theirs = comparable ? class_of(row->theirs(&host)) : MPI_SUCCESS;
    const struct tt_call c = call_of(f, comm, false, DEVICE, DEVICE);
    int ours;

    if (f->commit == null_communicator && !survives)
        return; /* without a communicator Tutti can only hand the call on */
    test_now("%s with %s, device memory, on %s", row->id, f->name, comm == MPI_COMM_SELF ? "one rank" : "all ranks");
    ours = class_of(row->ours(&c));
    test_check(ours != MPI_SUCCESS, "expected an error, got MPI_SUCCESS");
    if (theirs != MPI_SUCCESS)
        test_check(ours == theirs, "expected error class %d, as on the host, got %d", theirs, ours);
}

static bool applies(const struct fault *f, const struct row *row, MPI_Comm comm)
{
    return (f->needs == ~0u || row->traits & f->needs) && !(row->traits & f->unless) &&
           (comm == MPI_COMM_SELF || f->together);
}

/* Is there a buffer left that can be on a device? */
static bool has_device(const struct fault *f, const struct row *row)
{
    return test_gpus > 0 && !(row->traits & TT_NO_BUFFER) &&
           !(row->traits & TT_ONE_BUFFER && (in_place(f) || f->commit == null_recv));
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

static void try_handler(enum memory memory)
{
    const struct row *allreduce = rows;
    const struct tt_call c = call_of(&faults[0], MPI_COMM_SELF, false, memory, memory);
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

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 60);
    for (int i = 0; i < MAX_RANKS; i++) {
        counts[i] = COUNT;
        wide_counts[i] = COUNT;
        bad_counts[i] = i ? COUNT : -1;
        wide_bad_counts[i] = bad_counts[i];
    }
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_make(&regions[m][side], (enum memory)m, 4096);
    try_all(MPI_COMM_SELF);
    try_all(MPI_COMM_WORLD);
    try_handler(HOST);
    if (test_gpus > 0)
        try_handler(DEVICE);
    try_sound();
    return test_end();
}
