/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI below gets instead of device memory. Elements without gaps are copied as they are and keep their type.
 * Those with gaps are packed, and go as MPI_PACKED, which by the standard matches any type of the same data, on either
 * side: so an image is never larger than the message, there is no gap in it whose bytes could be written back, and of a
 * message that ends within an element just those bytes arrive. An image costs one copy each way; its memory is pinned
 * and pooled. */
#include "coll/image.h"

#include <limits.h>
#include <string.h>

#include "coll/config.h"
#include "coll/exec.h"
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

struct drain {
    struct tt_place *place;
    int state;
};

static bool drained(void *what)
{
    struct drain *d = what;

    d->state = d->place->dev->poll(d->place, TT_WITHIN);
    return d->state != 0;
}

const char *tt_drain(struct tt_place *place)
{
    struct drain d = {.place = place};

    if (!drained(&d))
        tt_wait(drained, &d);
    return d.state < 0 ? tt_fault() : NULL;
}

const char *tt_copy_now(struct tt_place *place, void *dst, const void *src, size_t bytes)
{
    const char *why;

    if (bytes == 0)
        return NULL;
    if (place->dev->enter(place))
        return tt_fault();
    why = place->dev->copy(place, TT_WITHIN, dst, src, bytes) ? tt_fault() : tt_drain(place);
    place->dev->leave(place);
    return why;
}

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

static const char cannot_pack[] = "the MPI below could not pack or unpack the datatype";

typedef int pack_call(char *elements, int n, MPI_Datatype type, char *packed, int bytes, int *at);

static int pack_some(char *elements, int n, MPI_Datatype type, char *packed, int bytes, int *at)
{
    return PMPI_Pack(elements, n, type, packed, bytes, at, tt_quiet_self());
}

static int unpack_some(char *elements, int n, MPI_Datatype type, char *packed, int bytes, int *at)
{
    return PMPI_Unpack(packed, bytes, at, elements, n, type, tt_quiet_self());
}

/* The first n elements, the first of which is at `elements`; in pieces, since PMPI_Pack counts bytes in an int. */
static const char *pack_all(pack_call *call, const struct tt_elements *e, MPI_Count n, char *elements, char *packed)
{
    const MPI_Count most = e->layout.size < 1 << 30 ? (MPI_Count)((1 << 30) / e->layout.size) : 1;

    for (MPI_Count i = 0; i < n; i += most) {
        const MPI_Count some = n - i < most ? n - i : most;
        const size_t bytes = (size_t)some * e->layout.size;
        int at = 0;

        if (bytes > INT_MAX || call(tt_away(elements, i * e->layout.extent), (int)some, e->type,
                                    packed + (size_t)i * e->layout.size, (int)bytes, &at) != MPI_SUCCESS)
            return cannot_pack;
    }
    return NULL;
}

/* The host's copy of all that the first n elements span, gaps and all; the elements themselves, if they are there.
 * Extents may be negative. */
struct span {
    char *device, *host; /* the first byte of either; host: NULL where there is no copy */
    size_t bytes;
    char *element; /* where element 0 is on the host */
};

static const char *span_fetch(struct span *s, const struct tt_elements *e, MPI_Count n)
{
    struct tt_place *host = tt_host_place();
    const MPI_Aint first = tt_elements_span(e, n, &s->bytes);

    s->host = NULL;
    s->element = e->buf;
    if (!e->on_device)
        return NULL;
    s->device = tt_away(e->buf, first);
    s->host = host->dev->take(host, s->bytes);
    s->element = tt_away(s->host, -first);
    return s->host ? tt_copy_now(e->place, s->host, s->device, s->bytes) : tt_fault();
}

static const char *span_return(const struct span *s, const struct tt_elements *e)
{
    return s->host ? tt_copy_now(e->place, s->device, s->host, s->bytes) : NULL;
}

static void span_drop(struct span *s)
{
    tt_host_place()->dev->give(tt_host_place(), s->host);
}

static const char *read_gapped(const struct tt_elements *e, char *packed)
{
    struct span s;
    const char *why = span_fetch(&s, e, e->count);

    if (!why)
        why = pack_all(pack_some, e, e->count, s.element, packed);
    span_drop(&s);
    return why;
}

/* An element of which only the first bytes have come: the rest of it stays what it was. */
static const char *write_part(const struct tt_elements *e, char *element, const char *packed, size_t bytes)
{
    struct tt_place *host = tt_host_place();
    char *whole = host->dev->take(host, e->layout.size);
    const char *why;

    if (!whole)
        return tt_fault();
    why = pack_all(pack_some, e, 1, element, whole);
    memcpy(whole, packed, bytes);
    if (!why)
        why = pack_all(unpack_some, e, 1, element, whole);
    host->dev->give(host, whole);
    return why;
}

static const char *write_gapped(const struct tt_elements *e, const char *packed, size_t bytes)
{
    const MPI_Count whole = (MPI_Count)(bytes / e->layout.size);
    const size_t rest = bytes % e->layout.size;
    struct span s;
    const char *why = span_fetch(&s, e, whole + (rest > 0));

    if (!why)
        why = pack_all(unpack_some, e, whole, s.element, (char *)packed);
    if (!why && rest > 0)
        why = write_part(e, tt_away(s.element, whole * e->layout.extent), packed + (bytes - rest), rest);
    if (!why)
        why = span_return(&s, e);
    span_drop(&s);
    return why;
}

const char *tt_elements_read(const struct tt_elements *e, char *packed)
{
    const size_t bytes = tt_elements_bytes(e);
    const char *why = tt_elements_settle(e);

    if (why || bytes == 0)
        return why;
    return e->layout.plain ? tt_copy_now(e->place, packed, e->buf, bytes) : read_gapped(e, packed);
}

const char *tt_elements_write(const struct tt_elements *e, const char *packed, size_t bytes)
{
    const char *why = tt_elements_settle(e);

    if (why || bytes == 0)
        return why;
    return e->layout.plain ? tt_copy_now(e->place, e->buf, packed, bytes) : write_gapped(e, packed, bytes);
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
    image->packed = NULL;
    image->made = false;
}
