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
#include "coll/drain.h"
#include "coll/flat.h"
#include "coll/gaps.h"

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

/* As a side of one block. */
static struct tt_side side_of(const struct tt_elements *e)
{
    return (struct tt_side){.significant = true,
                            .buf = e->buf,
                            .nblocks = 1,
                            .only = {.count = e->count, .type = e->type, .layout = e->layout},
                            .bytes = tt_elements_bytes(e),
                            .plain = e->layout.plain,
                            .on_device = e->on_device,
                            .mem = e->mem,
                            .place = e->place};
}

/* Absolute addresses may be of memory of several kinds. */
static int look_everywhere(struct tt_elements *e)
{
    struct tt_side side = side_of(e);
    const int error = tt_side_scan(&side);

    e->place = side.place;
    e->on_device = side.on_device;
    return error;
}

const char *tt_elements_look(struct tt_elements *e)
{
    if (tt_elements_bytes(e) == 0 || !tt_driver_present())
        return NULL;
    if (tt_mem_where(tt_away(e->buf, e->layout.true_lb), &e->mem))
        return tt_fault();
    e->on_device = tt_mem_on_device(&e->mem);
    if (e->on_device)
        e->place = tt_place_of(&e->mem);
    return !e->place || (!e->buf && look_everywhere(e)) ? tt_fault() : NULL;
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

static const char *read_all(const struct tt_elements *e, char *packed)
{
    const struct tt_side side = side_of(e);

    return tt_side_read(&side, packed) ? tt_fault() : NULL;
}

static const char *write_all(const struct tt_elements *e, const char *packed)
{
    const struct tt_side side = side_of(e);

    return tt_side_write(&side, packed) ? tt_fault() : NULL;
}

/* Of an element of which only the first bytes have come the others are read before, and written as they were. */
static const char *write_part(const struct tt_elements *element, const char *packed, size_t bytes)
{
    struct tt_place *host = tt_host_place();
    char *whole = host->dev->take(host, element->layout.size);
    const char *why = whole ? read_all(element, whole) : tt_fault();

    if (!why) {
        memcpy(whole, packed, bytes);
        why = write_all(element, whole);
    }
    host->dev->give(host, whole);
    return why;
}

static const char *write_some(const struct tt_elements *e, const char *packed, size_t bytes)
{
    const size_t rest = bytes % e->layout.size;
    struct tt_elements whole = *e, part = *e;
    const char *why = NULL;

    whole.count = (MPI_Count)(bytes / e->layout.size);
    part.count = 1;
    part.buf = tt_away(e->buf, whole.count * e->layout.extent);
    if (whole.count > 0)
        why = write_all(&whole, packed);
    return why || rest == 0 ? why : write_part(&part, packed + (bytes - rest), rest);
}

const char *tt_elements_read(const struct tt_elements *e, char *packed)
{
    const char *why = tt_elements_settle(e);

    return why || tt_elements_bytes(e) == 0 ? why : read_all(e, packed);
}

const char *tt_elements_write(const struct tt_elements *e, const char *packed, size_t bytes)
{
    const struct tt_side side = side_of(e);
    const char *why = tt_elements_settle(e);
    MPI_Aint at;

    if (why || bytes == 0)
        return why;
    if (tt_side_mixed(&side) || !tt_side_solid(&side, &at))
        return write_some(e, packed, bytes);
    return tt_copy_now(e->place, tt_away(e->buf, at), packed, bytes) ? tt_fault() : NULL;
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
