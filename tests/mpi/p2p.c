/* SPDX-License-Identifier: BSD-3-Clause */
/* Every way to send to every way to receive, two ranks, from every kind of memory to every kind: with datatypes that
 * have gaps, lie backwards or behind their address, differ between the two sides, and with messages of nothing, one
 * element, an end within an element, and 100 KB. What a message does not bring must stay as it was, bytes in gaps and
 * around the buffer too. Then the exchanges, messages that are too long, and arguments that make no sense, which must
 * give the error that the MPI below gives on host memory, if it looks. */
#include "tests/mpi/harness.h"

#include <stdio.h>
#include <string.h>

#include "tests/mpi/p2p_rows.h"

enum { MOST = 25601, SPARE = 2 /* elements more than the message */, ROOM = (MOST + 8) * 16, UNTOUCHED = 0xC3 };

static struct region regions[NMEMORIES][2];

/* ---- datatypes of ints ---- */

static struct layout {
    const char *name;
    int ints;   /* in an element */
    int at[3];  /* where they are, bytes */
    int extent; /* between elements */
    MPI_Datatype type;
} layouts[] = {
    {.name = "ints", .ints = 1, .extent = 4},
    {.name = "ints with gaps", .ints = 1, .extent = 12},
    {.name = "ints in threes", .ints = 3, .at = {0, 4, 8}, .extent = 12},
    {.name = "ints backwards", .ints = 1, .extent = -8},
    {.name = "twos the wrong way round", .ints = 2, .at = {12, 4}, .extent = 20},
    {.name = "threes behind their address", .ints = 3, .at = {16, 24, 28}, .extent = 24},
};
enum { NLAYOUTS = sizeof layouts / sizeof *layouts };

static void make_types(void)
{
    for (int i = 0; i < NLAYOUTS; i++) {
        struct layout *l = &layouts[i];
        const int lengths[] = {1, 1, 1};
        const MPI_Aint at[] = {l->at[0], l->at[1], l->at[2]};
        MPI_Datatype plain;

        PMPI_Type_create_hindexed(l->ints, lengths, at, MPI_INT, &plain);
        PMPI_Type_create_resized(plain, 0, l->extent, &l->type);
        PMPI_Type_free(&plain);
        PMPI_Type_commit(&l->type);
    }
    PMPI_Type_free(&layouts[0].type);
    layouts[0].type = MPI_INT;
}

static void free_types(void)
{
    for (int i = 1; i < NLAYOUTS; i++)
        PMPI_Type_free(&layouts[i].type);
}

/* n elements in a region: what it is to hold, and where element 0 is in it. */
struct image {
    const struct layout *layout;
    int n;
    size_t bytes, first;
    char data[ROOM];
};

static void image_make(struct image *im, const struct layout *l, int n)
{
    const int step = l->extent < 0 ? -l->extent : l->extent;
    int last = 0;

    for (int i = 0; i < l->ints; i++)
        last = l->at[i] > last ? l->at[i] : last;
    im->layout = l;
    im->n = n;
    im->bytes = n ? (size_t)(step * (n - 1) + last) + 4 : 0;
    im->first = l->extent < 0 && n ? (size_t)(step * (n - 1)) : 0;
    memset(im->data, UNTOUCHED, im->bytes);
}

/* The ints 0 to count - 1 of a message. */
static void image_write(struct image *im, int count, uint64_t key)
{
    const struct layout *l = im->layout;

    for (int i = 0; i < count; i++) {
        const int value = (int)test_random(key + (uint64_t)i);

        memcpy(im->data + (MPI_Aint)im->first + i / l->ints * l->extent + l->at[i % l->ints], &value, 4);
    }
}

/* Puts it into memory; where element 0 is. */
static char *image_place(const struct image *im, struct region *r)
{
    return region_set(r, 16, im->data, im->bytes) + im->first;
}

/* ---- one message ---- */

