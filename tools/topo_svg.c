/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology as a picture. Each kind of node is a panel, drawn once: its sockets hold the ranks, each above its GPU; a
 * bar joins what is joined by NVLink, PCIe or memory; lines go down to the NICs, and from there to the network. The
 * colour of a line is that of its level, which the legend names with its speed. A rank of a warning has a red ring. */
#include <stdlib.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/site.h"
#include "tools/svg.h"

enum { MOST_PANELS = 4, MOST_COLUMNS = 16, LEAST_COLUMNS = 5, STACK = 4 };
enum { COLUMN = 62, MARGIN = 20, GAP = 22, HEAD = 84, LEAST_WIDTH = 640 };
/* Heights within a panel. */
enum { TITLE = 74, RANK = 34, SOCKET_HEAD = 26, GPU = 44, BAR = 26, NIC = 26, NIC_FALL = 40 };

static const char *const colours[TT_NLEVELS] = {
    [TT_LEVEL_GPU] = "#7a5bb5", [TT_LEVEL_LINK] = "#2b8f63", [TT_LEVEL_HOST] = "#c07f1f", [TT_LEVEL_NIC] = "#3668b0"};
static const char *const alarm = "#c0392b";

/* A GPU and the ranks on it, or a rank without a GPU. */
struct column {
    int socket, gpu, nic;
    int ranks[STACK], n; /* n of them, of which STACK are drawn */
};

/* A kind of node. */
struct panel {
    int node;
    struct column columns[MOST_COLUMNS];
    int ncolumns;
    int nodes; /* how many are alike */
    double x, width;
};

struct picture {
    FILE *out;
    const struct tool_site *site;
    struct panel panels[MOST_PANELS];
    int npanels, left_out; /* kinds that have none */
    int stack;             /* ranks in the highest column */
    double gpu;            /* height of a GPU; 0: there are none */
    bool *warned;          /* of each rank */
    struct tool_warning warnings[TOOL_WARNINGS_MOST];
    int nwarnings;
    double span, width, height; /* span: of all panels */
    double floor;               /* where the network is */
};

/* ---- what goes where ---- */

/* NULL: there is no room for one more. */
static struct column *column_of(struct panel *panel, int gpu)
{
    for (int i = 0; i < panel->ncolumns && gpu >= 0; i++)
        if (panel->columns[i].gpu == gpu)
            return &panel->columns[i];
    if (panel->ncolumns == MOST_COLUMNS)
        return NULL;
    panel->columns[panel->ncolumns] = (struct column){.socket = -1, .gpu = gpu, .nic = -1};
    return &panel->columns[panel->ncolumns++];
}

/* Ranks without GPUs share the room among the sockets. */
static bool socket_full(const struct tool_site *site, const struct panel *panel, int socket)
{
    const int sockets = site->topo->kinds[panel->node].sockets;
    int n = 0;

    for (int i = 0; i < panel->ncolumns; i++)
        n += panel->columns[i].socket == socket;
    return sockets > 1 && n >= MOST_COLUMNS / sockets;
}

/* The socket of the column: that of the GPU, where there is one. */
static int home_of(const struct tool_site *site, int rank)
{
    const struct tt_seat *s = &site->topo->seats[rank];
    const int known = site->seen && s->gpu >= 0 ? site->seen[rank].machine.gpu_socket : s->socket;

    return known < 0 && site->topo->kinds[s->node].sockets == 1 ? 0 : known;
}

static void seat(const struct tool_site *site, struct panel *panel, int rank)
{
    const struct tt_seat *s = &site->topo->seats[rank];
    struct column *c;

    if (s->gpu < 0 && socket_full(site, panel, s->socket))
        return;
    c = column_of(panel, s->gpu);
    if (!c)
        return;
    if (c->n == 0) {
        c->socket = home_of(site, rank);
        c->nic = s->nic;
    }
    if (c->n < STACK)
        c->ranks[c->n] = rank;
    c->n++;
}

/* GPUs that no rank is on. In a file they are spread over the sockets as ranks are. */
static void add_idle(const struct tool_site *site, struct panel *panel)
{
    const struct tt_node_kind *kind = &site->topo->kinds[panel->node];

    for (int gpu = 0; gpu < kind->gpus; gpu++) {
        struct column *c = column_of(panel, gpu);

        if (c && c->n == 0 && !site->seen)
            c->socket = gpu * kind->sockets / kind->gpus;
    }
}

