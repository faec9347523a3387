/* SPDX-License-Identifier: BSD-3-Clause */
/* What `tutti topo` tells of: a topology, and, where it was found and not read from a file, what each rank saw. The
 * same struct is told as text, as a picture and as JSON. */
#ifndef TT_TOOLS_SITE_H
#define TT_TOOLS_SITE_H

#include <stdio.h>

#include "cuda/dev.h"
#include "selector/machine.h"
#include "selector/topo.h"
#include "tools/seats.h"

/* What one rank saw. Of the same layout on all ranks, for it is gathered as bytes. */
struct tool_seen {
    char host[64];
    char gpu_name[64];
    int devices; /* GPUs that this process may take */
    bool simulated;
    struct tt_gpu gpu;
    struct tt_machine machine;
};

struct tool_site {
    struct tt_topo *topo;
    const struct tool_seen *seen; /* of each rank; NULL: a file says where ranks sit */
    const char *from;             /* where the topology is from, for the head */
    bool open_mpi;                /* whose mpiexec a remedy is for */
};

/* The ranks of a node in order; how many. */
int tool_ranks_of(const struct tool_site *site, int node, const int **ranks);

/* "0-3,8": numbers that rise, cut with "..." where size ends. Returns text. */
char *tool_list(char *text, size_t size, const int *numbers, int n);

/* The first node that is like this one: the same kind, with as many ranks that sit alike. */
int tool_like(const struct tool_site *site, int node);

/* The nodes that are like `node`, which is the first of them, into nodes; how many. */
int tool_alike(const struct tool_site *site, int node, int *nodes);

/* "node 0", "nodes 0-6, the same". */
char *tool_name_nodes(char *text, size_t size, const int *nodes, int n);

/* "2 sockets, 96 cores, 8 GPUs joined by NVLink, 8 NICs": what is known of it. */
char *tool_node_words(char *text, size_t size, const struct tt_node_kind *kind);

/* How much of text goes on a line of that many letters; what follows begins after any spaces. */
size_t tool_line(const char *text, size_t width);

/* Where a GPU is on PCI, as nvidia-smi and lspci write it: "0000:81:00.0". Returns text. */
char *tool_gpu_at(char *text, size_t size, const struct tt_gpu *gpu);

/* Is there a pair of ranks with this between them? */
bool tool_level_used(const struct tool_site *site, enum tt_level level);

/* ---- what costs people most ---- */
struct tool_warning {
    const char *name; /* "far-gpu": for machines */
    int *ranks, n;    /* that it is about */
    char what[640], remedy[640];
};
enum { TOOL_WARNINGS_MOST = 8 };

/* Fills list with what is wrong; how many. Ranks are freed by tool_unwarn. */
int tool_warn(const struct tool_site *site, struct tool_warning list[TOOL_WARNINGS_MOST]);
void tool_unwarn(struct tool_warning *list, int n);

/* ---- telling it ---- */
struct tool_topo_arguments {
    const char *svg;
    struct tool_seats seats;
    bool json;
};

/* Parses the command line of tutti topo, or exits. */
void tool_topo_parse(int argc, char **argv, struct tool_topo_arguments *a);

/* In the form that was asked for. Returns an exit status, after saying what failed. */
int tool_topo_tell(const struct tool_topo_arguments *a, const struct tool_site *site);
void tool_topo_text(FILE *out, const struct tool_site *site);
void tool_topo_json(FILE *out, const struct tool_site *site);
void tool_topo_svg(FILE *out, const struct tool_site *site);

#endif
