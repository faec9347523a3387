/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes doc/decisions.md: what the cost model chooses on the shipped topologies, so that a change of a formula shows
 * in the choices that it changes. make decisions-page writes it anew; tests/test_decisions.sh fails while it is not so.
 */
#include <stdio.h>
#include <stdlib.h>

#include "coll/plan.h"
#include "coll/sizes.h"
#include "selector/model.h"
#include "selector/net.h"

static const struct {
    const char *topology;
    int ranks, nodes; /* 0: as the file says */
    const char *place;
} machines[] = {
    {"h100x8", 8, 1, NULL},           {"h100x8", 64, 8, NULL},
    {"h100x8", 64, 8, "round-robin"}, {"a100x4", 16, 4, NULL},
    {"cpu2x32", 64, 1, NULL},         {"cpu2x32", 256, 4, NULL},
    {"scale-rails", 0, 0, NULL},      {"scale-one-nic", 0, 0, NULL},
    {"scale-pcie", 0, 0, NULL},       {"scale-round-robin", 0, 0, NULL},
    {"scale-uneven", 0, 0, NULL},     {"scale-rails", 4096, 512, NULL},
};

/* Bytes of the vector, or of a block. */
enum { SMALLEST = 8 };
static const int64_t largest = INT64_C(1) << 30;

static const struct tt_alg *choose(enum tt_coll coll, int64_t bytes, const struct tt_topo *t, const struct tt_net *net)
{
    const struct tt_shape s = {
        .coll = coll, .size = t->size, .commutes = true, .unit = 4, .count = bytes / 4, .nodes = &t->nodes};
    struct tt_estimate best, next;

    tt_model_choose(coll, &s, net, &best, &next);
    return best.alg;
}

/* Which collectives have a row each: families, if all ranks know the size. */
static bool is_told(enum tt_coll coll)
{
    return tt_coll_family(coll) == coll && !tt_coll_lengths_local(coll) && coll != TT_COLL_barrier &&
           !(tt_coll_traits(coll) & TT_NEIGHBOURS);
}

static void write_row(enum tt_coll coll, const struct tt_topo *t, const struct tt_net *net)
{
    const struct tt_alg *now = choose(coll, SMALLEST, t, net);
    char size[32];

    printf("| %s | ", tt_coll_name(coll));
    for (int64_t bytes = 2 * SMALLEST; bytes <= largest; bytes *= 2) {
        const struct tt_alg *alg = choose(coll, bytes, t, net);

        if (alg != now)
            printf("%s to %s, ", now->name, tt_size_print(size, sizeof size, bytes / 2));
        now = alg;
    }
    printf("%s |\n", now ? now->name : "native");
}

static void write_machine(int i)
{
    struct tt_topo *t;
    struct tt_net *net;
    char why[1024];

    if (tt_topo_read(machines[i].topology, machines[i].ranks, machines[i].nodes, machines[i].place, &t, why,
                     sizeof why)) {
        fprintf(stderr, "%s\n", why);
        exit(EXIT_FAILURE);
    }
    net = tt_net_make(t);
    if (!net)
        exit(EXIT_FAILURE);
    printf("\n## %s: %d ranks on %d node%s%s%s\n\n| collective | choice |\n|---|---|\n", machines[i].topology, t->size,
           t->nodes.n, t->nodes.n == 1 ? "" : "s", machines[i].place ? ", " : "",
           machines[i].place ? machines[i].place : "");
    for (int c = 0; c < TT_NCOLLS; c++)
        if (is_told((enum tt_coll)c))
            write_row((enum tt_coll)c, t, net);
    tt_net_free(net);
    tt_topo_free(t);
}

int main(void)
{
    puts("# What the cost model chooses\n\n"
         "On the topologies that are shipped (`tutti explain --topo NAME` tells more), for a vector of floats, or a "
         "block\n"
         "where the collective is stated in blocks, of 8 bytes to 1 GiB: the sizes are powers of two, and \"ring to 2 "
         "MiB,\n"
         "halving\" means that the ring is chosen up to 2 MiB and halving from 4 MiB on. The speeds of these "
         "topologies are\n"
         "assumed, not measured. `make decisions-page` writes this page; a test fails while it is out of date.");
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        write_machine((int)i);
    return 0;
}
