/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints doc/coverage.md: who carries out each collective, in each flavour and from each kind of memory. It follows
 * from the rows of collectives.def and from the algorithms that are linked in, so the page says what is, and
 * test_coverage.sh that it is up to date. To write it anew: make coverage-page. */
#include <stdio.h>

#include "coll/plan.h"

static const char *const titles[TT_NCOLLS] = {
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args) [TT_COLL_##id] = "MPI_" #Name,
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};

/* Who does it. */
static const char own[] = "own algorithm", staged[] = "staged native", passes[] = "passes through", none[] = "-";

static bool is_own(enum tt_coll coll)
{
    for (int a = 0; tt_algs[a]; a++)
        if (tt_algs[a]->delegate == TT_OWN && tt_alg_serves(tt_algs[a], coll))
            return true;
    return false;
}

enum where { ON_HOST, ON_GPU };

/* The flavours share plans and the way to the MPI below, so they differ in nothing here. */
static const char *who(enum tt_coll coll, enum where where)
{
    if (where == ON_GPU && tt_coll_traits(coll) & TT_NO_BUFFER)
        return none;
    return is_own(coll) ? own : where == ON_GPU ? staged : passes;
}

static void print_collective(enum tt_coll coll)
{
    enum { FLAVOURS = 3 };

    printf("| %s |", titles[coll]);
    for (int flavour = 0; flavour < FLAVOURS; flavour++)
        printf(" %s | %s |", who(coll, ON_HOST), who(coll, ON_GPU));
    printf("\n");
}

static void print_algorithms(enum tt_coll coll)
{
    const char *between = "";

    printf("| %s |", titles[coll]);
    for (int a = 0; tt_algs[a]; a++)
        if (tt_algs[a]->delegate == TT_OWN && tt_alg_serves(tt_algs[a], coll)) {
            printf("%s %s%s", between, tt_algs[a]->name, tt_algs[a]->needs & TT_COMMUTATIVE ? "*" : "");
            between = ",";
        }
    printf("%s |\n", *between ? "" : " none");
}

static void print_totals(void)
{
    int n = 0;

    for (int coll = 0; coll < TT_NCOLLS; coll++)
        n += is_own((enum tt_coll)coll);
    printf("Of %d collectives %d have algorithms of Tutti's own; %d are left to the MPI below, to which GPU memory is\n"
           "staged.\n\n",
           TT_NCOLLS, n, TT_NCOLLS - n);
}

static const char head[] =
    "# Who carries out which call\n\n"
    "This page is printed by `tests/coverage.c` from `coll/collectives.def` and the algorithms in `algos/`\n"
    "(`make coverage-page`); a test compares the two.\n\n";

static const char words[] =
    "- *own algorithm*: a plan of Tutti's, chosen as `tutti explain` says. GPU memory is read by ranks of the same node\n"
    "  where it is ([gpu-memory.md](gpu-memory.md)); between nodes it is staged through pinned memory in pieces, or given\n"
    "  to the MPI below where that takes it (`TUTTI_MPI_CUDA`).\n"
    "- *staged native*: the MPI below carries it out, nonblocking or not, on a host copy of what is on a GPU.\n"
    "- *passes through*: the MPI below carries it out on the program's own buffers.\n\n"
    "The same holds for the large-count twins (`MPI_Allreduce_c`), and for persistent calls, where the MPI below has "
    "such\n"
    "(MPI-4). Where there is an own algorithm, the MPI below is used all the same (staged, from GPU memory) for ops "
    "of\n"
    "the user's and for reduced types that no GPU has (unless `TUTTI_REPRODUCIBLE=1`), on intercommunicators, on\n"
    "communicators for which no private one could be had, and for nonblocking calls on a communicator that has not seen\n"
    "another call before.\n\n";

int main(void)
{
    fputs(head, stdout);
    print_totals();
    fputs(words, stdout);
    printf("| collective | blocking, host | blocking, GPU | nonblocking, host | nonblocking, GPU | persistent, host | "
           "persistent, GPU |\n|---|---|---|---|---|---|---|\n");
    for (int coll = 0; coll < TT_NCOLLS; coll++)
        print_collective((enum tt_coll)coll);
    printf("\n## Algorithms\n\nThose with a star fold out of rank order, and serve commutative ops alone.\n\n"
           "| collective | own algorithms |\n|---|---|\n");
    for (int coll = 0; coll < TT_NCOLLS; coll++)
        print_algorithms((enum tt_coll)coll);
    return 0;
}