struct trial {
    struct way send, recv;
    enum memory from, to;
    const struct layout *sent, *received;
    int ints, tag;
    bool wild;
    uint64_t key;
};

static int sender; /* the other one receives */

static void send_it(const struct trial *t)
{
    static struct image im;
    struct region *r = &regions[t->from][0];
    struct tt_p2p c = {.comm = MPI_COMM_WORLD};
    MPI_Request request;

    image_make(&im, t->sent, t->ints / t->sent->ints);
    image_write(&im, t->ints, t->key);
    c.send = (struct tt_p2p_end){image_place(&im, r), im.n, t->sent->type, 1 - sender, t->tag};
    PMPI_Barrier(MPI_COMM_WORLD);
    if (test_success(way_begin(&t->send, &c, &request, MPI_STATUS_IGNORE)))
        test_success(way_end(&t->send, &request, MPI_STATUS_IGNORE));
    test_check(region_holds(r, im.data), "the send buffer, or bytes around it, were written");
}

static void check_status(const struct trial *t, MPI_Status *status)
{
    int ints = -1;

    PMPI_Get_elements(status, t->received->type, &ints);
    test_check(status->MPI_SOURCE == sender && status->MPI_TAG == t->tag && ints == t->ints,
               "the status says %d ints from %d with tag %d, expected %d from %d with %d", ints, status->MPI_SOURCE,
               status->MPI_TAG, t->ints, sender, t->tag);
}

/* Can it be posted before the message is sent? */
static bool comes_first(const struct way *recv)
{
    return recv->form != TT_FORM_CALL && recv->row == &p2p_rows[TT_P2P_recv];
}

static void receive_it(const struct trial *t)
{
    static struct image im;
    struct region *r = &regions[t->to][1];
    MPI_Message message;
    struct tt_p2p c = {.comm = MPI_COMM_WORLD, .message = &message};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int error = MPI_SUCCESS;

    image_make(&im, t->received, (t->ints + t->received->ints - 1) / t->received->ints + SPARE);
    c.recv = (struct tt_p2p_end){image_place(&im, r), im.n, t->received->type, t->wild ? MPI_ANY_SOURCE : sender,
                                 t->wild ? MPI_ANY_TAG : t->tag};
    image_write(&im, t->ints, t->key);
    if (comes_first(&t->recv))
        error = way_begin(&t->recv, &c, &request, &status);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (t->recv.row == &p2p_rows[TT_P2P_mrecv])
        test_success(MPI_Mprobe(c.recv.peer, c.recv.tag, c.comm, &message, &status));
    if (!comes_first(&t->recv))
        error = way_begin(&t->recv, &c, &request, &status);
    if (test_success(error) && test_success(way_end(&t->recv, &request, &status))) {
        check_status(t, &status);
        test_check(region_holds(r, im.data), "what is in the receive buffer is not what was sent");
    }
}

static void try_message(const struct trial *t)
{
    char send[64], recv[64];

    sender = (int)(t->key & 1);
    test_now("%s to %s, %s to %s memory, %d ints, as %s to %s", way_name(&t->send, send, sizeof send),
             way_name(&t->recv, recv, sizeof recv), memory_names[t->from], memory_names[t->to], t->ints, t->sent->name,
             t->received->name);
    (test_rank == sender ? send_it : receive_it)(t);
}

/* ---- all of them ---- */

static const int lengths[] = {0, 1, 6, 7, 41, 1500, MOST};
enum { NLENGTHS = sizeof lengths / sizeof *lengths };

static bool possible(const struct trial *t)
{
    return memory_exists(t->from) && memory_exists(t->to) && way_exists(&t->send) && way_exists(&t->recv) &&
           t->ints % t->sent->ints == 0 && (t->send.row != &p2p_rows[TT_P2P_rsend] || comes_first(&t->recv));
}

static uint64_t trials;

static void try_if_possible(struct trial t)
{
    trials++;
    t.key = 100000 * trials + trials / 2 % 2;
    t.tag = (int)(trials % 1000);
    t.wild = trials % 3 == 0;
    if (possible(&t))
        try_message(&t);
}

