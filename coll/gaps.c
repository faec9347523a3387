/* SPDX-License-Identifier: BSD-3-Clause */
/* A side is packed in as few pieces of work as can be: one for a side of one block; and where blocks are regular, as a
 * v-collective's are, all of them are told as the runs of one large element, which one launch moves. */
#include "coll/gaps.h"

#include "coll/drain.h"

enum {
    TOGETHER = 64 /* runs of a block that are told with those of the others; more are kept by the device for the block's
                     own datatype */
};

static bool is_empty(const struct tt_block *b)
{
    return b->count == 0 || b->layout.size == 0;
}

/* ---- what a side looks like ---- */

bool tt_side_solid(const struct tt_side *side, MPI_Aint *at)
{
    MPI_Aint end = 0;
    bool any = false;

    *at = 0;
    for (int i = 0; i < side->nblocks; i++) {
        const struct tt_block *b = tt_block_of(side, i);
        int64_t first;

        if (is_empty(b))
            continue;
        if (!b->layout.runs || !tt_runs_solid(b->layout.runs, b->count, &first) || (any && b->at + first != end))
            return false;
        *at = any ? *at : b->at + first;
        end = b->at + first + (MPI_Aint)b->count * (MPI_Aint)b->layout.size;
        any = true;
    }
    return true;
}

void tt_side_span(const struct tt_side *side, MPI_Aint *low, MPI_Aint *high)
{
    bool any = false;

    *low = *high = 0;
    for (int i = 0; i < side->nblocks; i++) {
        const struct tt_block *b = tt_block_of(side, i);
        int64_t from, to;

        if (is_empty(b) || !b->layout.runs)
            continue;
        tt_runs_span(b->layout.runs, b->count, &from, &to);
        *low = !any || b->at + from < *low ? b->at + from : *low;
        *high = !any || b->at + to > *high ? b->at + to : *high;
        any = true;
    }
}

/* ---- pieces of work ---- */

/* count elements of those runs, the first `at` bytes from the side's buffer and `packed` bytes into the packed data. */
struct piece {
    const struct tt_runs *runs;
    int64_t count;
    MPI_Aint at;
    size_t packed;
};

/* What is done to each, and to what. */
struct work {
    int (*move)(const struct work *w, const struct piece *p);
    struct tt_place *place;
    bool out; /* packs */
    char *elements, *packed;
    bool managed; /* where the side begins, when looking */
};

/* Blocks told as runs of one element, which begins at the side's buffer. */
struct collected {
    struct tt_run_list list;
    size_t begins, bytes; /* in the packed data */
};

static int flush(const struct work *w, struct collected *c)
{
    struct tt_runs runs = {.nruns = c->list.n};
    const struct piece p = {&runs, 1, 0, c->begins};
    int error = 0;

    if (c->list.n) {
        tt_runs_sum(&runs, c->list.run);
        error = w->move(w, &p);
    }
    c->list.n = 0;
    c->begins = c->bytes;
    return error;
}

static int collect_run(struct collected *c, struct tt_run r, MPI_Aint at)
{
    r.at += at;
    return tt_run_list_add(&c->list, &r) ? tt_fault_set("out of host memory") : 0;
}

static int collect(struct collected *c, const struct tt_block *b, const struct tt_run *one)
{
    int error = 0;

    if (one)
        return collect_run(c, *one, b->at);
    for (int64_t i = 0; i < b->layout.runs->nruns && !error; i++)
        error = collect_run(c, b->layout.runs->run[i], b->at);
    return error;
}

static int move_block(const struct work *w, struct collected *c, const struct tt_block *b)
{
    const struct tt_runs *runs = b->layout.runs;
    const size_t bytes = (size_t)b->count * b->layout.size;
    struct tt_run one;
    const bool joined = tt_runs_join(runs, b->count, &one);
    const struct piece own = {runs, b->count, b->at, c->bytes};
    int error;

    if (joined || (b->count == 1 && runs->nruns <= TOGETHER)) {
        error = collect(c, b, joined ? &one : NULL);
        c->bytes += bytes;
        return error;
    }
    error = flush(w, c);
    c->bytes += bytes;
    c->begins = c->bytes;
    return error ? error : w->move(w, &own);
}

static int move_all(const struct work *w, const struct tt_side *side)
{
    struct collected c = {{NULL, 0, 0}, 0, 0};
    int error = 0;

    for (int i = 0; i < side->nblocks && !error; i++) {
        const struct tt_block *b = tt_block_of(side, i);
        const struct piece only = {b->layout.runs, b->count, b->at, 0};

        if (is_empty(b))
            continue;
        if (!b->layout.runs)
            error = tt_fault_set("out of host memory for the pieces of a datatype, or a datatype of an unknown kind");
        else
            error = side->many ? move_block(w, &c, b) : w->move(w, &only);
    }
    if (!error)
        error = flush(w, &c);
    tt_run_list_end(&c.list);
    return error;
}

/* ---- where one place reaches all ---- */

static int move_here(const struct work *w, const struct piece *p)
{
    const struct tt_dev *dev = w->place->dev;
    char *elements = tt_away(w->elements, p->at), *packed = w->packed + p->packed;

    return w->out ? dev->pack(w->place, TT_WITHIN, p->runs, p->count, elements, packed)
                  : dev->unpack(w->place, TT_WITHIN, p->runs, p->count, elements, packed);
}

static int move_in_place(struct work *w, const struct tt_side *side)
{
    int error;

    if (w->place->dev->enter(w->place))
        return -1;
    w->move = move_here;
    error = move_all(w, side) || tt_drain(w->place) ? -1 : 0;
    w->place->dev->leave(w->place);
    return error;
}

