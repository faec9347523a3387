/* SPDX-License-Identifier: BSD-3-Clause */
/* The flight recorder (TUTTI_RECORD=DIR): each rank keeps its last few thousand collectives, and in which other call of
 * MPI it is, in a file of fixed size that is mapped (record_file.h), for `tutti doctor` to read, while the job runs or
 * when it is over, however it ended. A line is begun as a call is entered, so that a rank that hangs is seen where it
 * hangs. Nothing is locked: a line is the caller's own, its serial is stored last, and a reader that comes in between
 * sees a line without one. Costs the reading of a clock three times, and the line's stores: bench/interpose. */
#include "coll/record.h"

#include <config.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>

#include "coll/agree.h"
#include "coll/clock.h"
#include "coll/config.h"
#include "coll/record_file.h"
#include "coll/watch.h"

enum { NAME_SLOTS = 1024 };

static struct tt_record_file file; /* all NULL: this process does not record */
static atomic_ullong written;
static uint32_t ncomms, nfaults;
static uint16_t of_collective[TT_NCOLLS]; /* their names */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

_Static_assert(sizeof(struct tt_record_line) == 128, "two lines of the cache, as sections begin at one");

static struct tt_record_line *line_at(uint64_t serial)
{
    return &file.lines[(serial - 1) % TT_RECORD_LINES];
}

/* An event's line; NULL: it has been written over since. */
static struct tt_record_line *line_of(const struct tt_event *e)
{
    const uint64_t serial = (uintptr_t)e->of[TT_LISTENER_record];
    struct tt_record_line *line = serial ? line_at(serial) : NULL;

    return line && line->serial == serial ? line : NULL;
}

static void copy_text(char *to, size_t size, const char *text)
{
    const size_t n = strnlen(text, size - 1);

    memcpy(to, text, n);
    to[n] = '\0';
}

/* ---- names: by the address of a text that never goes ---- */

static struct {
    _Atomic(const char *) text;
    uint16_t index;
} names[NAME_SLOTS];
static uint16_t nnames = 1; /* 0 is none */

static unsigned slot_of(const char *text)
{
    return (unsigned)((uint64_t)(uintptr_t)text * UINT64_C(0x9E3779B97F4A7C15) >> 54);
}

static uint16_t name_add(const char *text, uint16_t kin)
{
    unsigned s = slot_of(text);
    uint16_t index = 0;

    pthread_mutex_lock(&making);
    while (names[s].text && names[s].text != text)
        s = (s + 1) % NAME_SLOTS;
    if (names[s].text) {
        index = names[s].index;
    } else if (nnames < TT_RECORD_NAMES) {
        index = nnames++;
        copy_text(file.names[index].text, sizeof file.names[index].text, text);
        file.names[index].kin = kin;
        names[s].index = index;
        names[s].text = text;
    }
    pthread_mutex_unlock(&making);
    return index;
}

static uint16_t name_of(const char *text)
{
    for (unsigned s = slot_of(text); names[s].text; s = (s + 1) % NAME_SLOTS)
        if (names[s].text == text)
            return names[s].index;
    return name_add(text, 0);
}

/* What this thread asked for last, of each: programs ask for the same over and over. Of types only the predefined,
 * whose handles never mean another. */
static __thread struct {
    MPI_Datatype type;
    MPI_Op op;
    const struct tt_alg *alg;
    uint16_t type_name, op_name, alg_name;
} last = {.type = MPI_DATATYPE_NULL, .op = MPI_OP_NULL};

static uint16_t name_of_type(MPI_Datatype type)
{
    const char *text;
    uint16_t kin;

    if (type == last.type)
        return last.type_name;
    text = tt_mpi_type_kin(type, &kin);
    if (!text)
        return 0;
    last.type_name = name_add(text, kin);
    last.type = type;
    return last.type_name;
}

static uint16_t name_of_op(MPI_Op op)
{
    if (op != last.op) {
        last.op_name = name_of(tt_mpi_op_name(op));
        last.op = op;
    }
    return last.op_name;
}

static uint16_t name_of_algorithm(const struct tt_alg *alg)
{
    if (alg && alg != last.alg) {
        last.alg_name = name_of(alg->name);
        last.alg = alg;
    }
    return alg ? last.alg_name : 0;
}

/* ---- communicators ---- */

static struct tt_record_comm *comm_at(uint32_t ordinal)
{
    return &file.comms[ordinal % TT_RECORD_COMMS];
}

static void comm_name(MPI_Comm comm, char *to, size_t size)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;

    PMPI_Comm_get_name(comm, name, &length);
    copy_text(to, size, name);
}

