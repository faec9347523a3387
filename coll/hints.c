/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI lets each rank give another info, and a choice that differs between ranks is a hang; so what is given is compared
 * before it counts, which costs an allreduce of some 400 bytes, once. It is parsed before that, so that whatever can go
 * wrong on one rank alone has gone wrong by then, and all can be told. */
#include "coll/hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/comm.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/hash.h"
#include "coll/init.h"
#include "coll/plan.h"
#include "coll/request.h"

static const char prefix[] = "tutti_";
static const char kinds_key[] = "mpi_assert_memory_alloc_kinds"; /* MPI 4.1; its memory kinds are the side document's */

/* What that key says: of one rank when it is given, of all once they have agreed. */
enum kinds { NO_KINDS, MIXED_KINDS, GPU_KINDS };

struct tt_hints {
    struct tt_rules *pin[TT_NCOLLS];
    char *text[TT_NCOLLS]; /* as it was given; "" for none, which takes back; NULL: not given */
    enum kinds kinds;
};

static void clear(struct tt_hints *h, int coll)
{
    tt_rules_free(h->pin[coll]);
    free(h->text[coll]);
    h->pin[coll] = NULL;
    h->text[coll] = NULL;
}

void tt_hints_free(struct tt_hints *hints)
{
    for (int c = 0; hints && c < TT_NCOLLS; c++)
        clear(hints, c);
    free(hints);
}

const struct tt_rules *tt_hints_pin(const struct tt_hints *hints, enum tt_coll coll)
{
    return hints ? hints->pin[coll] : NULL;
}

bool tt_hints_on_gpus(const struct tt_hints *hints)
{
    return hints && hints->kinds == GPU_KINDS;
}

/* ---- from an info ---- */

static char *name_of(int coll, char *name, size_t size)
{
    snprintf(name, size, "%s%s", prefix, tt_coll_name((enum tt_coll)coll));
    return name;
}

/* One key of ours. 0, or -1 with why filled. */
static int take(struct tt_hints *h, MPI_Info info, const char *key, char *why, size_t size)
{
    const enum tt_coll coll = tt_coll_find(key + sizeof prefix - 1, strlen(key) - (sizeof prefix - 1));
    char value[MPI_MAX_INFO_VAL + 1], name[MPI_MAX_INFO_KEY + 16];
    int found = 0;

    if (coll == TT_NCOLLS) {
        tt_log(TT_WARN, "the info key %s means nothing: after %s comes the name of a collective", key, prefix);
        return 0;
    }
    snprintf(why, size, "out of memory");
    PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    h->text[coll] = strdup(found && strcmp(value, "none") != 0 ? value : "");
    if (!h->text[coll] || !*h->text[coll])
        return h->text[coll] ? 0 : -1;
    snprintf(name, sizeof name, "info key %s", key);
    h->pin[coll] = tt_pin_parse(name, coll, value, why, size);
    return h->pin[coll] ? 0 : -1;
}

/* Is a kind, "cuda:device" or "cuda:managed:device", memory of GPUs and no other? "cuda" alone is pinned memory, too. */
static bool is_of_gpus(const char *kind, size_t length)
{
    static const char cuda[] = "cuda";
    const char *end = kind + length, *at = kind + sizeof cuda - 1;

    if (length < sizeof cuda || memcmp(kind, cuda, sizeof cuda - 1) != 0 || *at != ':')
        return false;
    while (at < end) {
        const char *word = at + 1, *colon = memchr(word, ':', (size_t)(end - word));
        const size_t n = (size_t)((colon ? colon : end) - word);

        if (!(n == 6 && memcmp(word, "device", n) == 0) && !(n == 7 && memcmp(word, "managed", n) == 0))
            return false;
        at = word + n;
    }
    return true;
}

/* The standard's key: a list of all kinds of memory that this rank's buffers will be in. */
static enum kinds read_kinds(MPI_Info info)
{
    char value[MPI_MAX_INFO_VAL + 1];
    const char *at = value;
    int found = 0;

