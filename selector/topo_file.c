/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology from a file: JSON, read by tables of fields, so that what may be there, what must be, and what an error
 * names are one list. Nothing is half-loaded: the picture is made only after the whole file has been found good. Apart
 * from the core, because it needs jansson, which the library that goes into programs must not. doc/topology.md has the
 * format. */
#include <errno.h>
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/sizes.h"
#include "selector/topo.h"

enum { MAX_NODES = 1 << 16, MAX_RANKS = 1 << 20, MAX_WORDS = 256 };

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
    char about[128];
    bool measured;
    int ngroups;
    struct group *groups;
    char place[16];
    int nlist, *list; /* the node of each rank, where place is a list */
    struct speed speed[TT_NLEVELS], nccl;
    double reduce, copy, launch, overhead;
};

struct reader {
    const char *file;
    char *why;
    size_t size;
};

/* One key of an object: how its value is read, where to, and whether it must be there. */
struct field {
    const char *key;
    bool (*read)(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f);
    size_t at;
    bool optional;
    int least, most;            /* of a whole number */
    const struct field *inside; /* of an object, or of each element of a list: ends with a NULL key */
};

static __attribute__((format(printf, 3, 4))) bool wrong(struct reader *r, const char *path, const char *format, ...)
{
    const int used = snprintf(r->why, r->size, "%s: %s%s", r->file, path, *path ? ": " : "");
    va_list args;

    va_start(args, format);
    if (used >= 0 && (size_t)used < r->size)
        vsnprintf(r->why + used, r->size - (size_t)used, format, args);
    va_end(args);
    return false;
}

/* ---- values ---- */