/* From each memory to one, which another turn changes: in as many turns as there are memories all pairs are met. */
static void try_memories(struct trial t, int turn)
{
    for (int from = 0; from < NMEMORIES; from++) {
        t.from = (enum memory)from;
        t.to = (enum memory)((from + turn) % NMEMORIES);
        try_if_possible(t);
    }
}

/* All datatypes and lengths, by the ways that are different inside. */
static void try_layouts(void)
{
    for (int form = TT_FORM_CALL; form <= TT_FORM_INIT; form++)
        for (int i = 0; i < NLAYOUTS * NLAYOUTS * NLENGTHS; i++)
            try_memories((struct trial){.send = {&p2p_rows[TT_P2P_send], (enum tt_p2p_form)form, false},
                                        .recv = {&p2p_rows[TT_P2P_recv], (enum tt_p2p_form)form, false},
                                        .sent = &layouts[i % NLAYOUTS],
                                        .received = &layouts[i / NLAYOUTS % NLAYOUTS],
                                        .ints = lengths[i / NLAYOUTS / NLAYOUTS]},
                         form + i + i / NLAYOUTS);
}

/* All ways, with a datatype and a length that come round. */
static void try_ways(void)
{
    int i = 0;

    for (int s = TT_P2P_send; s <= TT_P2P_rsend; s++)
        for (int r = TT_P2P_recv; r <= TT_P2P_mrecv; r++)
            for (int forms = 0; forms < 9; forms++)
                for (int wide = 0; wide < 4; wide++, i++)
                    try_memories((struct trial){.send = {&p2p_rows[s], (enum tt_p2p_form)(forms / 3), wide & 1},
                                                .recv = {&p2p_rows[r], (enum tt_p2p_form)(forms % 3), wide & 2},
                                                .sent = &layouts[i % NLAYOUTS],
                                                .received = &layouts[i / 2 % NLAYOUTS],
                                                .ints = lengths[2 + i % 4]},
                                 i + i / NMEMORIES);
}

/* ---- exchanges ---- */

/* MPICH 4.0's own nonblocking exchanges say nothing of what they received, crash without a partner, and free datatypes
 * that they do not own: so there is nothing to be tested where they are called: on host memory, and without a partner.
 */
static bool below_is_broken(const struct way *w, enum memory from, enum memory to)
{
    const unsigned both = TT_SENDS | TT_RECEIVES;

    return (w->row->traits & both) == both && w->form == TT_FORM_START && from < MANAGED && to < MANAGED;
}

static void check_exchange(const struct region *r, const struct image *im, MPI_Status *status, int peer, int ints)
{
    int elements = -1;

    PMPI_Get_elements(status, im->layout->type, &elements);
    test_check(status->MPI_SOURCE == peer && elements == ints, "the status says %d ints from %d, expected %d from %d",
               elements, status->MPI_SOURCE, ints, peer);
    test_check(region_holds(r, im->data), "what is in the receive buffer is not what was sent");
}

/* Each sends to the other, or to itself, or nobody. */
static void try_exchange(const struct way *w, enum memory from, enum memory to, const struct layout *sent,
                         const struct layout *received, int peer)
{
    static struct image out, in;
    const bool one = w->row->traits & TT_REPLACES;
    const int ints = 6 * (1 + (int)(trials % 400));
    const uint64_t key = 100000 * ++trials;
    struct region *a = &regions[from][0], *b = one ? a : &regions[to][1];
    struct tt_p2p c = {.comm = MPI_COMM_WORLD};
    MPI_Request request;
    MPI_Status status;

    image_make(&out, sent, ints / sent->ints);
    image_make(&in, received, ints / received->ints);
    if (!one)
        c.recv.buf = image_place(&in, b);
    image_write(&out, ints, key + (uint64_t)test_rank);
    c.send = (struct tt_p2p_end){image_place(&out, a), out.n, sent->type, peer, 7};
    c.recv = (struct tt_p2p_end){one ? c.send.buf : c.recv.buf, in.n, received->type, peer, 7};
    if (peer != MPI_PROC_NULL || one)
        image_write(&in, ints, key + (uint64_t)(peer == MPI_PROC_NULL ? test_rank : peer));
    if (test_success(way_begin(w, &c, &request, &status)) && test_success(way_end(w, &request, &status)))
        check_exchange(b, &in, &status, peer, peer == MPI_PROC_NULL ? 0 : ints);
    test_check(one || region_holds(a, out.data), "the send buffer, or bytes around it, were written");
}

