/* SPDX-License-Identifier: BSD-3-Clause */
/* The platform of the scale simulation, from a topology: what selector/topo.h says a port is, as SimGrid's links, with
 * a host for each rank and a route for each pair of ranks. The alpha of a level is the latency of the sender's port. It
 * reads topologies by the selector's own reader, so that simulator and selector cannot see two machines.
 *
 *     platform TOPOLOGY FOLDER [RANKS]    writes FOLDER/platform.xml and FOLDER/hosts
 *
 * p^2 lines: 64 ranks are 4,032 routes, and SimGrid reads them in 20 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/sizes.h"
#include "selector/topo.h"

enum direction { OUT, IN };

/* The port through which a rank sends or receives at a level: its own number, or that of what it shares. */
static int port(const struct tt_topo *t, enum tt_level level, int rank)
{
    const struct tt_seat *seat = &t->seats[rank];

    if (level == TT_LEVEL_NIC)
        return seat->node * 64 + seat->nic;
    if (level == TT_LEVEL_GPU)
        return seat->node * 64 + seat->gpu;
    return level == TT_LEVEL_HOST && t->host_shared ? seat->node : rank;
}

/* A bus is one link for both directions. */
static const char *port_name(const struct tt_topo *t, enum tt_level level, int rank, enum direction way, char *name)
{
    const bool bus = level == TT_LEVEL_HOST && t->host_shared;

    snprintf(name, 64, "%s%d-%s", tt_level_name(level), port(t, level, rank), bus ? "bus" : way == OUT ? "out" : "in");
    return name;
}

/* Is this rank the first one that uses the port? It states the link. */
static bool first_there(const struct tt_topo *t, enum tt_level level, int rank)
{
    for (int r = 0; r < rank; r++)
        if (port(t, level, r) == port(t, level, rank))
            return false;
    return true;
}

static void write_links(const struct tt_topo *t, enum tt_level level, FILE *out)
{
    const struct tt_speed *s = &t->speed[level];
    const bool bus = level == TT_LEVEL_HOST && t->host_shared;
    char name[64];

    for (int r = 0; r < t->size; r++)
        for (int way = OUT; way <= (bus ? OUT : IN) && s->beta > 0 && first_there(t, level, r); way++)
            fprintf(out, "  <link id=\"%s\" bandwidth=\"%.17gBps\" latency=\"%.17gs\"/>\n",
                    port_name(t, level, r, (enum direction)way, name), 1 / s->beta, way == OUT ? s->alpha : 0);
}

static void write_route(const struct tt_topo *t, int from, int to, FILE *out)
{
    const enum tt_level level = from == to ? TT_LEVEL_GPU : tt_topo_level(t, from, to);
    char a[64], b[64];

    port_name(t, level, from, OUT, a);
    port_name(t, level, to, IN, b);
    fprintf(out, "  <route src=\"r%d\" dst=\"r%d\" symmetrical=\"NO\">", from, to);
    if (from == to)
        fprintf(out, "<link_ctn id=\"self\"/>");
    else
        fprintf(out, "<link_ctn id=\"%s\"/>", a);
    if (from != to && strcmp(a, b) != 0)
        fprintf(out, "<link_ctn id=\"%s\"/>", b);
    fprintf(out, "</route>\n");
}

/* What a rank sends to itself takes no time: our plans copy, which costs what the topology says, and so do most others'
 * algorithms. */
static void write_platform(const struct tt_topo *t, FILE *out)
{
    fprintf(out,
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<!-- %s -->\n<platform version=\"4.1\">\n <zone id=\"all\" routing=\"Full\">\n",
            t->about);
    for (int r = 0; r < t->size; r++)
        fprintf(out, "  <host id=\"r%d\" speed=\"1Gf\"/>\n", r);
    fprintf(out, "  <link id=\"self\" bandwidth=\"1e18Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n");
    for (int level = 0; level < TT_NLEVELS; level++)
        write_links(t, (enum tt_level)level, out);
    for (int from = 0; from < t->size; from++)
        for (int to = 0; to < t->size; to++)
            write_route(t, from, to, out);
    fprintf(out, " </zone>\n</platform>\n");
}

static void write_hosts(const struct tt_topo *t, FILE *out)
{
    for (int r = 0; r < t->size; r++)
        fprintf(out, "r%d\n", r);
}

static bool write_file(const struct tt_topo *t, const char *folder, const char *name,
                       void (*write)(const struct tt_topo *t, FILE *out))
{
    char path[4096];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    out = fopen(path, "w");
    if (out)
        write(t, out);
    if (out && fclose(out) == 0)
        return true;
    perror(path);
    return false;
}

int main(int argc, char **argv)
{
    struct tt_topo *t;
    char why[512];
    int ranks = 0;
    bool good;

    if (argc < 3 || argc > 4 || (argc == 4 && tt_int_parse(argv[3], &ranks))) {
        fprintf(stderr, "Usage: platform TOPOLOGY FOLDER [RANKS]\n");
        return 2;
    }
    if (tt_topo_read(argv[1], ranks, 0, NULL, &t, why, sizeof why)) {
        fprintf(stderr, "platform: %s\n", why);
        return EXIT_FAILURE;
    }
    good = write_file(t, argv[2], "platform.xml", write_platform) && write_file(t, argv[2], "hosts", write_hosts);
    tt_topo_free(t);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