static void comm_add(struct tt_comm *c, MPI_Comm comm)
{
    struct tt_record_comm *entry;

    pthread_mutex_lock(&making);
    if (!c->ordinal) {
        entry = comm_at(++ncomms);
        *entry = (struct tt_record_comm){.id = c->mark ? c->mark : c->id,
                                         .rank = c->rank + (c->second ? c->peers : 0),
                                         .size = c->size + (c->inter ? c->peers : 0),
                                         .inter = c->inter,
                                         .others = c->inter && !c->second ? c->size : 0};
        comm_name(comm, entry->name, sizeof entry->name);
        entry->ordinal = ncomms;
        c->ordinal = ncomms;
    }
    pthread_mutex_unlock(&making);
}

static void made(struct tt_comm *c, MPI_Comm comm)
{
    if (file.head)
        comm_add(c, comm);
}

static void named(const struct tt_comm *c, MPI_Comm comm)
{
    struct tt_record_comm *entry = comm_at(c->ordinal);

    if (file.head && c->ordinal && entry->ordinal == c->ordinal)
        comm_name(comm, entry->name, sizeof entry->name);
}

/* Its place, unless another has that by now. */
static struct tt_record_comm *comm_of(const struct tt_event *e)
{
    struct tt_record_comm *entry = comm_at(e->comm->ordinal);

    return entry->ordinal == e->comm->ordinal ? entry : NULL;
}

/* ---- callers ---- */

static uint64_t known_from = 1, known_to; /* the module that was called from last */

static void find_module(uint64_t caller)
{
    for (int tries = 0; tries < 2; tries++) {
        for (uint32_t i = 0; i < TT_RECORD_MODULES; i++) {
            const struct tt_record_module *m = &file.modules[i];

            if (caller >= m->from && caller < m->to) {
                known_from = m->from;
                known_to = m->to;
                return;
            }
        }
        tt_record_modules(&file);
    }
}

/* A library may have been loaded since. */
static uint64_t caller_of(const void *caller)
{
    const uint64_t at = (uintptr_t)caller;

    if (at - known_from >= known_to - known_from) {
        pthread_mutex_lock(&making);
        find_module(at);
        pthread_mutex_unlock(&making);
    }
    return at;
}

/* ---- collectives ---- */

/* Which side tells what a rank states: that which is significant on all ranks, if there is one. */
static bool says_recv(const struct tt_call *c, unsigned traits)
{
    return traits & (TT_SEND_AT_ROOT | TT_ONE_BUFFER) || c->send.buf == MPI_IN_PLACE;
}

static void fill_asked(struct tt_record_line *l, const struct tt_event *e)
{
    const struct tt_call *c = e->call;
    const unsigned traits = tt_rows[c->coll].traits;
    const bool recv = says_recv(c, traits), counts = recv ? c->recv.counts != NULL : c->send.counts != NULL;

    l->count = counts || c->recv.counts ? -1 : recv ? c->recv.count : c->send.count;
    l->type = traits & (TT_NO_BUFFER | TT_TYPES) ? 0 : name_of_type(recv ? c->recv.type : c->send.type);
    l->op = traits & TT_REDUCES ? name_of_op(c->op) : 0;
    l->root = traits & TT_ROOTED ? c->root : -1;
    l->in_place = c->send.buf == MPI_IN_PLACE || c->recv.out == MPI_IN_PLACE;
}

/* A rank without a file listens all the same, so that it takes part in what all do at the end. */
static void enter(struct tt_event *e)
{
    const uint64_t serial = atomic_fetch_add_explicit(&written, 1, memory_order_relaxed) + 1;
    struct tt_record_line *l = line_at(serial);

    if (!file.head)
        return;
    l->serial = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (e->comm && !e->comm->ordinal)
        comm_add(e->comm, e->call->comm);
    else if (e->comm && e->number == 0) /* its name may have come past the wrapper */
        named(e->comm, e->call->comm);
    l->comm = e->comm ? e->comm->ordinal : 0;
    l->number = e->number;
    l->entered = e->entered;
    l->begun = l->moved = l->left = l->setup = 0;
    l->caller = caller_of(e->caller);
    l->bytes = -1;
    l->sent = l->received = 0;
    l->collective = of_collective[e->call->coll];
    l->algorithm = 0;
    l->flavour = (uint8_t)e->flavour;
    l->send_memory = l->recv_memory = l->handed = l->own_fault = 0;
    l->gpu = TT_NO_GPU;
    l->error = 0;
    l->fault = 0;
    l->thread = (uint8_t)tt_thread_number();
    fill_asked(l, e);
    e->of[TT_LISTENER_record] = (void *)(uintptr_t)serial;
    atomic_signal_fence(memory_order_seq_cst);
    l->serial = serial;
    file.head->written = serial;
    if (e->comm && comm_of(e))
        comm_of(e)->calls = e->number + 1;
}