static int by_socket(const void *a, const void *b)
{
    const struct column *x = a, *y = b;

    if (x->socket != y->socket)
        return x->socket < y->socket ? -1 : 1;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    return x->ranks[0] < y->ranks[0] ? -1 : x->ranks[0] > y->ranks[0];
}

static void fill(struct picture *p, struct panel *panel)
{
    const int *ranks, n = tool_ranks_of(p->site, panel->node, &ranks);
    int *nodes = malloc((size_t)p->site->topo->nodes.n * sizeof *nodes);

    panel->nodes = nodes ? tool_alike(p->site, panel->node, nodes) : 1;
    free(nodes);
    for (int i = 0; i < n; i++)
        seat(p->site, panel, ranks[i]);
    add_idle(p->site, panel);
    qsort(panel->columns, (size_t)panel->ncolumns, sizeof *panel->columns, by_socket);
    for (int i = 0; i < panel->ncolumns; i++) {
        const int high = panel->columns[i].n < STACK ? panel->columns[i].n : STACK;

        p->stack = high > p->stack ? high : p->stack;
    }
    panel->width = 2 * MARGIN + COLUMN * (panel->ncolumns > LEAST_COLUMNS ? panel->ncolumns : LEAST_COLUMNS);
    p->gpu = p->site->topo->kinds[panel->node].gpus > 0 ? GPU : p->gpu;
}

static void choose_panels(struct picture *p)
{
    double x = MARGIN;

    for (int i = 0; i < p->site->topo->nodes.n; i++) {
        struct panel *panel = &p->panels[p->npanels];

        if (tool_like(p->site, i) != i)
            continue;
        if (p->npanels == MOST_PANELS) {
            p->left_out++;
            continue;
        }
        *panel = (struct panel){.node = i, .x = x};
        fill(p, panel);
        x += panel->width + GAP;
        p->npanels++;
    }
    p->span = x - GAP - MARGIN;
    p->width = p->span + 2 * MARGIN < LEAST_WIDTH ? LEAST_WIDTH : p->span + 2 * MARGIN;
}

static void mark_warned(struct picture *p)
{
    p->nwarnings = tool_warn(p->site, p->warnings);
    p->warned = calloc((size_t)p->site->topo->size, sizeof *p->warned);
    for (int i = 0; i < p->nwarnings && p->warned; i++)
        for (int k = 0; k < p->warnings[i].n; k++)
            p->warned[p->warnings[i].ranks[k]] = true;
}

/* ---- heights ---- */

static double sockets_top(void)
{
    return HEAD + TITLE;
}

static double gpus_top(const struct picture *p)
{
    return sockets_top() + SOCKET_HEAD + RANK * p->stack + 8;
}

static double sockets_bottom(const struct picture *p)
{
    return gpus_top(p) + p->gpu + (p->gpu > 0 ? 8 : 0);
}

static double bar_top(const struct picture *p)
{
    return sockets_bottom(p) + 14;
}

static double nics_top(const struct picture *p)
{
    return bar_top(p) + BAR + NIC_FALL;
}

static double panel_bottom(const struct picture *p)
{
    return nics_top(p) + NIC + 14;
}

static double column_x(const struct panel *panel, int column)
{
    return panel->x + MARGIN + COLUMN * (column + 0.5);
}

static double nic_x(const struct panel *panel, int nic, int nics)
{
    return panel->x + MARGIN + (panel->width - 2 * MARGIN) * (nic + 0.5) / nics;
}

/* ---- pieces ---- */

static void line(const struct picture *p, double x0, double y0, double x1, double y1, const char *colour, double width)
{
    fprintf(p->out, "<path d=\"M%.1f %.1f L%.1f %.1f\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", x0, y0,
            x1, y1, colour, width);
}

static void box(const struct picture *p, double x, double y, double width, double height, const char *fill,
                const char *stroke)
{
    fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" fill=\"%s\" stroke=\"%s\"/>\n",
            x, y, width, height, fill, stroke);
}

static void middle(const struct picture *p, double x, double y, int size, const char *colour, const char *text)
{
    char more[64];

    snprintf(more, sizeof more, "text-anchor=\"middle\" fill=\"%s\"", colour);
    tool_svg_text(p->out, x, y, size, more, text);
}