/* The packed data are on the host: a block of the place's own stands between, copied behind the packing, or before the
 * unpacking, in the same queue. */
static int move_by_block(struct work *w, const struct tt_side *side)
{
    const struct tt_dev *dev = w->place->dev;
    char *const host = w->packed;
    int error;

    if (dev->enter(w->place))
        return -1;
    w->move = move_here;
    w->packed = dev->take(w->place, side->bytes);
    error = !w->packed || (!w->out && dev->copy(w->place, TT_WITHIN, w->packed, host, side->bytes)) ||
                    move_all(w, side) || (w->out && dev->copy(w->place, TT_WITHIN, host, w->packed, side->bytes)) ||
                    tt_drain(w->place)
                ? -1
                : 0;
    dev->leave(w->place);
    dev->give(w->place, w->packed);
    return error;
}

/* ---- where it takes several ---- */

static int place_at(const void *address, struct tt_mem *mem, struct tt_place **place)
{
    if (tt_mem_where(address, mem))
        return -1;
    *place = tt_place_of(mem);
    return *place ? 0 : -1;
}

/* One row, by whoever it is at home with. */
static int move_row(const struct work *w, char *elements, char *packed, size_t bytes)
{
    struct tt_place *place;
    struct tt_mem mem;

    if (place_at(elements, &mem, &place))
        return -1;
    return tt_copy_now(place, w->out ? packed : elements, w->out ? elements : packed, bytes);
}

static int move_row_by_row(const struct work *w, const struct piece *p)
{
    int error = 0;

    for (int64_t e = 0; e < p->count; e++)
        for (int64_t i = 0; i < p->runs->nruns; i++) {
            const struct tt_run *r = &p->runs->run[i];
            char *elements = tt_away(w->elements, p->at + e * p->runs->extent + r->at);
            char *packed = w->packed + p->packed + e * p->runs->size + r->before;

            for (int64_t row = 0; row < r->n && !error; row++)
                error = move_row(w, tt_away(elements, row * r->stride), packed + row * r->length, (size_t)r->length);
        }
    return error;
}

static int move_side(const struct tt_side *side, struct work w)
{
    w.place = side->place;
    w.elements = side->buf;
    if (!tt_side_mixed(side))
        return move_in_place(&w, side);
    w.move = move_row_by_row;
    return move_all(&w, side);
}

int tt_side_pack(const struct tt_side *side, char *packed)
{
    return move_side(side, (struct work){.out = true, .packed = packed});
}

int tt_side_unpack(const struct tt_side *side, const char *packed)
{
    return move_side(side, (struct work){.out = false, .packed = (char *)(uintptr_t)packed});
}

/* Data in one piece are copied as they are. */
static int move_to_host(const struct tt_side *side, struct work w)
{
    MPI_Aint at;

    if (side->place == tt_host_place())
        return move_side(side, w);
    w.place = side->place;
    w.elements = side->buf;
    if (!tt_side_solid(side, &at))
        return move_by_block(&w, side);
    return tt_copy_now(side->place, w.out ? w.packed : tt_away(side->buf, at),
                       w.out ? tt_away(side->buf, at) : w.packed, side->bytes);
}

int tt_side_read(const struct tt_side *side, char *packed)
{
    return move_to_host(side, (struct work){.out = true, .packed = packed});
}

int tt_side_write(const struct tt_side *side, const char *packed)
{
    return move_to_host(side, (struct work){.out = false, .packed = (char *)(uintptr_t)packed});
}

int tt_image_pack(const struct tt_side *side, const char *image, char *packed)
{
    struct work w = {.place = tt_host_place(), .out = true, .elements = (char *)(uintptr_t)image, .packed = packed};

    return move_in_place(&w, side);
}

int tt_image_unpack(const struct tt_side *side, char *image, const char *packed)
{
    struct work w = {.place = tt_host_place(), .elements = image, .packed = (char *)(uintptr_t)packed};

    return move_in_place(&w, side);
}

/* ---- which it is ---- */

/* Is it elsewhere than where the side begins? Then 1. Managed memory beside a device's own is elsewhere too: so the
 * simulated device need not know both in one kernel. */
static int is_elsewhere(const struct work *w, const char *address)
{
    struct tt_place *place;
    struct tt_mem mem;

    if (place_at(address, &mem, &place))
        return -1;
    return place != w->place || (mem.kind == TT_MEM_MANAGED) != w->managed;
}

/* The first and the last row of each run, of the first and the last element: pieces that lie apart and became rows of
 * one run are two, or at the same distance from each other by more than chance. */
static int look_elsewhere(const struct work *w, const struct piece *p)
{
    int found = 0;

    for (int64_t e = 0; e < p->count && !found; e += p->count > 1 ? p->count - 1 : 1)
        for (int64_t i = 0; i < p->runs->nruns && !found; i++) {
            const struct tt_run *r = &p->runs->run[i];
            const char *first = tt_away(w->elements, p->at + e * p->runs->extent + r->at);

            found = is_elsewhere(w, first);
            if (!found && r->n > 1)
                found = is_elsewhere(w, tt_away(first, (r->n - 1) * r->stride));
        }
    return found;
}

int tt_side_scan(struct tt_side *side)
{
    const struct work w = {.move = look_elsewhere,
                           .place = side->place,
                           .elements = side->buf,
                           .managed = side->mem.kind == TT_MEM_MANAGED};
    const int found = move_all(&w, side);

    if (found > 0) {
        side->on_device = true;
        side->place = tt_host_place();
    }
    return found < 0 ? -1 : 0;
}
