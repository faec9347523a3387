/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI below gets instead of device memory. Elements without gaps are copied as they are and keep their type.
 * Those with gaps are packed, and go as MPI_PACKED, which by the standard matches any type of the same data, on either
 * side: so an image is never larger than the message, there is no gap in it whose bytes could be written back, and of a
 * message that ends within an element just those bytes arrive. An image costs one copy each way; its memory is pinned
 * and pooled. */
#include "coll/image.h"

#include <limits.h>

#include "coll/config.h"
#include "coll/drain.h"
#include "coll/exec.h"
#include "coll/flat.h"
#include "coll/job.h"

/* ---- elements ---- */

int tt_elements_describe(struct tt_elements *e, const void *buf, MPI_Count count, MPI_Datatype type)
{
    bool lasting;

    *e = (struct tt_elements){.buf = (char *)buf, .count = count, .type = type, .place = tt_host_place()};
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (count < 0)
        return MPI_ERR_COUNT;
    return tt_layout_of(type, &e->layout, &lasting) == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_TYPE;
}

const char *tt_elements_look(struct tt_elements *e)
{
    struct tt_mem mem;

    if (tt_elements_bytes(e) == 0 || !tt_driver_present())
        return NULL;
    if (tt_mem_where(tt_away(e->buf, e->layout.true_lb), &mem))
        return tt_fault();
    e->on_device = tt_mem_on_device(&mem);
    if (e->on_device)
        e->place = tt_place_of(&mem);
    return e->place ? NULL : tt_fault();
}

MPI_Aint tt_elements_span(const struct tt_elements *e, MPI_Count n, size_t *bytes)
{
    const MPI_Aint last = (MPI_Aint)(n - 1) * e->layout.extent;

    *bytes = (size_t)((last < 0 ? -last : last) + e->layout.true_extent);
    return e->layout.true_lb + (last < 0 ? last : 0);
}

/* ---- copies ---- */

const char *tt_elements_settle(const struct tt_elements *e)
{
    struct tt_place *place = e->place;
    int error;

    if (!e->on_device || !tt_config.sync)
        return NULL;
    if (place->dev->enter(place))
        return tt_fault();
    error = place->dev->settle(place);
    place->dev->leave(place);
    return error ? tt_fault() : NULL;
}

/* ---- gaps ---- */

/* Elements with gaps are packed where they live, into a block there; on the host, into where they are wanted. */
struct work {
    const struct tt_elements *e;
    char *block; /* NULL on the host */
    const char *why;
};

static struct work work_begin(const struct tt_elements *e, size_t bytes)
{
    struct work w = {.e = e};

    if (!e->layout.runs)
        w.why = "out of host memory for the datatype's pieces";
    else if (e->place->dev->enter(e->place))
        w.why = tt_fault();
    else if (e->on_device && !(w.block = e->place->dev->take(e->place, bytes))) {
        w.why = tt_fault();
        e->place->dev->leave(e->place);
    }
    return w;
}

static const char *work_end(struct work *w)
{
    struct tt_place *place = w->e->place;
    const char *late = tt_drain(place) ? tt_fault() : NULL;

    place->dev->leave(place);
    place->dev->give(place, w->block);
    return w->why ? w->why : late;
}

/* Each of these is queued behind the one before, and not at all once one has failed. */
static void pack(struct work *w, const char *from, MPI_Count n, char *packed)
{
    struct tt_place *place = w->e->place;

    if (!w->why && n > 0 && place->dev->pack(place, TT_WITHIN, w->e->layout.runs, n, from, packed))
        w->why = tt_fault();
}

static void unpack(struct work *w, char *to, MPI_Count n, const char *packed)
{
    struct tt_place *place = w->e->place;

    if (!w->why && n > 0 && place->dev->unpack(place, TT_WITHIN, w->e->layout.runs, n, to, packed))
        w->why = tt_fault();
}

static void copy(struct work *w, char *to, const char *from, size_t bytes)
{
    struct tt_place *place = w->e->place;

    if (!w->why && bytes > 0 && place->dev->copy(place, TT_WITHIN, to, from, bytes))
        w->why = tt_fault();
}

static const char *read_gapped(const struct tt_elements *e, char *packed)
{
    const size_t bytes = tt_elements_bytes(e);
    struct work w = work_begin(e, bytes);

    if (w.why)
        return w.why;
    pack(&w, e->buf, e->count, w.block ? w.block : packed);
    if (w.block)
        copy(&w, packed, w.block, bytes);
    return work_end(&w);
}