/* What all ranks state alike of how much there is; -1 where they need not. */
static int64_t stated(const struct tt_job *job)
{
    const unsigned traits = job->row->traits, listed = traits & (TT_SEND_COUNTS | TT_RECV_COUNTS);

    if (job->comm->inter || traits & TT_NEIGHBOURS || traits & TT_SEND_COUNTS)
        return -1;
    if (traits & TT_COUNTS)
        return (int64_t)(job->inplace ? job->recv.bytes : job->send.bytes);
    if (listed)
        return traits & TT_RECV_AT_ROOT ? -1 : (int64_t)job->recv.bytes;
    return job->shape.count * (int64_t)job->shape.unit;
}

static uint8_t memory_of(const struct tt_side *side)
{
    return side->significant && side->bytes ? (uint8_t)side->mem.kind : 0;
}

static void begin(struct tt_event *e)
{
    struct tt_record_line *l = line_of(e);
    const struct tt_job *job = e->job;

    if (!l)
        return;
    l->begun = e->begun;
    l->setup = e->setup;
    l->algorithm = name_of_algorithm(e->alg);
    if (!job)
        return;
    l->bytes = stated(job);
    l->sent = job->send.significant ? (int64_t)job->send.bytes : 0;
    l->received = job->recv.significant ? (int64_t)job->recv.bytes : 0;
    if (tt_job_touches_device(job)) {
        l->send_memory = memory_of(&job->send);
        l->recv_memory = memory_of(&job->recv);
        l->gpu = (uint8_t)(job->send.on_device ? job->send.mem.device : job->recv.mem.device);
    }
    if (e->comm && comm_of(e) && !e->comm->mark)
        comm_of(e)->id = e->comm->id;
}

static void move(struct tt_event *e)
{
    struct tt_record_line *l = line_of(e);

    if (l)
        l->moved = e->moved;
}

static uint32_t note_fault(const char *why)
{
    struct tt_record_fault *f;
    uint32_t ordinal;

    pthread_mutex_lock(&making);
    ordinal = ++nfaults;
    f = &file.faults[ordinal % TT_RECORD_FAULTS];
    f->ordinal = 0;
    copy_text(f->text, sizeof f->text, why);
    f->ordinal = ordinal;
    pthread_mutex_unlock(&making);
    return ordinal;
}

static void leave(struct tt_event *e)
{
    struct tt_record_line *l = line_of(e);

    if (file.head && e->comm && comm_of(e))
        comm_of(e)->done++;
    if (!l)
        return;
    l->handed = e->handed;
    if (e->error != MPI_SUCCESS) {
        l->error = e->error;
        l->own_fault = e->own_fault;
        l->fault = e->why ? note_fault(e->why) : 0;
    }
    l->left = e->left;
}

/* ---- other calls ---- */

static struct tt_record_spot *spot(void)
{
    return &file.spots[tt_thread_number() % TT_RECORD_SPOTS];
}

static void fill_spot(struct tt_record_spot *at, const struct tt_spot *s)
{
    const struct tt_comm *c = s->comm == MPI_COMM_NULL ? NULL : tt_comm_known(s->comm);

    at->caller = caller_of(s->caller);
    at->peer = s->peer;
    at->tag = s->tag;
    at->comm = c ? c->ordinal : 0;
    at->line = (uintptr_t)s->awaited.line;
    at->more = (uint32_t)s->more;
    copy_text(at->awaits, sizeof at->awaits, s->awaited.kind ? s->awaited.kind : "");
    at->since = s->entered;
}

/* The name last: where there is none, it is in no such call. */
static void enter_spot(const struct tt_spot *s)
{
    struct tt_record_spot *at = spot();

    if (!file.head)
        return;
    fill_spot(at, s);
    at->asked = 0;
    atomic_signal_fence(memory_order_seq_cst);
    copy_text(at->name, sizeof at->name, s->name);
}

/* It is about another request by now. */
static void renew_spot(const struct tt_spot *s)
{
    if (file.head)
        fill_spot(spot(), s);
}

static void leave_spot(const struct tt_spot *s)
{
    struct tt_record_spot *at = spot();

    (void)s;
    if (!file.head)
        return;
    at->name[0] = '\0';
    at->left = tt_ticks();
}

/* Who looks for messages from one rank after another looks for any. */
static bool is_in_turn(struct tt_record_spot *at, const struct tt_spot *s)
{
    if (!s->awaited.kind || strcmp(s->awaited.kind, TT_PROBE) != 0 || strcmp(at->awaits, TT_PROBE) != 0)
        return false;
    at->peer = MPI_ANY_SOURCE;
    return true;
}

/* Of tests in a row for the same, the first tells since when. */
static void ask(const struct tt_spot *s)
{
    struct tt_record_spot *at = spot();

    if (!file.head)
        return;
    if (!at->asked || at->line != (uintptr_t)s->awaited.line || at->caller != (uintptr_t)s->caller ||
        (at->peer != s->peer && at->peer != MPI_ANY_SOURCE && !is_in_turn(at, s)))
        fill_spot(at, s);
    at->asked = s->entered;
}