static void draw_rank(const struct picture *p, int rank, double x, double y)
{
    const bool warned = p->warned && p->warned[rank];
    char text[16];

    fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"14\" fill=\"#ffffff\" stroke=\"%s\" stroke-width=\"%s\"/>\n",
            x, y, warned ? alarm : TOOL_INK, warned ? "3" : "1.2");
    snprintf(text, sizeof text, "%d", rank);
    middle(p, x, y + 4, rank > 999 ? 9 : 12, TOOL_INK, text);
}

static void draw_gpu(const struct picture *p, const struct column *c, double x)
{
    const double y = gpus_top(p);
    const struct tool_seen *seen = p->site->seen && c->n ? &p->site->seen[c->ranks[0]] : NULL;
    const bool placed = seen && seen->gpu.there;
    char text[32];

    box(p, x - COLUMN / 2.0 + 5, y, COLUMN - 10, GPU, c->n ? "#e6f2ea" : "#ffffff",
        c->n ? colours[TT_LEVEL_LINK] : TOOL_LINE);
    snprintf(text, sizeof text, "GPU %d", c->gpu);
    middle(p, x, y + (placed || c->n == 0 ? 18 : GPU / 2 + 4), 12, TOOL_INK, c->n ? text : "GPU");
    if (placed)
        middle(p, x, y + 34, 9, TOOL_GREY, strchr(tool_gpu_at(text, sizeof text, &seen->gpu), ':') + 1);
    else if (c->n == 0)
        middle(p, x, y + 34, 10, TOOL_GREY, "idle");
}

static void draw_column(const struct picture *p, const struct panel *panel, int i)
{
    const struct column *c = &panel->columns[i];
    const double x = column_x(panel, i), foot = gpus_top(p) - 8;
    char more[16];

    if (c->n)
        line(p, x, foot - RANK * (c->n < STACK ? c->n : STACK) + RANK, x, c->gpu < 0 ? bar_top(p) : gpus_top(p),
             colours[c->gpu >= 0 && c->n > 1 ? TT_LEVEL_GPU : TT_LEVEL_HOST], 1.8);
    for (int k = 0; k < c->n && k < STACK; k++)
        draw_rank(p, c->ranks[k], x, foot - RANK * ((c->n < STACK ? c->n : STACK) - k - 0.5));
    if (c->n > STACK) {
        snprintf(more, sizeof more, "+%d", c->n - STACK);
        middle(p, x + 22, foot - RANK * STACK + 12, 10, TOOL_GREY, more);
    }
    if (c->gpu >= 0)
        draw_gpu(p, c, x);
}

/* How many ranks of a socket are not drawn. */
static int left_out(const struct picture *p, const struct panel *panel, int socket)
{
    const int *ranks, all = tool_ranks_of(p->site, panel->node, &ranks);
    int n = 0;

    for (int i = 0; i < all; i++)
        n += home_of(p->site, ranks[i]) == socket;
    for (int i = 0; i < panel->ncolumns; i++)
        n -= panel->columns[i].socket == socket ? panel->columns[i].n : 0;
    return n;
}

/* Columns of one socket stand side by side: from is the first of them; returns the one after the last. */
static int draw_socket(const struct picture *p, const struct panel *panel, int from)
{
    const int socket = panel->columns[from].socket, more = left_out(p, panel, socket);
    char number[16] = "?", text[64];
    int to = from;

    while (to < panel->ncolumns && panel->columns[to].socket == socket)
        to++;
    box(p, column_x(panel, from) - COLUMN / 2.0 + 2, sockets_top(), COLUMN * (to - from) - 4,
        sockets_bottom(p) - sockets_top(), "#ffffff", TOOL_LINE);
    if (socket >= 0)
        snprintf(number, sizeof number, "%d", socket);
    snprintf(text, sizeof text, more ? "socket %s, and %d ranks more" : "socket %s", number, more);
    tool_svg_text(p->out, column_x(panel, from) - COLUMN / 2.0 + 9, sockets_top() + 17, 11, "fill=\"" TOOL_GREY "\"",
                  text);
    return to;
}

