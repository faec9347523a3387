/* SPDX-License-Identifier: BSD-3-Clause */
/* A cost profile: a topology file (doc/topology.md) whose speeds were measured. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "tools/tune.h"

/* No more figures than were measured. */
static json_t *time_word(double seconds)
{
    return json_sprintf("%.1fns", seconds * 1e9);
}

static json_t *rate_word(double seconds_per_byte)
{
    return json_sprintf("%.1fMB/s", 1e-6 / seconds_per_byte);
}

static json_t *speed_of(const struct tt_speed *speed)
{
    return json_pack("{s:o, s:o}", "alpha", time_word(speed->alpha), "bandwidth", rate_word(speed->beta));
}

static json_t *speeds_of(const struct tt_topo *t)
{
    json_t *all = json_object();

    for (int l = 0; l < TT_NLEVELS; l++)
        json_object_set_new(all, tt_level_name((enum tt_level)l), speed_of(&t->speed[l]));
    if (t->host_shared)
        json_object_set_new(json_object_get(all, tt_level_name(TT_LEVEL_HOST)), "shared", json_true());
    if (t->nccl.beta > 0)
        json_object_set_new(all, "nccl", speed_of(&t->nccl));
    json_object_set_new(all, "reduce", rate_word(t->gamma));
    json_object_set_new(all, "copy", rate_word(t->copy));
    json_object_set_new(all, "launch", time_word(t->launch));
    json_object_set_new(all, "overhead", time_word(t->overhead));
    return all;
}

static int at_least_one(int n)
{
    return n > 0 ? n : 1;
}

static json_t *node_of(const struct tt_topo *t, int i)
{
    const struct tt_node_kind *kind = &t->kinds[i];
    const int ranks = t->nodes.first[i + 1] - t->nodes.first[i];
    json_t *node =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "count", 1, "sockets", at_least_one(kind->sockets), "cores",
                  at_least_one(kind->cores), "gpus", kind->gpus, "nics", at_least_one(kind->nics), "ranks", ranks);

    if (kind->gpus > 0)
        json_object_set_new(node, "links", json_string(kind->linked ? "nvlink" : "pcie"));
    return node;
}

static json_t *profile_of(const struct tt_topo *t)
{
    json_t *nodes = json_array(), *place = json_array();

    for (int i = 0; i < t->nodes.n; i++)
        json_array_append_new(nodes, node_of(t, i));
    for (int r = 0; r < t->size; r++)
        json_array_append_new(place, json_integer(t->nodes.of[r]));
    return json_pack("{s:s, s:b, s:o, s:o, s:o}", "about", t->about, "measured", t->measured, "nodes", nodes, "place",
                     place, "speeds", speeds_of(t));
}

int tool_write_profile(const char *file, const struct tt_topo *topo)
{
    json_t *profile = profile_of(topo);
    const int error = profile ? json_dump_file(profile, file, JSON_INDENT(4)) : ENOMEM;

    json_decref(profile);
    return error ? -1 : 0;
}
