/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology for machines: every node and every seat, none folded; what lies between two ranks follows from seats, and
 * is given as a matrix while that is small. */
#include <jansson.h>

#include "tools/site.h"

enum { MOST_IN_MATRIX = 64 };

static json_t *list_of(const int *numbers, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_integer(numbers[i]));
    return list;
}

/* null where nobody knows. */
static json_t *known(int n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static json_t *node_of(const struct tool_site *site, int node)
{
    const struct tt_node_kind *kind = &site->topo->kinds[node];
    const int *ranks, n = tool_ranks_of(site, node, &ranks);
    json_t *all = json_pack("{s:i, s:i, s:i, s:i, s:i, s:b, s:i, s:o}", "node", node, "sockets", kind->sockets, "cores",
                            kind->cores, "gpus", kind->gpus, "nics", kind->nics, "nvlink", kind->linked, "like",
                            tool_like(site, node), "ranks", list_of(ranks, n));

    if (site->seen)
        json_object_set_new(all, "host", json_string(site->seen[ranks[0]].host));
    return all;
}

static json_t *gpu_of(const struct tool_seen *s)
{
    char at[32];

    return json_pack("{s:s, s:s, s:b, s:o, s:i, s:i, s:i}", "name", s->gpu_name, "pci",
                     tool_gpu_at(at, sizeof at, &s->gpu), "simulated", s->simulated, "socket",
                     known(s->machine.gpu_socket), "others", s->gpu.peers, "reached", s->gpu.reached, "nvlink",
                     s->gpu.linked);
}

static json_t *seat_of(const struct tool_site *site, int rank)
{
    const struct tt_seat *seat = &site->topo->seats[rank];
    json_t *all = json_pack("{s:i, s:i, s:o, s:o, s:o}", "rank", rank, "node", seat->node, "socket",
                            known(seat->socket), "gpu", known(seat->gpu), "nic", known(seat->nic));
    const struct tool_seen *s = site->seen ? &site->seen[rank] : NULL;

    if (!s)
        return all;
    json_object_set_new(all, "cores", json_string(s->machine.cores_bound));
    json_object_set_new(all, "nic_name", json_string(s->machine.nic_name));
    json_object_set_new(all, "nic_socket", known(s->machine.nic_socket));
    if (s->gpu.there)
        json_object_set_new(all, "gpu_seen", gpu_of(s));
    return all;
}

static json_t *levels_of(const struct tool_site *site)
{
    const struct tt_topo *t = site->topo;
    json_t *all = json_object();

    for (int l = 0; l < TT_NLEVELS; l++)
        json_object_set_new(all, tt_level_name((enum tt_level)l),
                            json_pack("{s:f, s:o, s:b, s:b}", "alpha", t->speed[l].alpha, "bandwidth",
                                      t->speed[l].beta > 0 ? json_real(1 / t->speed[l].beta) : json_null(), "used",
                                      tool_level_used(site, (enum tt_level)l), "shared",
                                      l == TT_LEVEL_HOST && t->host_shared));
    return all;
}

static json_t *matrix_of(const struct tt_topo *t)
{
    json_t *rows = json_array();

    for (int a = 0; a < t->size; a++) {
        json_t *row = json_array();

        for (int b = 0; b < t->size; b++)
            json_array_append_new(row, a == b ? json_null() : json_string(tt_level_name(tt_topo_level(t, a, b))));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *warnings_of(const struct tool_site *site)
{
    struct tool_warning list[TOOL_WARNINGS_MOST];
    const int n = tool_warn(site, list);
    json_t *all = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(all, json_pack("{s:s, s:o, s:s, s:s}", "name", list[i].name, "ranks",
                                             list_of(list[i].ranks, list[i].n), "what", list[i].what, "remedy",
                                             list[i].remedy));
    tool_unwarn(list, n);
    return all;
}

void tool_topo_json(FILE *out, const struct tool_site *site)
{
    const struct tt_topo *t = site->topo;
    json_t *nodes = json_array(), *seats = json_array(), *all;

    for (int i = 0; i < t->nodes.n; i++)
        json_array_append_new(nodes, node_of(site, i));
    for (int r = 0; r < t->size; r++)
        json_array_append_new(seats, seat_of(site, r));
    all = json_pack("{s:s, s:s, s:i, s:b, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:o}", "from", site->from, "about",
                    t->about, "ranks", t->size, "measured", t->measured, "nodes", nodes, "seats", seats, "levels",
                    levels_of(site), "reduce_per_byte", t->gamma, "copy_per_byte", t->copy, "launch", t->launch,
                    "overhead", t->overhead, "warnings", warnings_of(site));
    if (t->size <= MOST_IN_MATRIX)
        json_object_set_new(all, "between", matrix_of(t));
    json_dumpf(all, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(all);
}