/* What joins the columns: one bar, in the colour of the level. */
static void draw_bar(const struct picture *p, const struct panel *panel)
{
    const struct tt_node_kind *kind = &p->site->topo->kinds[panel->node];
    const enum tt_level level = kind->gpus > 1 && kind->linked ? TT_LEVEL_LINK : TT_LEVEL_HOST;
    const char *words = level == TT_LEVEL_LINK ? "NVLink or NVSwitch" : kind->gpus ? "PCIe and memory" : "memory";

    for (int i = 0; i < panel->ncolumns; i++)
        if (panel->columns[i].gpu >= 0)
            line(p, column_x(panel, i), sockets_bottom(p) - 8, column_x(panel, i), bar_top(p), colours[level], 2.2);
    box(p, panel->x + MARGIN, bar_top(p), panel->width - 2 * MARGIN, BAR, colours[level], colours[level]);
    middle(p, panel->x + panel->width / 2, bar_top(p) + 17, 12, "#ffffff", words);
}

static void draw_nics(const struct picture *p, const struct panel *panel)
{
    const int all = p->site->topo->kinds[panel->node].nics, n = all < MOST_COLUMNS ? all : MOST_COLUMNS;
    char text[16];

    for (int i = 0; i < panel->ncolumns; i++)
        if (panel->columns[i].nic >= 0 && panel->columns[i].nic < n)
            line(p, column_x(panel, i), bar_top(p) + BAR, nic_x(panel, panel->columns[i].nic, n), nics_top(p),
                 colours[TT_LEVEL_NIC], 1.4);
    for (int i = 0; i < n; i++) {
        box(p, nic_x(panel, i, n) - 26, nics_top(p), 52, NIC, "#e5edf8", colours[TT_LEVEL_NIC]);
        snprintf(text, sizeof text, "NIC %d", i);
        middle(p, nic_x(panel, i, n), nics_top(p) + 17, 11, TOOL_INK, text);
        if (p->site->topo->nodes.n > 1)
            line(p, nic_x(panel, i, n), nics_top(p) + NIC, nic_x(panel, i, n), p->floor, colours[TT_LEVEL_NIC], 1.8);
    }
}

static void draw_names(const struct picture *p, const struct panel *panel)
{
    int *nodes = malloc((size_t)p->site->topo->nodes.n * sizeof *nodes);
    const int *ranks, count = tool_ranks_of(p->site, panel->node, &ranks);
    char name[128] = "", words[128], list[64], drawn[256];

    if (nodes)
        tool_name_nodes(name, sizeof name, nodes, tool_alike(p->site, panel->node, nodes));
    free(nodes);
    tool_svg_text(p->out, panel->x + MARGIN, HEAD + 24, 15, "font-weight=\"bold\" fill=\"" TOOL_INK "\"", name);
    tool_svg_text(p->out, panel->x + MARGIN, HEAD + 42, 11, "fill=\"" TOOL_GREY "\"",
                  tool_node_words(words, sizeof words, &p->site->topo->kinds[panel->node]));
    tool_list(list, sizeof list, ranks, count);
    if (panel->nodes > 1)
        snprintf(drawn, sizeof drawn, "drawn is node %d, with rank%s %s", panel->node, count == 1 ? "" : "s", list);
    else
        snprintf(drawn, sizeof drawn, "rank%s %s%s%s", count == 1 ? "" : "s", list, p->site->seen ? ", on " : "",
                 p->site->seen ? p->site->seen[ranks[0]].host : "");
    tool_svg_text(p->out, panel->x + MARGIN, HEAD + 58, 11, "fill=\"" TOOL_GREY "\"", drawn);
}

static void draw_panel(const struct picture *p, const struct panel *panel)
{
    fprintf(p->out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%.1f\" rx=\"10\" fill=\"" TOOL_PANEL "\"/>\n",
            panel->x, HEAD, panel->width, panel_bottom(p) - HEAD);
    draw_names(p, panel);
    for (int i = 0; i < panel->ncolumns;)
        i = draw_socket(p, panel, i);
    draw_bar(p, panel);
    for (int i = 0; i < panel->ncolumns; i++)
        draw_column(p, panel, i);
    draw_nics(p, panel);
}

/* ---- around the panels ---- */

