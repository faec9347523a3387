/* SPDX-License-Identifier: BSD-3-Clause */
/* A polynomial in the codes of the basic types, modulo a prime: that of two sequences one behind the other follows from
 * those of the two, so that a million elements take twenty steps (after Langou, Bosilca, Fagg and Dongarra, "Hash
 * functions for datatype signatures in MPI", EuroPVM/MPI 2005, who ask for that property). Two sequences that differ
 * have the same hash once in 10^18 times. */
#include "coll/signature.h"

#include "coll/contents.h"
#include "cuda/cells.h"

static const uint64_t prime = (UINT64_C(1) << 61) - 1, base = UINT64_C(0x0f1bbcdcbfa53e0b);

static uint64_t times(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b % prime);
}

/* base to the n-th. */
static uint64_t power(uint64_t n)
{
    uint64_t result = 1;

    for (uint64_t square = base; n; n >>= 1, square = times(square, square))
        if (n & 1)
            result = times(result, square);
    return result;
}

struct tt_signature tt_signature_join(struct tt_signature a, struct tt_signature b)
{
    return (struct tt_signature){a.n + b.n, (times(a.hash, power(b.n)) + b.hash) % prime};
}

struct tt_signature tt_signature_repeat(struct tt_signature s, uint64_t n)
{
    struct tt_signature all = {0, 0};

    for (; n; n >>= 1, s = tt_signature_join(s, s))
        if (n & 1)
            all = tt_signature_join(s, all);
    return all;
}

/* ---- basic types ---- */

static const struct {
    MPI_Datatype handle;
    enum tt_domain domain;
} basics[] = {
#define TT_MPI_TYPE(handle, domain, class) {handle, TT_DOMAIN_##domain},
#include "cuda/mpi_types.def"
#undef TT_MPI_TYPE
};
enum { NBASICS = sizeof basics / sizeof *basics };

static struct tt_signature one(unsigned kind, int size)
{
    return (struct tt_signature){1, 1 + (uint64_t)kind * 4096 + (uint64_t)size};
}

static struct tt_signature two(enum tt_domain a, int size_a, enum tt_domain b, int size_b)
{
    return tt_signature_join(one(a, size_a), one(b, size_b));
}

/* A pair is two: a struct of a float and an int has the same signature as MPI_FLOAT_INT. */
static struct tt_signature domain_signature(enum tt_domain domain, int size)
{
    const int whole = (int)sizeof(int), value = size == 16 ? 8 : size - whole;

    switch (domain) {
    case TT_DOMAIN_floating_int:
        return two(TT_DOMAIN_floating, size - whole, TT_DOMAIN_signed, whole);
    case TT_DOMAIN_extended_int:
        return two(TT_DOMAIN_extended, size - whole, TT_DOMAIN_signed, whole);
    case TT_DOMAIN_signed_int:
        return two(TT_DOMAIN_signed, value, TT_DOMAIN_signed, size - value);
    case TT_DOMAIN_floating_twice:
        return two(TT_DOMAIN_floating, size / 2, TT_DOMAIN_floating, size / 2);
    default:
        return one(domain, size);
    }
}

/* One that Tutti does not know is told from others by its size. */
static struct tt_signature basic(MPI_Datatype type)
{
    int size = 0;

    PMPI_Type_size(type, &size);
    for (int i = 0; i < NBASICS; i++)
        if (basics[i].handle == type)
            return domain_signature(basics[i].domain, size);
    return one(255, size);
}

/* ---- derived types ---- */

static struct tt_signature of_contents(MPI_Datatype type, const struct tt_contents *c);

static struct tt_signature element(MPI_Datatype type)
{
    struct tt_contents c;
    struct tt_signature s;

    if (tt_contents_get(type, &c) != MPI_SUCCESS)
        return (struct tt_signature){0, 0};
    s = of_contents(type, &c);
    tt_contents_end(&c);
    return s;
}

/* Only a struct has several types; all others, and a struct of one, repeat that which they are made of. */
static struct tt_signature of_contents(MPI_Datatype type, const struct tt_contents *c)
{
    struct tt_signature s = {0, 0};
    MPI_Count size = 0, inner = 0;

    if (c->ntypes == 0)
        return basic(type);
    for (int64_t i = 0; i < c->ntypes && c->ntypes > 1; i++)
        s = tt_signature_join(s, tt_signature_repeat(element(c->types[i]), (uint64_t)c->numbers[1 + i]));
    if (c->ntypes > 1)
        return s;
    PMPI_Type_size_x(type, &size);
    PMPI_Type_size_x(c->types[0], &inner);
    return inner > 0 ? tt_signature_repeat(element(c->types[0]), (uint64_t)(size / inner)) : s;
}

struct tt_signature tt_signature_of(MPI_Datatype type, uint64_t count)
{
    return count ? tt_signature_repeat(element(type), count) : (struct tt_signature){0, 0};
}
