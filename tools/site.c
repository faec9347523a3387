/* SPDX-License-Identifier: BSD-3-Clause */
/* What all ways of telling a topology ask of it. Nodes that are alike are told once: a thousand of them are one picture
 * and a line. To find them costs a comparison with one of each kind. */
#include "tools/site.h"

#include <string.h>

int tool_ranks_of(const struct tool_site *site, int node, const int **ranks)
{
    const struct tt_nodes *n = &site->topo->nodes;

    *ranks = n->ranks + n->first[node];
    return n->first[node + 1] - n->first[node];
}

char *tool_list(char *text, size_t size, const int *numbers, int n)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0, end; i < n && used + 40 < size; i = end) {
        for (end = i + 1; end < n && numbers[end] == numbers[end - 1] + 1;)
            end++;
        used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", numbers[i]);
        if (end - i > 1)
            used += (size_t)snprintf(text + used, size - used, "-%d", numbers[end - 1]);
        if (end < n && used + 40 >= size)
            snprintf(text + used, size - used, ",...");
    }
    return text;
}

static bool same_seats(const struct tool_site *site, int a, int b)
{
    const int *ranks_a, *ranks_b;
    const int n = tool_ranks_of(site, a, &ranks_a);

    if (tool_ranks_of(site, b, &ranks_b) != n)
        return false;
    for (int i = 0; i < n; i++) {
        const struct tt_seat *x = &site->topo->seats[ranks_a[i]], *y = &site->topo->seats[ranks_b[i]];

        if (x->socket != y->socket || x->gpu != y->gpu || x->nic != y->nic)
            return false;
    }
    return true;
}

static bool same_kind(const struct tt_node_kind *a, const struct tt_node_kind *b)
{
    return a->sockets == b->sockets && a->cores == b->cores && a->gpus == b->gpus && a->nics == b->nics &&
           a->linked == b->linked;
}

int tool_like(const struct tool_site *site, int node)
{
    const struct tt_node_kind *kinds = site->topo->kinds;

    for (int i = 0; i < node; i++)
        if (same_kind(&kinds[i], &kinds[node]) && same_seats(site, i, node))
            return i;
    return node;
}

int tool_alike(const struct tool_site *site, int node, int *nodes)
{
    int n = 0;

    for (int i = node; i < site->topo->nodes.n; i++)
        if (same_kind(&site->topo->kinds[i], &site->topo->kinds[node]) && same_seats(site, i, node))
            nodes[n++] = i;
    return n;
}

char *tool_name_nodes(char *text, size_t size, const int *nodes, int n)
{
    char list[128];

    tool_list(list, sizeof list, nodes, n);
    snprintf(text, size, n == 1 ? "node %s" : "nodes %s, the same", list);
    return text;
}

static size_t put_count(char *text, size_t size, int n, const char *noun)
{
    return n > 0 ? (size_t)snprintf(text, size, "%d %s%s, ", n, noun, n == 1 ? "" : "s") : 0;
}

char *tool_node_words(char *text, size_t size, const struct tt_node_kind *kind)
{
    size_t used = 0;

    used += put_count(text + used, size - used, kind->sockets, "socket");
    used += put_count(text + used, size - used, kind->cores, "core");
    used += put_count(text + used, size - used, kind->gpus, "GPU");
    if (kind->gpus > 1)
        used += (size_t)snprintf(text + used - 2, size - used, " joined by %s, ", kind->linked ? "NVLink" : "PCIe") - 2;
    used += put_count(text + used, size - used, kind->nics, "NIC");
    if (used)
        text[used - 2] = '\0';
    else
        snprintf(text, size, "its hardware is not known");
    return text;
}

size_t tool_line(const char *text, size_t width)
{
    size_t end = strlen(text);

    if (end <= width)
        return end;
    for (end = width; end > 0 && text[end] != ' ';)
        end--;
    return end ? end : width;
}

char *tool_gpu_at(char *text, size_t size, const struct tt_gpu *gpu)
{
    snprintf(text, size, "%04x:%02x:%02x.0", (unsigned)gpu->domain, (unsigned)gpu->bus, (unsigned)gpu->device);
    return text;
}

/* Levels of a node, from its seats: to ask for every pair of ranks would be too much of a large node. */
static bool shares_gpu(const struct tool_site *site, int node)
{
    const int *ranks, n = tool_ranks_of(site, node, &ranks);
    bool taken[256] = {false};

    for (int i = 0; i < n; i++) {
        const int gpu = site->topo->seats[ranks[i]].gpu;

        if (gpu < 0 || gpu >= 256)
            continue;
        if (taken[gpu])
            return true;
        taken[gpu] = true;
    }
    return false;
}

/* Are there two ranks of the node with that level between them, which is LINK or HOST? */
static bool meets(const struct tool_site *site, int node, enum tt_level level)
{
    const int *ranks, n = tool_ranks_of(site, node, &ranks);
    int gpus = 0, without = 0, first = -1;

    for (int i = 0; i < n; i++) {
        const int gpu = site->topo->seats[ranks[i]].gpu;

        without += gpu < 0;
        gpus += gpu >= 0 && gpu != first;
        first = gpu >= 0 && first < 0 ? gpu : first;
    }
    return (without && n > 1 && level == TT_LEVEL_HOST) ||
           (gpus > 1 && site->topo->kinds[node].linked == (level == TT_LEVEL_LINK));
}

bool tool_level_used(const struct tool_site *site, enum tt_level level)
{
    bool used = level == TT_LEVEL_NIC && site->topo->nodes.n > 1;

    for (int i = 0; i < site->topo->nodes.n && !used && level != TT_LEVEL_NIC; i++)
        used = level == TT_LEVEL_GPU ? shares_gpu(site, i) : meets(site, i, level);
    return used;
}