/* ---- the process ---- */

bool tt_record_is_on(void)
{
    return file.head;
}

void tt_record_beat(void)
{
    const struct tt_moment now = tt_moment_now();

    file.head->late_ticks = now.ticks;
    file.head->late_ns = now.ns;
}

/* The 22nd word of /proc/self/stat; the second is in parentheses and may hold blanks. */
static uint64_t born(void)
{
    FILE *in = fopen("/proc/self/stat", "r");
    char line[1024] = "", *at;
    unsigned long long ticks = 0;

    if (!in)
        return 0;
    at = fgets(line, sizeof line, in) ? strrchr(line, ')') : NULL;
    fclose(in);
    if (at)
        sscanf(at + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks);
    return ticks;
}

static void fill_head(uint64_t job)
{
    struct tt_record_head *h = file.head;
    const struct tt_moment now = tt_moment_now();
    const ssize_t n = readlink("/proc/self/exe", h->program, sizeof h->program - 1);
    cpu_set_t cores;

    h->program[n > 0 ? n : 0] = '\0';
    h->job = job;
    PMPI_Comm_rank(MPI_COMM_WORLD, &h->rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &h->size);
    h->pid = getpid();
    h->born = born();
    h->boot = tt_boot_hash();
    gethostname(h->host, sizeof h->host - 1);
    copy_text(h->version, sizeof h->version, PACKAGE_VERSION);
    h->late_ticks = now.ticks;
    h->late_ns = now.ns;
    h->real_ns = tt_nanoseconds(CLOCK_REALTIME) - tt_nanoseconds(CLOCK_MONOTONIC);
    h->cores = sched_getaffinity(0, sizeof cores, &cores) ? 0 : CPU_COUNT(&cores);
}

static void fill_names(void)
{
    for (int c = 0; c < TT_NCOLLS; c++)
        of_collective[c] = name_of(tt_rows[c].name);
}

/* A program that ends without MPI_Finalize says so as it ends, unless it is killed. */
static void gone(void)
{
    if (file.head && file.head->phase != TT_FINALIZED && getpid() == file.head->pid)
        file.head->phase = TT_GONE;
}

/* The first rank that could not make its file says so, for all of them. */
static void tell_failures(const char *why)
{
    const int first = tt_first_rank(MPI_COMM_WORLD, why);
    int mine = why != NULL, all = 0, rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (first == rank)
        tt_log(TT_WARN, "rank %d is not recorded, nor are %d others: %s", rank, all - 1, why);
}

static void open_file(void)
{
    static struct tt_moment start;
    const struct tt_comm *world = tt_comm_known(MPI_COMM_WORLD);
    char why[4400] = "";
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    start = tt_moment_now();
    if (tt_record_make(&file, getenv("TUTTI_RECORD"), world ? world->id : 0, rank, why, sizeof why))
        file.head = NULL;
    tell_failures(why[0] ? why : NULL);
    if (!file.head)
        return;
    tt_record_modules(&file);
    fill_names();
    fill_head(world ? world->id : 0);
    file.head->early_ticks = start.ticks;
    file.head->early_ns = start.ns;
    atexit(gone);
}

static void note_last_offset(const struct tt_clock_offset *offset)
{
    file.head->last_offset_ns = offset->ns;
    file.head->last_offset_error_ns = offset->error_ns;
    file.head->last_aligned_ns = offset->when;
}

static bool open_record(void)
{
    struct tt_clock_offset offset;

    if (!tt_config.record)
        return false;
    open_file();
    offset = tt_clock_align();
    if (!file.head)
        return true;
    file.head->offset_ns = offset.ns;
    file.head->offset_error_ns = offset.error_ns;
    file.head->aligned_ns = offset.when;
    note_last_offset(&offset);
    return true;
}

static void set_phase(enum tt_record_phase phase)
{
    if (!file.head)
        return;
    file.head->phase = phase;
    tt_record_beat();
}

static void close_record(void)
{
    struct tt_clock_offset offset;

    set_phase(TT_FINALIZING);
    offset = tt_clock_align();
    if (file.head)
        note_last_offset(&offset);
}

static void end_record(void)
{
    set_phase(TT_FINALIZED);
}

const struct tt_listener tt_listen_record = {.open = open_record,
                                             .close = close_record,
                                             .end = end_record,
                                             .made = made,
                                             .named = named,
                                             .enter = enter,
                                             .begin = begin,
                                             .move = move,
                                             .leave = leave,
                                             .enter_spot = enter_spot,
                                             .renew_spot = renew_spot,
                                             .leave_spot = leave_spot,
                                             .ask = ask};