    PMPI_Info_get(info, kinds_key, MPI_MAX_INFO_VAL, value, &found);
    if (!found)
        return NO_KINDS;
    for (;; at += strcspn(at, ",") + 1) {
        const size_t length = strcspn(at, ",");

        if (!is_of_gpus(at, length))
            return MIXED_KINDS;
        if (!at[length])
            return GPU_KINDS;
    }
}

/* NULL, or something that is wrong, with why filled. */
static struct tt_hints *read_info(MPI_Info info, bool *wrong, char *why, size_t size)
{
    struct tt_hints *h = calloc(1, sizeof *h);
    char key[MPI_MAX_INFO_KEY + 1];
    int n = 0;

    snprintf(why, size, "out of memory");
    *wrong = !h;
    if (h && info != MPI_INFO_NULL) {
        PMPI_Info_get_nkeys(info, &n);
        h->kinds = read_kinds(info);
    }
    for (int i = 0; i < n && !*wrong; i++)
        if (PMPI_Info_get_nthkey(info, i, key) == MPI_SUCCESS && strncmp(key, prefix, sizeof prefix - 1) == 0)
            *wrong = take(h, info, key, why, size) != 0;
    return h;
}

/* ---- over the ranks ---- */

enum { WRONG = TT_NCOLLS, KINDS, NSUMS };

static int allreduce(MPI_Comm comm, const void *ours, void *all, int n, MPI_Datatype type, MPI_Op op)
{
    MPI_Request request;
    int error = PMPI_Iallreduce(ours, all, n, type, op, comm, &request);

    if (error == MPI_SUCCESS)
        tt_wait_for(&request, MPI_STATUS_IGNORE);
    return error;
}

static uint64_t sum_of(const char *text)
{
    return text ? tt_hash(TT_HASH_OF_NOTHING, text, strlen(text)) | 1 : 0;
}

struct agreement {
    bool given;       /* any key, by all ranks alike; or the standard's, which may differ between ranks */
    enum kinds kinds; /* GPU_KINDS: by all */
    bool wrong; /* on some rank */
    int coll;   /* whose key differs; TT_NCOLLS: none */
    int odd;    /* the first rank that has another one than rank 0 */
};

static int find_odd(MPI_Comm comm, uint64_t ours, int *odd)
{
    uint64_t first = ours;
    MPI_Request request;
    int rank, size, mine, error;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    error = PMPI_Ibcast(&first, 1, MPI_UINT64_T, 0, comm, &request);
    if (error != MPI_SUCCESS)
        return error;
    tt_wait_for(&request, MPI_STATUS_IGNORE);
    mine = ours == first ? size : rank;
    return allreduce(comm, &mine, odd, 1, MPI_INT, MPI_MIN);
}

/* The greatest complement is the complement of the least: equal to the greatest if all are equal. */
static int agree(MPI_Comm comm, const struct tt_hints *h, bool wrong, struct agreement *a)
{
    uint64_t ours[2 * NSUMS], most[2 * NSUMS];
    int error;

    for (int i = 0; i < NSUMS; i++) {
        ours[i] = i == WRONG ? wrong : !h ? 0 : i == KINDS ? h->kinds : sum_of(h->text[i]);
        ours[NSUMS + i] = ~ours[i];
    }
    error = allreduce(comm, ours, most, 2 * NSUMS, MPI_UINT64_T, MPI_MAX);
    *a = (struct agreement){.wrong = most[WRONG] != 0, .coll = TT_NCOLLS};
    for (int c = 0; c < TT_NCOLLS; c++) {
        a->given |= most[c] != 0;
        if (most[c] != ~most[NSUMS + c] && a->coll == TT_NCOLLS)
            a->coll = c;
    }
    a->kinds = most[KINDS] == ~most[NSUMS + KINDS] ? (enum kinds)most[KINDS] : MIXED_KINDS;
    a->given |= a->kinds != NO_KINDS;
    return error == MPI_SUCCESS && a->coll < TT_NCOLLS ? find_odd(comm, ours[a->coll], &a->odd) : error;
}

