/* SPDX-License-Identifier: BSD-3-Clause */
/* Every formula against the priced plans: within 15 %. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/whole.h"
#include "selector/net.h"
#include "selector/price.h"
#include "tests/machines.h"

static const int sizes[] = {2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 23, 24, 32, 48, 63, 64};
static const int64_t lengths[] = {8, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 28};
enum { NSIZES = sizeof sizes / sizeof *sizes, NLENGTHS = sizeof lengths / sizeof *lengths };

/* A whole call of that many bytes: of the vector, or of all blocks together, but no less than one byte a block. */
static struct tt_shape call(const struct tt_alg *alg, int size, int64_t bytes)
{
    const bool blocks = tt_coll_traits(alg->coll) & (TT_SEND_BLOCKS | TT_RECV_BLOCKS);

    struct tt_shape s = {.coll = alg->coll, .size = size, .commutes = true, .unit = 1};

    s.count = alg->coll == TT_COLL_barrier ? 0 : blocks ? (bytes + size - 1) / size : bytes;
    s.segment = s.count / 20 > 4096 ? s.count / 20 : 4096;
    return s;
}

int main(int argc, char **argv)
{
    for (int a = 0; tt_algs[a]; a++) {
        const struct tt_alg *alg = tt_algs[a];
        char name[64];
        snprintf(name, sizeof name, "%s_%s", tt_coll_name(alg->coll), alg->name);
        if (!alg->cost || (argc > 1 && !strstr(name, argv[1])))
            continue;
        for (int kind = 0; kind < MACHINE_KINDS; kind++)
            for (int place = 0; place < MACHINE_PLACES; place++) {
                double worst = 0; int bad = 0, all = 0;
                char what[256] = "";
                for (int i = 0; i < NSIZES; i++) {
                    struct tt_topo *t = machine(kind, sizes[i], place);
                    struct tt_net *net = tt_net_make(t);
                    for (int j = 0; j < NLENGTHS; j++) {
                        struct tt_shape s = call(alg, sizes[i], lengths[j]);
                        double real, est, e;
                        if (tt_infeasible(alg, &s)) continue;
                        if (s.coll == TT_COLL_barrier && j) continue;
                        real = tt_price_call(t, alg, &s, NULL);
                        est = alg->cost(&s, net);
                        e = est / real;
                        e = fabs(log(e));
                        all++;
                        bad += e > log(1.15);
                        if (argc > 2 && e > log(1.15)) printf("   %s %s %s P=%d n=%lld priced %.4g us cost %.4g us ratio %.3f\n", name, machine_names[kind], place_names[place], sizes[i], (long long)lengths[j], real*1e6, est*1e6, est/real);
                        if (e > worst) { worst = e; snprintf(what, sizeof what, "P=%d n=%lld ratio %.3f", sizes[i], (long long)lengths[j], est / real); }
                    }
                    tt_net_free(net);
                    tt_topo_free(t);
                }
                printf("%-34s %-14s %-12s bad %3d/%3d worst %s\n", name, machine_names[kind], place_names[place], bad, all, what);
            }
    }
    return 0;
}
