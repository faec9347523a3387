/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology from a file. Nothing is half-loaded: the picture is made only after the whole file has been found good.
 * doc/topology.md has the format. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selector/json_file.h"
#include "selector/topo.h"

enum { MAX_NODES = 1 << 16, MAX_RANKS = 1 << 20 };

/* What a file says, before any rank sits. */
struct group {
    int count, ranks; /* so many nodes, with room for so many ranks each */
    struct tt_node_kind kind;
    bool links_given;
};
struct speed {
    double alpha, beta;
    bool shared, given;
};
struct text {
    char about[128], gpu[16];
    bool measured;
    int ngroups;
    struct group *groups;
    char place[16];
    int nlist, *list; /* the node of each rank, where place is a list */
    struct speed speed[TT_NLEVELS], nccl;
    double reduce, copy, launch, overhead;
};

static bool read_links(struct tt_json_file *r, const json_t *value, const char *path, void *to,
                       const struct tt_field *f)
{
    const char *name = json_string_value(value);
    struct group *group = to;
    char words[TT_MAX_WORDS];

    (void)f;
    if (!name || (strcmp(name, "nvlink") != 0 && strcmp(name, "pcie") != 0))
        return tt_json_wrong(r, path, "wants \"nvlink\" or \"pcie\", not %s", tt_json_seen(value, words));
    group->kind.linked = strcmp(name, "nvlink") == 0;
    group->links_given = true;
    return true;
}

/* ---- objects and lists ---- */

/* The keys of one level; only the host's may be one for all ranks of a node. */
#define SPEED_FIELDS                                                                                                   \
    {.key = "alpha", .read = tt_json_time, .at = offsetof(struct speed, alpha)},                                       \
    {                                                                                                                  \
        .key = "bandwidth", .read = tt_json_rate, .at = offsetof(struct speed, beta)                                   \
    }
static const struct tt_field own_fields[] = {SPEED_FIELDS, {0}};
static const struct tt_field host_fields[] = {
    SPEED_FIELDS, {.key = "shared", .read = tt_json_flag, .at = offsetof(struct speed, shared), .optional = true}, {0}};

static bool read_speed(struct tt_json_file *r, const json_t *value, const char *path, void *to,
                       const struct tt_field *f)
{
    ((struct speed *)to)->given = true;
    return tt_json_object(r, value, path, to, f);
}

#define COST(name, how)                                                                                                \
    {                                                                                                                  \
        .key = #name, .read = how, .at = offsetof(struct text, name), .optional = true                                 \
    }
