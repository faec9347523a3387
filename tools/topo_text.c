/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology as text, in the columns of nvidia-smi topo -m: a matrix of what lies between ranks, and beside it where
 * each sits. One matrix for each kind of node, since nodes that are alike would repeat it; between nodes there is the
 * network only. */
#include <stdlib.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/site.h"

enum { MOST_RANKS = 16, WIDTH = 110 };

/* Words, folded: the first line after indent spaces, the others after two more. */
static void fold(FILE *out, const char *text, int indent)
{
    for (int more = 0; *text; more = 2) {
        const size_t length = tool_line(text, (size_t)(WIDTH - indent - more));

        fprintf(out, "%*s%.*s\n", indent + more, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

static char *number(char *text, size_t size, int n)
{
    snprintf(text, size, n < 0 ? "-" : "%d", n);
    return text;
}

/* ---- a node ---- */

static void print_nodes(FILE *out, const struct tool_site *site, const int *nodes, int n)
{
    enum { FEW = 8 };
    const int *ranks;
    char text[512];

    for (int i = 0; i < n; i++) {
        const int count = tool_ranks_of(site, nodes[i], &ranks);

        if (n > FEW && i == FEW - 2) {
            fputs("  ...\n", out);
            i = n - 2;
            continue;
        }
        fprintf(out, "  node %d: rank%s %s", nodes[i], count == 1 ? "" : "s",
                tool_list(text, sizeof text, ranks, count));
        if (site->seen)
            fprintf(out, ", on %s", site->seen[ranks[0]].host);
        fputc('\n', out);
    }
}

static void print_seen(FILE *out, const struct tool_seen *seen)
{
    char at[32];

    fprintf(out, "  %-12s  %-8s  %s", seen->gpu.there ? tool_gpu_at(at, sizeof at, &seen->gpu) : "-",
            seen->machine.nic >= 0 ? seen->machine.nic_name : "-",
            *seen->machine.cores_bound ? seen->machine.cores_bound : "?");
}

/* Its row: what lies between it and each of the n ranks shown, and where it sits. */
static void print_row(FILE *out, const struct tool_site *site, int rank, const int *ranks, int n)
{
    const struct tt_seat *seat = &site->topo->seats[rank];
    char label[16], text[3][16];

    snprintf(label, sizeof label, "r%d", rank);
    fprintf(out, "  %-6s", label);
    for (int i = 0; i < n; i++)
        fprintf(out, " %-5s", ranks[i] == rank ? "X" : tt_level_name(tt_topo_level(site->topo, rank, ranks[i])));
    fprintf(out, "   %6s  %3s  %3s", number(text[0], 16, seat->socket), number(text[1], 16, seat->gpu),
            number(text[2], 16, seat->nic));
    if (site->seen)
        print_seen(out, &site->seen[rank]);
    fputc('\n', out);
}

static void print_matrix(FILE *out, const struct tool_site *site, int node)
{
    const int *ranks, all = tool_ranks_of(site, node, &ranks), n = all < MOST_RANKS ? all : MOST_RANKS;
    char label[16];

    fprintf(out, "\n  %-6s", "");
    for (int i = 0; i < n; i++) {
        snprintf(label, sizeof label, "r%d", ranks[i]);
        fprintf(out, " %-5s", label);
    }
    fprintf(out, "   %6s  %3s  %3s%s\n", "socket", "GPU", "NIC", site->seen ? "  GPU at        NIC's     cores" : "");
    for (int i = 0; i < n; i++)
        print_row(out, site, ranks[i], ranks, n);
    if (n < all)
        fprintf(out, "  ... and %d more rank%s\n", all - n, all - n == 1 ? "" : "s");
}

static void print_kinds(FILE *out, const struct tool_site *site)
{
    int *nodes = malloc((size_t)site->topo->nodes.n * sizeof *nodes);
    char name[192], words[128], line[400];

    for (int i = 0; nodes && i < site->topo->nodes.n; i++) {
        int n;

        if (tool_like(site, i) != i)
            continue;
        n = tool_alike(site, i, nodes);
        snprintf(line, sizeof line, "%s: %s", tool_name_nodes(name, sizeof name, nodes, n),
                 tool_node_words(words, sizeof words, &site->topo->kinds[i]));
        fputc('\n', out);
        fold(out, line, 0);
        print_nodes(out, site, nodes, n);
        print_matrix(out, site, i);
    }
    free(nodes);
}

/* ---- speeds ---- */

static void print_cost(FILE *out, const char *what, double launch, double beta)
{
    char alpha[32], rate[32];

    if (beta > 0 || launch > 0)
        fprintf(out, "  %-5s %-34s %9s  %s\n", "", what, launch > 0 ? tt_time_print(alpha, sizeof alpha, launch) : "-",
                beta > 0 ? tt_rate_print(rate, sizeof rate, 1 / beta) : "-");
}

static void print_levels(FILE *out, const struct tool_site *site)
{
    const struct tt_topo *t = site->topo;
    char alpha[32], rate[32];

    fprintf(out, "\n  %-5s %-34s %9s  %s, %s\n", "level", "", "alpha", "bandwidth",
            t->measured ? "measured" : "assumed");
    for (int l = 0; l < TT_NLEVELS; l++) {
        const struct tt_speed *s = &t->speed[l];

        if (!tool_level_used(site, (enum tt_level)l))
            continue;
        fprintf(out, "  %-5s %-34s %9s  %s%s\n", tt_level_name((enum tt_level)l), tt_level_words((enum tt_level)l),
                tt_time_print(alpha, sizeof alpha, s->alpha),
                s->beta > 0 ? tt_rate_print(rate, sizeof rate, 1 / s->beta) : "unlimited",
                l == TT_LEVEL_HOST && t->host_shared ? ", shared by the node" : "");
    }
    print_cost(out, "a reduction", t->launch, t->gamma);
    print_cost(out, "a copy", t->launch, t->copy);
}

/* ---- all of it ---- */

static void print_warnings(FILE *out, const struct tool_site *site)
{
    struct tool_warning list[TOOL_WARNINGS_MOST];
    const int n = tool_warn(site, list);
    char line[1400];

    for (int i = 0; i < n; i++) {
        snprintf(line, sizeof line, "warning: %s", list[i].what);
        fputc('\n', out);
        fold(out, line, 0);
        snprintf(line, sizeof line, "remedy: %s", list[i].remedy);
        fold(out, line, 2);
    }
    tool_unwarn(list, n);
}

void tool_topo_text(FILE *out, const struct tool_site *site)
{
    const struct tt_topo *t = site->topo;

    fprintf(out, "%d rank%s on %d node%s, %s\n", t->size, t->size == 1 ? "" : "s", t->nodes.n,
            t->nodes.n == 1 ? "" : "s", site->from);
    if (*t->about)
        fprintf(out, "  %s\n", t->about);
    print_kinds(out, site);
    print_levels(out, site);
    print_warnings(out, site);
}