static int refuse_difference(MPI_Comm comm, const struct tt_hints *h, const struct agreement *a)
{
    const char *value = h && h->text[a->coll] ? h->text[a->coll] : "no such key";
    char name[64], why[256];
    int rank;

    PMPI_Comm_rank(comm, &rank);
    name_of(a->coll, name, sizeof name);
    if (rank == 0 || rank == a->odd)
        tt_log(TT_ERROR, "info key %s: rank %d has %s", name, rank, value);
    snprintf(why, sizeof why,
             "the info key %s must be equal on all ranks of the communicator: rank %d's differs from "
             "rank 0's",
             name, a->odd);
    return tt_raise_together(comm, why);
}

/* ---- into the communicator ---- */

/* What is given replaces what was. */
static void adopt(struct tt_comm *c, struct tt_hints *given, enum kinds kinds)
{
    given->kinds = kinds;
    if (!c->hints) {
        c->hints = given;
    } else {
        for (int i = 0; i < TT_NCOLLS; i++)
            if (given->text[i]) {
                clear(c->hints, i);
                c->hints->pin[i] = given->pin[i];
                c->hints->text[i] = given->text[i];
                given->pin[i] = NULL;
                given->text[i] = NULL;
            }
        c->hints->kinds = kinds != NO_KINDS ? kinds : c->hints->kinds;
        tt_hints_free(given);
    }
    tt_comm_forget(c);
}

/* Takes given, or frees it. */
static int set(MPI_Comm comm, struct tt_hints *given, bool wrong, const char *why)
{
    struct agreement a;
    struct tt_comm *c;
    int error = agree(comm, given, wrong, &a), here, all = 0;

    if (error == MPI_SUCCESS && a.coll < TT_NCOLLS)
        error = refuse_difference(comm, given, &a);
    else if (error == MPI_SUCCESS && a.wrong)
        error = tt_raise_together(comm, wrong ? why : "info keys: another rank is out of memory");
    if (error != MPI_SUCCESS || !a.given) {
        tt_hints_free(given);
        return error;
    }
    here = tt_comm_of(comm, TT_READY, &c) == MPI_SUCCESS;
    error = allreduce(comm, &here, &all, 1, MPI_INT, MPI_MIN);
    if (error == MPI_SUCCESS && all) {
        adopt(c, given, a.kinds);
        return MPI_SUCCESS;
    }
    tt_hints_free(given);
    return error == MPI_SUCCESS ? tt_raise_together(comm, "info keys: a rank is out of memory") : error;
}

int tt_hints_set(MPI_Comm comm, MPI_Info info)
{
    struct tt_hints *given;
    char why[1024];
    bool wrong;
    int inter = 0, error;

    if (comm == MPI_COMM_NULL || tt_inside || !tt_is_on() || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return MPI_SUCCESS;
    tt_inside++;
    given = read_info(info, &wrong, why, sizeof why);
    error = set(comm, given, wrong, why);
    tt_inside--;
    return error;
}

/* ---- back to the user ---- */

/* The MPI below may have dropped keys that mean nothing to it. */
static void put_back(const struct tt_hints *h, MPI_Info info)
{
    char name[64];

    for (int c = 0; h && c < TT_NCOLLS; c++)
        if (h->text[c] && *h->text[c])
            PMPI_Info_set(info, name_of(c, name, sizeof name), h->text[c]);
}

__attribute__((visibility("default"))) int MPI_Comm_get_info(MPI_Comm comm, MPI_Info *info)
{
    const int error = PMPI_Comm_get_info(comm, info);
    const struct tt_comm *c = error == MPI_SUCCESS && !tt_inside && tt_is_on() ? tt_comm_known(comm) : NULL;

    if (c)
        put_back(c->hints, *info);
    return error;
}