/* What is there instead, for an error: a string with its quotes, "a list", "7". */
static const char *seen(const json_t *value, char *words)
{
    static const char *const kinds[] = {[JSON_OBJECT] = "an object",
                                        [JSON_ARRAY] = "a list",
                                        [JSON_TRUE] = "true",
                                        [JSON_FALSE] = "false",
                                        [JSON_NULL] = "null"};

    if (json_is_string(value))
        snprintf(words, MAX_WORDS, "\"%.64s\"", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(words, MAX_WORDS, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(words, MAX_WORDS, "%g", json_real_value(value));
    else
        snprintf(words, MAX_WORDS, "%s", kinds[json_typeof(value)]);
    return words;
}

static bool read_whole(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    char words[MAX_WORDS];

    if (!json_is_integer(value) || json_integer_value(value) < f->least || json_integer_value(value) > f->most)
        return wrong(r, path, "wants a whole number from %d to %d, not %s", f->least, f->most, seen(value, words));
    *(int *)to = (int)json_integer_value(value);
    return true;
}

static bool read_flag(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    char words[MAX_WORDS];

    (void)f;
    if (!json_is_boolean(value))
        return wrong(r, path, "wants true or false, not %s", seen(value, words));
    *(bool *)to = json_is_true(value);
    return true;
}

static bool read_words(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    char words[MAX_WORDS];

    if (!json_is_string(value))
        return wrong(r, path, "wants words, not %s", seen(value, words));
    if (json_string_length(value) > (size_t)f->most)
        return wrong(r, path, "wants at most %d letters", f->most);
    strcpy(to, json_string_value(value));
    return true;
}

static bool read_time(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    char words[MAX_WORDS];

    (void)f;
    if (!json_is_string(value) || tt_time_parse(json_string_value(value), to))
        return wrong(r, path, "wants a time such as \"2us\" (s, ms, us, ns), not %s", seen(value, words));
    return true;
}

/* Files say bytes per second, formulas want seconds per byte. */
static bool read_rate(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    char words[MAX_WORDS];
    double rate;

    (void)f;
    if (!json_is_string(value) || tt_rate_parse(json_string_value(value), &rate))
        return wrong(r, path, "wants a rate such as \"25GB/s\" or \"200Gbit/s\", not %s", seen(value, words));
    *(double *)to = 1 / rate;
    return true;
}

static bool read_links(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    const char *name = json_string_value(value);
    struct group *group = to;
    char words[MAX_WORDS];

    (void)f;
    if (!name || (strcmp(name, "nvlink") != 0 && strcmp(name, "pcie") != 0))
        return wrong(r, path, "wants \"nvlink\" or \"pcie\", not %s", seen(value, words));
    group->kind.linked = strcmp(name, "nvlink") == 0;
    group->links_given = true;
    return true;
}

/* ---- objects and lists ---- */

/* The fields' keys, for an error: "count, sockets, cores". */
static const char *keys_of(const struct field *f, char *words)
{
    size_t used = 0;

    for (words[0] = '\0'; f->key && used < MAX_WORDS; f++)
        used += (size_t)snprintf(words + used, MAX_WORDS - used, "%s%s", used ? ", " : "", f->key);
    return words;
}

static bool known_keys(struct reader *r, const json_t *object, const char *path, const struct field *fields)
{
    char words[MAX_WORDS];
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        const struct field *f = fields;

        while (f->key && strcmp(f->key, key) != 0)
            f++;
        if (!f->key)
            return wrong(r, path, "there is no key \"%.64s\" here; known are: %s", key, keys_of(fields, words));
    }
    return true;
}

static bool read_object(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    char words[MAX_WORDS], below[MAX_WORDS];

    if (!json_is_object(value))
        return wrong(r, path, "wants an object with the keys %s, not %s", keys_of(f->inside, words),
                     seen(value, below));
    if (!known_keys(r, value, path, f->inside))
        return false;
    for (const struct field *in = f->inside; in->key; in++) {
        const json_t *inner = json_object_get(value, in->key);

        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", in->key);
        if (!inner && !in->optional)
            return wrong(r, path, "the key \"%s\" is missing", in->key);
        if (inner && !in->read(r, inner, below, (char *)to + in->at, in))
            return false;
    }
    return true;
}

/* The keys of one level; only the host's may be one for all ranks of a node. */
#define SPEED_FIELDS                                                                                                   \
    {.key = "alpha", .read = read_time, .at = offsetof(struct speed, alpha)},                                          \
    {                                                                                                                  \
        .key = "bandwidth", .read = read_rate, .at = offsetof(struct speed, beta)                                      \
    }
static const struct field own_fields[] = {SPEED_FIELDS, {0}};
static const struct field host_fields[] = {
    SPEED_FIELDS, {.key = "shared", .read = read_flag, .at = offsetof(struct speed, shared), .optional = true}, {0}};

static bool read_speed(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    ((struct speed *)to)->given = true;
    return read_object(r, value, path, to, f);
}

#define COST(name, how)                                                                                                \
    {                                                                                                                  \
        .key = #name, .read = how, .at = offsetof(struct text, name), .optional = true                                 \
    }
static const struct field speeds_fields[] = {
#define L(id, name, words)                                                                                             \
    {.key = name,                                                                                                      \
     .read = read_speed,                                                                                               \
     .at = offsetof(struct text, speed) + TT_LEVEL_##id * sizeof(struct speed),                                        \
     .optional = true,                                                                                                 \
     .inside = TT_LEVEL_##id == TT_LEVEL_HOST ? host_fields : own_fields},
    TT_LEVELS(L)
#undef L
        {.key = "nccl", .read = read_speed, .at = offsetof(struct text, nccl), .optional = true, .inside = own_fields},
    COST(reduce, read_rate),
    COST(copy, read_rate),
    COST(launch, read_time),
    COST(overhead, read_time),
    {0}};

#define NUMBER(name, member, from, to)                                                                                 \
    {                                                                                                                  \
        .key = name, .read = read_whole, .at = offsetof(struct group, member), .least = from, .most = to               \
    }
static const struct field group_fields[] = {NUMBER("count", count, 1, MAX_NODES),
                                            NUMBER("sockets", kind.sockets, 1, 64),
                                            NUMBER("cores", kind.cores, 1, 4096),
                                            NUMBER("gpus", kind.gpus, 0, 64),
                                            NUMBER("nics", kind.nics, 0, 64),
                                            NUMBER("ranks", ranks, 1, 4096),
                                            {.key = "links", .read = read_links, .optional = true},
                                            {0}};

static bool read_groups(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    struct text *text = to;
    const size_t n = json_array_size(value);
    char below[MAX_WORDS];

    if (!json_is_array(value) || n == 0 || n > MAX_NODES)
        return wrong(r, path, "wants a list of kinds of nodes, one at least");
    text->groups = calloc(n, sizeof *text->groups);
    if (!text->groups)
        return wrong(r, path, "out of memory");
    for (; (size_t)text->ngroups < n; text->ngroups++) {
        struct group *g = &text->groups[text->ngroups];

        snprintf(below, sizeof below, "%s[%d]", path, text->ngroups);
        if (!read_object(r, json_array_get(value, (size_t)text->ngroups), below, g, f))
            return false;
        if ((g->kind.gpus > 0) != g->links_given)
            return wrong(r, below,
                         g->links_given ? "there are no GPUs for \"links\" to link"
                                        : "there are GPUs, so the key \"links\" is missing");
    }
    return true;
}

static bool place_known(const char *place)
{
    return strcmp(place, "block") == 0 || strcmp(place, "round-robin") == 0;
}

static bool read_place(struct reader *r, const json_t *value, const char *path, void *to, const struct field *f)
{
    static const struct field node = {.least = 0, .most = MAX_NODES - 1};
    struct text *text = to;
    const size_t n = json_array_size(value);
    char words[MAX_WORDS];

    (void)f;
    if (json_is_string(value) && place_known(json_string_value(value))) {
        strcpy(text->place, json_string_value(value));
        return true;
    }
    if (n == 0 || n > MAX_RANKS)
        return wrong(r, path, "wants \"block\", \"round-robin\", or a list of each rank's node, not %s",
                     json_is_array(value) ? "an empty one" : seen(value, words));
    text->list = calloc(n, sizeof *text->list);
    if (!text->list)
        return wrong(r, path, "out of memory");
    strcpy(text->place, "list");
    for (; (size_t)text->nlist < n; text->nlist++) {
        snprintf(words, sizeof words, "%s[%d]", path, text->nlist);
        if (!read_whole(r, json_array_get(value, (size_t)text->nlist), words, &text->list[text->nlist], &node))
            return false;
    }
    return true;
}

static const struct field text_fields[] = {
    {.key = "about",
     .read = read_words,
     .at = offsetof(struct text, about),
     .most = sizeof((struct text *)0)->about - 1},
    {.key = "measured", .read = read_flag, .at = offsetof(struct text, measured), .optional = true},
    {.key = "nodes", .read = read_groups, .inside = group_fields},
    {.key = "place", .read = read_place, .optional = true},
    {.key = "speeds", .read = read_object, .inside = speeds_fields},
    {0}};
static const struct field whole_file = {.inside = text_fields};

/* Levels that ranks can meet must have their speed: to leave one out is to say that it costs nothing. */
static bool speeds_suffice(struct reader *r, const struct text *text)
{
    bool wanted[TT_NLEVELS] = {[TT_LEVEL_HOST] = true, [TT_LEVEL_NIC] = true};

    for (int i = 0; i < text->ngroups; i++) {
        wanted[TT_LEVEL_GPU] |= text->groups[i].kind.gpus > 0;
        wanted[TT_LEVEL_LINK] |= text->groups[i].kind.linked;
    }
    for (int level = 0; level < TT_NLEVELS; level++)
        if (wanted[level] && !text->speed[level].given)
            return wrong(r, "speeds", "the key \"%s\" is missing: ranks can meet there", tt_level_name(level));
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
static bool count_up(struct reader *r, const struct text *text, struct wish *wish, int *listed)
{
    const bool list = strcmp(wish->place, "list") == 0;
    const int asked = wish->nodes;
    long nodes = nodes_listed(text), room = 0;

    if (nodes > MAX_NODES)
        return wrong(r, "nodes", "there are %ld, and at most %d may be", nodes, MAX_NODES);
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
        return wrong(r, "", "%ld nodes and %d ranks are more than the %d and %d that may be", nodes, wish->ranks,
                     MAX_NODES, MAX_RANKS);
    if (wish->ranks > room)
        return wrong(r, "", "%d ranks do not fit: there are %ld nodes with room for %ld", wish->ranks, nodes, room);
    if (list && wish->ranks > text->nlist)
        return wrong(r, "place", "there are the nodes of %d ranks, not of %d", text->nlist, wish->ranks);
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

static bool sit_down(struct reader *r, const struct text *text, const struct wish *wish, int listed, struct tt_topo *t,
                     int *taken)
{
    const bool list = strcmp(wish->place, "list") == 0;
    int node = strcmp(wish->place, "block") == 0 ? 0 : wish->nodes - 1;
    char path[64];

    for (int rank = 0; rank < wish->ranks; rank++) {
        snprintf(path, sizeof path, "place[%d]", rank);
        if (list && text->list[rank] >= wish->nodes)
            return wrong(r, path, "there is no node %d, they are 0 to %d", text->list[rank], wish->nodes - 1);
        node = list ? text->list[rank] : next_node(text, wish, listed, taken, node);
        if (taken[node] == group_of(text, listed, node)->ranks)
            return wrong(r, path, "node %d has room for %d ranks only", node, taken[node]);
        t->seats[rank] = seat(group_of(text, listed, node), node, taken[node]++);
    }
    return true;
}

static bool nics_suffice(struct reader *r, const struct tt_topo *t)
{
    for (int i = 0; i < t->nodes.n && t->nodes.n > 1; i++)
        if (t->kinds[i].nics == 0)
            return wrong(r, "nodes", "there are %d, and one has no NIC to reach the others by", t->nodes.n);
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
}

static struct tt_topo *make(struct reader *r, const struct text *text, struct wish wish)
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
        wrong(r, "", "out of memory");
    for (int i = 0; good && i < wish.nodes; i++)
        t->kinds[i] = group_of(text, listed, i)->kind;
    good = good && sit_down(r, text, &wish, listed, t, taken);
    if (good && tt_topo_settle(t))
        good = wrong(r, "", "out of memory");
    free(taken);
    if (good && nics_suffice(r, t)) {
        state_speeds(t, text);
        return t;
    }
    tt_topo_free(t);
    return NULL;
}

/* ---- files ---- */

/* Where shipped ones lie: beside this command, in the tree it was built in or installed to, then where configure said.
 */
static const char *const places[] = {"topologies", "../topologies", "../../topologies", "../share/tutti/topologies",
                                     TT_DATADIR "/tutti/topologies"};
enum { NPLACES = sizeof places / sizeof *places };

static void place_path(int i, char *path)
{
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

    own[length > 0 ? length : 0] = '\0';
    if (strrchr(own, '/'))
        *strrchr(own, '/') = '\0';
    snprintf(path, PATH_MAX, "%.*s%s%s", places[i][0] == '/' ? 0 : PATH_MAX / 2, own, places[i][0] == '/' ? "" : "/",
             places[i]);
}

/* Writes the names of the shipped topologies, or that there are none. */
static const char *shipped(char *words)
{
    char path[PATH_MAX];
    struct dirent **found;
    size_t used = 0;
    int n = -1;

    for (int i = 0; i < NPLACES && n < 0; i++) {
        place_path(i, path);
        n = scandir(path, &found, NULL, alphasort);
    }
    snprintf(words, MAX_WORDS, "none found");
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(found[i]->d_name, '.');

        if (dot && strcmp(dot, ".json") == 0 && used < MAX_WORDS)
            used += (size_t)snprintf(words + used, MAX_WORDS - used, "%s%.*s", used ? ", " : "",
                                     (int)(dot - found[i]->d_name), found[i]->d_name);
        free(found[i]);
    }
    if (n >= 0)
        free(found);
    return words;
}

/* A bare name is that of a shipped topology, unless a file here is called so. */
static FILE *open_file(struct reader *r)
{
    FILE *in = fopen(r->file, "r");
    char path[PATH_MAX + 128], words[MAX_WORDS];
    const int error = errno;

    for (int i = 0; !in && !strchr(r->file, '/') && i < NPLACES; i++) {
        place_path(i, path);
        snprintf(path + strlen(path), 128, "/%.100s.json", r->file);
        in = fopen(path, "r");
    }
    if (!in)
        wrong(r, "", "%s; topologies known by name: %s", strerror(error), shipped(words));
    return in;
}

static json_t *load(struct reader *r)
{
    FILE *in = open_file(r);
    json_error_t error;
    json_t *root;

    if (!in)
        return NULL;
    root = json_loadf(in, JSON_REJECT_DUPLICATES, &error);
    fclose(in);
    if (!root)
        snprintf(r->why, r->size, "%s:%d: %s", r->file, error.line, error.text);
    return root;
}

int tt_topo_read(const char *file, int n, int nodes, const char *place, struct tt_topo **t, char *why, size_t size)
{
    struct reader r = {file, why, size};
    struct text text = {.place = "block"};
    json_t *root;

    *t = NULL;
    if (place && !place_known(place)) {
        snprintf(why, size, "there is no placement \"%s\"; known are: block, round-robin", place);
        return -1;
    }
    root = load(&r);
    if (root && read_object(&r, root, "", &text, &whole_file) && speeds_suffice(&r, &text))
        *t = make(&r, &text, (struct wish){n, nodes, place ? place : text.place});
    json_decref(root);
    free(text.groups);
    free(text.list);
    return *t ? 0 : -1;
}