/* Of an element of which only the first bytes have come the others are read before, and written as they were. */
static const char *write_part(const struct tt_elements *e, char *element, const char *packed, size_t bytes)
{
    struct tt_place *host = tt_host_place();
    struct work w = work_begin(e, e->layout.size);
    char *own = NULL, *whole = w.block;

    if (w.why)
        return w.why;
    if (!whole)
        whole = own = host->dev->take(host, e->layout.size);
    if (!whole)
        w.why = tt_fault();
    pack(&w, element, 1, whole);
    copy(&w, whole, packed, bytes);
    unpack(&w, element, 1, whole);
    host->dev->give(host, own);
    return work_end(&w);
}

static const char *write_whole(const struct tt_elements *e, MPI_Count n, const char *packed)
{
    const size_t bytes = (size_t)n * e->layout.size;
    struct work w = work_begin(e, bytes);

    if (w.why)
        return w.why;
    if (w.block)
        copy(&w, w.block, packed, bytes);
    unpack(&w, e->buf, n, w.block ? w.block : packed);
    return work_end(&w);
}

static const char *write_gapped(const struct tt_elements *e, const char *packed, size_t bytes)
{
    const MPI_Count whole = (MPI_Count)(bytes / e->layout.size);
    const size_t rest = bytes % e->layout.size;
    const char *why = whole > 0 ? write_whole(e, whole, packed) : NULL;

    if (why || rest == 0)
        return why;
    return write_part(e, tt_away(e->buf, whole * e->layout.extent), packed + (bytes - rest), rest);
}

const char *tt_elements_read(const struct tt_elements *e, char *packed)
{
    const size_t bytes = tt_elements_bytes(e);
    const char *why = tt_elements_settle(e);

    if (why || bytes == 0)
        return why;
    if (!e->layout.plain)
        return read_gapped(e, packed);
    return tt_copy_now(e->place, packed, e->buf, bytes) ? tt_fault() : NULL;
}

const char *tt_elements_write(const struct tt_elements *e, const char *packed, size_t bytes)
{
    const char *why = tt_elements_settle(e);

    if (why || bytes == 0)
        return why;
    if (!e->layout.plain)
        return write_gapped(e, packed, bytes);
    return tt_copy_now(e->place, e->buf, packed, bytes) ? tt_fault() : NULL;
}

/* ---- images ---- */

/* Packed data of 2 GiB and more has no count that is an int: the element becomes a type of its own. */
static const char *make_type(struct tt_image *image)
{
    const size_t size = image->of.layout.size;

    if (size > INT_MAX)
        return "an element with gaps of 2 GiB or more";
    if (PMPI_Type_contiguous((int)size, MPI_PACKED, &image->type) != MPI_SUCCESS)
        return "the MPI below could not make a datatype";
    image->made = true;
    PMPI_Type_commit(&image->type);
    image->count = image->of.count;
    return NULL;
}

static const char *choose_type(struct tt_image *image)
{
    const size_t bytes = tt_elements_bytes(&image->of);

    if (image->of.layout.plain)
        return NULL;
    if (bytes > INT_MAX)
        return make_type(image);
    image->type = MPI_PACKED;
    image->count = (MPI_Count)bytes;
    return NULL;
}

const char *tt_image_open(struct tt_image *image, const struct tt_elements *of)
{
    struct tt_place *place = of->place;

    *image = (struct tt_image){.of = *of, .count = of->count, .type = of->type};
    tt_flat_hold(of->layout.runs); /* the user may free the type before the message has come */
    if (place->dev->enter(place))
        return tt_fault();
    image->packed = place->dev->take_pinned(place, tt_elements_bytes(of));
    place->dev->leave(place);
    return image->packed ? choose_type(image) : tt_fault();
}

const char *tt_image_fill(struct tt_image *image)
{
    return tt_elements_read(&image->of, image->packed);
}

const char *tt_image_deliver(const struct tt_image *image, size_t bytes)
{
    const size_t all = tt_elements_bytes(&image->of);

    return tt_elements_write(&image->of, image->packed, bytes < all ? bytes : all);
}

void tt_image_close(struct tt_image *image)
{
    if (image->packed)
        image->of.place->dev->give(image->of.place, image->packed);
    if (image->made)
        PMPI_Type_free(&image->type);
    tt_flat_drop(image->of.layout.runs);
    *image = (struct tt_image){0};
}