static void draw_head(const struct picture *p)
{
    const struct tt_topo *t = p->site->topo;
    char text[200];

    snprintf(text, sizeof text, "%d rank%s on %d node%s", t->size, t->size == 1 ? "" : "s", t->nodes.n,
             t->nodes.n == 1 ? "" : "s");
    tool_svg_begin(p->out, p->width, p->height, text);
    tool_svg_text(p->out, MARGIN + 4, 36, 21, "font-weight=\"bold\" fill=\"" TOOL_INK "\"", text);
    tool_svg_text(p->out, MARGIN + 4, 56, 12, "fill=\"" TOOL_GREY "\"", *t->about ? t->about : p->site->from);
    snprintf(text, sizeof text, "and %d more kind%s of nodes, not drawn", p->left_out, p->left_out == 1 ? "" : "s");
    if (p->left_out)
        tool_svg_text(p->out, MARGIN + 4, 74, 12, "fill=\"" TOOL_GREY "\"", text);
}

static void draw_network(const struct picture *p)
{
    if (p->site->topo->nodes.n < 2)
        return;
    box(p, MARGIN, p->floor, p->span, BAR, colours[TT_LEVEL_NIC], colours[TT_LEVEL_NIC]);
    middle(p, MARGIN + p->span / 2, p->floor + 17, 12, "#ffffff", "the network");
}

static double draw_levels(const struct picture *p, double y)
{
    const struct tt_topo *t = p->site->topo;
    char text[200], alpha[32], rate[32];

    for (int l = 0; l < TT_NLEVELS; l++) {
        const struct tt_speed *s = &t->speed[l];

        if (!tool_level_used(p->site, (enum tt_level)l))
            continue;
        line(p, MARGIN + 4, y - 4, MARGIN + 34, y - 4, colours[l], 4);
        snprintf(text, sizeof text, "%s: %s, alpha %s, %s%s, %s", tt_level_name((enum tt_level)l),
                 tt_level_words((enum tt_level)l), tt_time_print(alpha, sizeof alpha, s->alpha),
                 s->beta > 0 ? tt_rate_print(rate, sizeof rate, 1 / s->beta) : "unlimited",
                 l == TT_LEVEL_HOST && t->host_shared ? " shared by the node" : "",
                 t->measured ? "measured" : "assumed");
        tool_svg_text(p->out, MARGIN + 44, y, 12, "fill=\"" TOOL_INK "\"", text);
        y += 20;
    }
    return y;
}

/* Lines of words that fit the picture; returns where the next would be. Without a picture's file they are counted. */
static double draw_words(const struct picture *p, double y, const char *words, const char *more, bool draw)
{
    char text[256];

    while (*words) {
        const size_t length = tool_line(words, (size_t)((p->width - 2 * MARGIN - 40) / 6.8));

        snprintf(text, sizeof text, "%.*s", (int)length, words);
        if (draw)
            tool_svg_text(p->out, MARGIN + 4, y, 12, more, text);
        y += 17;
        words += length;
        words += strspn(words, " ");
    }
    return y;
}

static double draw_warnings(const struct picture *p, double y, bool draw)
{
    char line[1400];

    for (int i = 0; i < p->nwarnings; i++) {
        y = draw_words(p, y + 10, p->warnings[i].what, "fill=\"#c0392b\"", draw);
        snprintf(line, sizeof line, "remedy: %s", p->warnings[i].remedy);
        y = draw_words(p, y, line, "fill=\"" TOOL_INK "\"", draw);
    }
    return y;
}

static void lay_out(struct picture *p)
{
    int levels = 0;

    p->stack = 1;
    choose_panels(p);
    mark_warned(p);
    for (int l = 0; l < TT_NLEVELS; l++)
        levels += tool_level_used(p->site, (enum tt_level)l);
    p->floor = panel_bottom(p) + (p->site->topo->nodes.n > 1 ? 20 : -BAR);
    p->height = draw_warnings(p, p->floor + BAR + 34 + 20 * levels, false) + MARGIN;
}

void tool_topo_svg(FILE *out, const struct tool_site *site)
{
    struct picture p = {.out = out, .site = site};

    lay_out(&p);
    draw_head(&p);
    for (int i = 0; i < p.npanels; i++)
        draw_panel(&p, &p.panels[i]);
    draw_network(&p);
    draw_warnings(&p, draw_levels(&p, p.floor + BAR + 34), true);
    fputs("</svg>\n", out);
    tool_unwarn(p.warnings, p.nwarnings);
    free(p.warned);
}