static void try_exchange_layouts(const struct way *w, enum memory from, enum memory to)
{
    const bool one = w->row->traits & TT_REPLACES;
    char name[64];

    for (int i = 0; i < NLAYOUTS; i++)
        for (int to_whom = 0; to_whom < (w->form == TT_FORM_CALL ? 3 : 2); to_whom++) {
            const int peers[] = {1 - test_rank, test_rank, MPI_PROC_NULL};
            const struct layout *received = one ? &layouts[i] : &layouts[(i + to_whom) % NLAYOUTS];

            test_now("%s with %s, %s and %s memory, %s and %s", way_name(w, name, sizeof name),
                     to_whom == 0   ? "each other"
                     : to_whom == 1 ? "oneself"
                                    : "nobody",
                     memory_names[from], memory_names[to], layouts[i].name, received->name);
            try_exchange(w, from, to, &layouts[i], received, peers[to_whom]);
        }
}

static void try_exchanges(void)
{
    for (int r = TT_P2P_sendrecv; r <= TT_P2P_sendrecv_replace; r++)
        for (int form = TT_FORM_CALL; form <= TT_FORM_START; form++)
            for (int wide = 0; wide < 2; wide++)
                for (int from = 0; from < NMEMORIES; from++)
                    for (int to = 0; to < (r == TT_P2P_sendrecv ? NMEMORIES : 1); to++) {
                        const struct way w = {&p2p_rows[r], (enum tt_p2p_form)form, wide};

                        const enum memory there = (enum memory)(r == TT_P2P_sendrecv ? to : from);

                        if (way_exists(&w) && memory_exists((enum memory)from) && memory_exists(there) &&
                            !below_is_broken(&w, (enum memory)from, there))
                            try_exchange_layouts(&w, (enum memory)from, there);
                    }
}

/* ---- a message that is too long ---- */

static int class_of(int error)
{
    int class = error;

    PMPI_Error_class(error, &class);
    return class;
}