static const struct tt_field speeds_fields[] = {
#define L(id, name, words)                                                                                             \
    {.key = name,                                                                                                      \
     .read = read_speed,                                                                                               \
     .at = offsetof(struct text, speed) + TT_LEVEL_##id * sizeof(struct speed),                                        \
     .optional = true,                                                                                                 \
     .inside = TT_LEVEL_##id == TT_LEVEL_HOST ? host_fields : own_fields},
    TT_LEVELS(L)
#undef L
        {.key = "nccl", .read = read_speed, .at = offsetof(struct text, nccl), .optional = true, .inside = own_fields},
    COST(reduce, tt_json_rate),
    COST(copy, tt_json_rate),
    COST(launch, tt_json_time),
    COST(overhead, tt_json_time),
    {0}};

#define NUMBER(name, member, from, to)                                                                                 \
    {                                                                                                                  \
        .key = name, .read = tt_json_whole, .at = offsetof(struct group, member), .least = from, .most = to            \
    }
static const struct tt_field group_fields[] = {NUMBER("count", count, 1, MAX_NODES),
                                               NUMBER("sockets", kind.sockets, 1, 64),
                                               NUMBER("cores", kind.cores, 1, 4096),
                                               NUMBER("gpus", kind.gpus, 0, 64),
                                               NUMBER("nics", kind.nics, 0, 64),
                                               NUMBER("ranks", ranks, 1, 4096),
                                               {.key = "links", .read = read_links, .optional = true},
                                               {0}};

static bool read_groups(struct tt_json_file *r, const json_t *value, const char *path, void *to,
                        const struct tt_field *f)
{
    struct text *text = to;
    const size_t n = json_array_size(value);
    char below[TT_MAX_WORDS];

    if (!json_is_array(value) || n == 0 || n > MAX_NODES)
        return tt_json_wrong(r, path, "wants a list of kinds of nodes, one at least");
    text->groups = calloc(n, sizeof *text->groups);
    if (!text->groups)
        return tt_json_wrong(r, path, "out of memory");
    for (; (size_t)text->ngroups < n; text->ngroups++) {
        struct group *g = &text->groups[text->ngroups];

        snprintf(below, sizeof below, "%s[%d]", path, text->ngroups);
        if (!tt_json_object(r, json_array_get(value, (size_t)text->ngroups), below, g, f))
            return false;
        if ((g->kind.gpus > 0) != g->links_given)
            return tt_json_wrong(r, below,
                                 g->links_given ? "there are no GPUs for \"links\" to link"
                                                : "there are GPUs, so the key \"links\" is missing");
    }
    return true;
}

static bool place_known(const char *place)
{
    return strcmp(place, "block") == 0 || strcmp(place, "round-robin") == 0;
}

static bool read_place(struct tt_json_file *r, const json_t *value, const char *path, void *to,
                       const struct tt_field *f)
{
    static const struct tt_field node = {.least = 0, .most = MAX_NODES - 1};
    struct text *text = to;
    const size_t n = json_array_size(value);
    char words[TT_MAX_WORDS];

    (void)f;
    if (json_is_string(value) && place_known(json_string_value(value))) {
        strcpy(text->place, json_string_value(value));
        return true;
    }
    if (n == 0 || n > MAX_RANKS)
        return tt_json_wrong(r, path, "wants \"block\", \"round-robin\", or a list of each rank's node, not %s",
                             json_is_array(value) ? "an empty one" : tt_json_seen(value, words));
    text->list = calloc(n, sizeof *text->list);
    if (!text->list)
        return tt_json_wrong(r, path, "out of memory");
    strcpy(text->place, "list");
    for (; (size_t)text->nlist < n; text->nlist++) {
        snprintf(words, sizeof words, "%s[%d]", path, text->nlist);
        if (!tt_json_whole(r, json_array_get(value, (size_t)text->nlist), words, &text->list[text->nlist], &node))
            return false;
    }
    return true;
}

static const struct tt_field text_fields[] = {
    {.key = "about",
     .read = tt_json_words,
     .at = offsetof(struct text, about),
     .most = sizeof((struct text *)0)->about - 1},
    {.key = "gpu",
     .read = tt_json_words,
     .at = offsetof(struct text, gpu),
     .most = sizeof((struct text *)0)->gpu - 1,
     .optional = true},
    {.key = "measured", .read = tt_json_flag, .at = offsetof(struct text, measured), .optional = true},
    {.key = "nodes", .read = read_groups, .inside = group_fields},
    {.key = "place", .read = read_place, .optional = true},
    {.key = "speeds", .read = tt_json_object, .inside = speeds_fields},
    {0}};
static const struct tt_field whole_file = {.inside = text_fields};

/* Levels that ranks can meet must have their speed: to leave one out is to say that it costs nothing. */
static bool speeds_suffice(struct tt_json_file *r, const struct text *text)
{
    bool wanted[TT_NLEVELS] = {[TT_LEVEL_HOST] = true, [TT_LEVEL_NIC] = true};

    for (int i = 0; i < text->ngroups; i++) {
        wanted[TT_LEVEL_GPU] |= text->groups[i].kind.gpus > 0;
        wanted[TT_LEVEL_LINK] |= text->groups[i].kind.linked;
    }
    for (int level = 0; level < TT_NLEVELS; level++)
        if (wanted[level] && !text->speed[level].given)
            return tt_json_wrong(r, "speeds", "the key \"%s\" is missing: ranks can meet there", tt_level_name(level));
    return true;
}

/* ---- ranks take their seats ---- */

/* What is to be made of it. */
struct wish {
    int ranks, nodes;
    const char *place;
};

/* The kind of node i; beyond those listed the list begins anew. */
static const struct group *group_of(const struct text *text, int listed, int i)
{
    const struct group *g = text->groups;

    for (i %= listed; i >= g->count; g++)
        i -= g->count;
    return g;
}

static long nodes_listed(const struct text *text)
{
    long n = 0;

    for (int i = 0; i < text->ngroups; i++)
        n += text->groups[i].count;
    return n;
}

/* Fixes how many nodes and ranks there are, and so the room each node has. */
static bool count_up(struct tt_json_file *r, const struct text *text, struct wish *wish, int *listed)
{
    const bool list = strcmp(wish->place, "list") == 0;
    const int asked = wish->nodes;
    long nodes = nodes_listed(text), room = 0;

    if (nodes > MAX_NODES)
        return tt_json_wrong(r, "nodes", "there are %ld, and at most %d may be", nodes, MAX_NODES);
    *listed = (int)nodes;
    nodes = asked > 0 ? asked : nodes;
    for (int i = 0; i < nodes; i++)
        room += group_of(text, *listed, i)->ranks;
    for (; asked <= 0 && !list && room < wish->ranks && nodes < MAX_NODES; nodes++)
        room += group_of(text, *listed, (int)nodes)->ranks;
    if (wish->ranks <= 0)
        wish->ranks = list ? text->nlist : (int)(room < INT_MAX ? room : INT_MAX);
    wish->nodes = (int)nodes;
    if (nodes > MAX_NODES || wish->ranks > MAX_RANKS)
        return tt_json_wrong(r, "", "%ld nodes and %d ranks are more than the %d and %d that may be", nodes,
                             wish->ranks, MAX_NODES, MAX_RANKS);
    if (wish->ranks > room)
        return tt_json_wrong(r, "", "%d ranks do not fit: there %s %ld node%s with room for %ld%s", wish->ranks,
                             nodes == 1 ? "is" : "are", nodes, nodes == 1 ? "" : "s", room,
                             list ? ", and it says where each rank sits: --place block puts them one behind the other, "
                                    "on more such nodes"
                                  : "");
    if (list && wish->ranks > text->nlist)
        return tt_json_wrong(r, "place", "there are the nodes of %d ranks, not of %d", text->nlist, wish->ranks);
    return true;
}

/* Local rank i takes its seat as if all the node's seats were taken. */
static struct tt_seat seat(const struct group *g, int node, int i)
{
    const struct tt_node_kind *k = &g->kind;

    return (struct tt_seat){.node = node,
                            .socket = (int)((long)i * k->sockets / g->ranks),
                            .gpu = k->gpus ? i % k->gpus : -1,
                            .nic = k->nics ? (int)((long)i * k->nics / g->ranks) : -1};
}

/* The node where the next rank sits: the same one while there is room, or the next one around that has some. */
static int next_node(const struct text *text, const struct wish *wish, int listed, const int *taken, int last)
{
    int node = strcmp(wish->place, "block") == 0 ? last : (last + 1) % wish->nodes;

    while (taken[node] == group_of(text, listed, node)->ranks)
        node = (node + 1) % wish->nodes;
    return node;
}

static bool sit_down(struct tt_json_file *r, const struct text *text, const struct wish *wish, int listed,
                     struct tt_topo *t, int *taken)
{
    const bool list = strcmp(wish->place, "list") == 0;
    int node = strcmp(wish->place, "block") == 0 ? 0 : wish->nodes - 1;
    char path[64];

    for (int rank = 0; rank < wish->ranks; rank++) {
        snprintf(path, sizeof path, "place[%d]", rank);
        if (list && text->list[rank] >= wish->nodes)
            return tt_json_wrong(r, path, "there is no node %d, they are 0 to %d", text->list[rank], wish->nodes - 1);
        node = list ? text->list[rank] : next_node(text, wish, listed, taken, node);
        if (taken[node] == group_of(text, listed, node)->ranks)
            return tt_json_wrong(r, path, "node %d has room for %d ranks only", node, taken[node]);
        t->seats[rank] = seat(group_of(text, listed, node), node, taken[node]++);
    }
    return true;
}

static bool nics_suffice(struct tt_json_file *r, const struct tt_topo *t)
{
    for (int i = 0; i < t->nodes.n && t->nodes.n > 1; i++)
        if (t->kinds[i].nics == 0)
            return tt_json_wrong(r, "nodes", "there are %d, and one has no NIC to reach the others by", t->nodes.n);
    return true;
}

static void state_speeds(struct tt_topo *t, const struct text *text)
{
    for (int level = 0; level < TT_NLEVELS; level++)
        t->speed[level] = (struct tt_speed){text->speed[level].alpha, text->speed[level].beta};
    t->host_shared = text->speed[TT_LEVEL_HOST].shared;
    t->gamma = text->reduce;
    t->copy = text->copy;
    t->launch = text->launch;
    t->overhead = text->overhead;
    t->nccl = (struct tt_speed){text->nccl.alpha, text->nccl.beta};
    t->measured = text->measured;
    strcpy(t->about, text->about);
    strcpy(t->gpu, text->gpu);
}

static struct tt_topo *make(struct tt_json_file *r, const struct text *text, struct wish wish)
{
    struct tt_topo *t;
    int listed = 0, *taken;
    bool good;

    if (!count_up(r, text, &wish, &listed))
        return NULL;
    t = tt_topo_new(wish.ranks, wish.nodes);
    taken = calloc((size_t)wish.nodes, sizeof *taken);
    good = t && taken;
    if (!good)
        tt_json_wrong(r, "", "out of memory");
    for (int i = 0; good && i < wish.nodes; i++)
        t->kinds[i] = group_of(text, listed, i)->kind;
    good = good && sit_down(r, text, &wish, listed, t, taken);
    if (good && tt_topo_settle(t))
        good = tt_json_wrong(r, "", "out of memory");
    free(taken);
    if (good && nics_suffice(r, t)) {
        state_speeds(t, text);
        return t;
    }
    tt_topo_free(t);
    return NULL;
}

int tt_topo_read(const char *file, int n, int nodes, const char *place, struct tt_topo **t, char *why, size_t size)
{
    struct tt_json_file f;
    struct text text = {.place = "block"};

    *t = NULL;
    if (place && !place_known(place)) {
        snprintf(why, size, "there is no placement \"%s\"; known are: block, round-robin", place);
        return -1;
    }
    if (tt_json_open(&f, file, "topologies", why, size) && tt_json_object(&f, f.root, "", &text, &whole_file) &&
        speeds_suffice(&f, &text))
        *t = make(&f, &text, (struct wish){n, nodes, place ? place : text.place});
    tt_json_close(&f);
    free(text.groups);
    free(text.list);
    return *t ? 0 : -1;
}