static void try_truncation(const struct way *w, enum memory memory, const struct layout *l, int ints)
{
    static struct image out, in;
    struct region *r = &regions[memory][1];
    struct tt_p2p c = {.comm = MPI_COMM_WORLD};
    MPI_Request sent, request;
    MPI_Status status;
    int error;

    image_make(&out, &layouts[0], ints);
    image_make(&in, l, 2);
    c.recv = (struct tt_p2p_end){image_place(&in, r), in.n, l->type, test_rank, 3};
    PMPI_Isend(out.data, ints, MPI_INT, test_rank, 3, MPI_COMM_WORLD, &sent);
    error = way_begin(w, &c, &request, &status);
    if (error == MPI_SUCCESS)
        error = way_end(w, &request, &status);
    else if (w->form == TT_FORM_INIT)
        MPI_Request_free(&request);
    test_check(class_of(error) == MPI_ERR_TRUNCATE, "expected MPI_ERR_TRUNCATE, got error class %d", class_of(error));
    test_check(region_get(r, in.data), "bytes around the receive buffer were written");
    PMPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void try_truncations(void)
{
    char name[64];

    for (int form = TT_FORM_CALL; form <= TT_FORM_INIT; form++)
        for (int m = 0; m < NMEMORIES; m++)
            for (int i = 0; i < NLAYOUTS; i++) {
                const struct way w = {&p2p_rows[TT_P2P_recv], (enum tt_p2p_form)form, false};

                if (!memory_exists((enum memory)m))
                    continue;
                test_now("%s of a message that is too long, %s memory, %s", way_name(&w, name, sizeof name),
                         memory_names[m], layouts[i].name);
                try_truncation(&w, (enum memory)m, &layouts[i], 7);
            }
}

/* ---- arguments that make no sense ---- */

static const struct fault {
    const char *name;
    MPI_Count count;
    int type; /* 0: null, 1: not committed, 2: a sound one */
    int peer, tag;
} faults[] = {
    {"a negative count", -1, 2, 0, 0},       {"a null type", 1, 0, 0, 0},       {"a type not committed", 1, 1, 0, 0},
    {"a rank beyond the last", 1, 2, 99, 0}, {"a negative rank", 1, 2, -77, 0}, {"a negative tag", 1, 2, 0, -77},
};

static int with_fault(const struct tt_p2p_native *calls, const struct fault *f, const struct p2p_row *row,
                      enum tt_p2p_form form, char *buf, MPI_Datatype raw)
{
    const MPI_Datatype types[] = {MPI_DATATYPE_NULL, raw, MPI_INT};
    const struct tt_p2p_end end = {buf, f->count, types[f->type], f->peer, f->tag};
    const struct tt_p2p c = {
        .comm = MPI_COMM_WORLD, .send = row->traits & TT_SENDS ? end : (struct tt_p2p_end){0}, .recv = end};
    MPI_Request request = MPI_REQUEST_NULL;
    int error;

    if (form == TT_FORM_CALL)
        return calls->call(&c, MPI_STATUS_IGNORE);
    error = (form == TT_FORM_START ? calls->start : calls->init)(&c, &request);
    if (error == MPI_SUCCESS)
        PMPI_Request_free(&request);
    return error;
}

static void try_fault(const struct fault *f, const struct p2p_row *row, enum tt_p2p_form form, bool wide,
                      MPI_Datatype raw)
{
    static char buf[64];
    const struct way w = {row, form, wide};
    char name[64];
    int want;

    if (!way_exists(&w) || below_is_broken(&w, HOST, HOST))
        return;
    test_now("%s with %s on the host", way_name(&w, name, sizeof name), f->name);
    want = class_of(with_fault(&row->theirs[wide], f, row, form, buf, raw));
    for (int m = 0; m < NMEMORIES && want != MPI_SUCCESS; m++) {
        int got;

        if (!memory_exists((enum memory)m))
            continue;
        test_now("%s with %s, %s memory", way_name(&w, name, sizeof name), f->name, memory_names[m]);
        region_set(&regions[m][0], 0, buf, sizeof buf);
        got = class_of(with_fault(&row->ours[wide], f, row, form, regions[m][0].at, raw));
        test_check(got == want, "expected error class %d, as the MPI below gives on the host, got %d", want, got);
    }
}

static void try_faults(void)
{
    MPI_Datatype raw;

    PMPI_Type_contiguous(2, MPI_INT, &raw);
    for (int r = 0; r < TT_NP2P; r++)
        for (int form = TT_FORM_CALL; form <= TT_FORM_INIT; form++)
            for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
                for (int wide = 0; wide < 2 && r != TT_P2P_mrecv; wide++)
                    try_fault(&faults[f], &p2p_rows[r], (enum tt_p2p_form)form, wide, raw);
    PMPI_Type_free(&raw);
}

int main(int argc, char **argv)
{
    static char buffered[ROOM + 4096];
    void *back;
    int size;

    test_begin(&argc, &argv, 120);
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_make(&regions[m][side], (enum memory)m, ROOM);
    make_types();
    MPI_Buffer_attach(buffered, (int)sizeof buffered);
    try_layouts();
    try_ways();
    try_exchanges();
    try_truncations();
    try_faults();
    MPI_Buffer_detach(&back, &size);
    free_types();
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_free(&regions[m][side]);
    return test_end();
}
