/* SPDX-License-Identifier: BSD-3-Clause */
/* What would change the choice: another size, more or fewer ranks, another place, a variable that is set. Everything is
 * asked of the selector itself, pins and rules included. Sizes are looked through in steps of an eighth, and the change
 * is then found to the element by halving: a winner that has less room than a step may be missed. */
#include <stdio.h>
#include <string.h>

#include "coll/config.h"
#include "tools/explain.h"

/* How far ranks are doubled and halved. */
enum { FURTHEST = 8, MOST_RANKS = 8192 };

static struct tt_orders orders_of(const struct tool_ask *a)
{
    return (struct tt_orders){
        .pin = tt_config.pin[a->coll],
        .rules = tt_config.read,
        .net = a->net,
        .level = tt_topo_slowest(a->topo),
        .on_gpus = a->on_gpus,
        .no_nccl = tool_ask_no_nccl(a),
        .topo = a->topo,
        .votes = !tt_config.uniform};
}

static struct tt_choice choose(const struct tool_ask *a, int64_t count, const struct tt_orders *orders)
{
    struct tt_shape s = a->shape;

    s.count = count;
    return tt_select(a->coll, &s, orders, NULL, false);
}

struct tt_choice tool_choose(const struct tool_ask *a, int64_t count)
{
    const struct tt_orders orders = orders_of(a);

    return choose(a, count, &orders);
}

/* ---- sizes ---- */

/* same has the algorithm, other has another: the one next to it that has not, and what it has. */
static struct tool_change halve(const struct tool_ask *a, const struct tt_alg *alg, int64_t same, int64_t other)
{
    while (other - same > 1 || same - other > 1) {
        const int64_t middle = same + (other - same) / 2;

        *(tool_choose(a, middle).alg == alg ? &same : &other) = middle;
    }
    return (struct tool_change){other * (int64_t)a->shape.unit, tool_choose(a, other).alg};
}

bool tool_change_above(const struct tool_ask *a, int64_t bytes, int64_t most, struct tool_change *change)
{
    const int64_t unit = (int64_t)a->shape.unit, last = most / unit;
    const struct tt_alg *alg = tool_choose(a, bytes / unit).alg;
    int64_t same = bytes / unit;

    while (tool_ask_sized(a) && same < last) {
        const int64_t step = same / 8 + 1, next = step < last - same ? same + step : last;

        if (tool_choose(a, next).alg != alg) {
            *change = halve(a, alg, same, next);
            return true;
        }
        same = next;
    }
    return false;
}

bool tool_change_below(const struct tool_ask *a, int64_t bytes, struct tool_change *change)
{
    const int64_t unit = (int64_t)a->shape.unit;
    const struct tt_alg *alg = tool_choose(a, bytes / unit).alg;
    int64_t same = bytes / unit;

    while (tool_ask_sized(a) && same > 1) {
        const int64_t next = same - (same / 8 + 1) > 1 ? same - (same / 8 + 1) : 1;

        if (tool_choose(a, next).alg != alg) {
            *change = halve(a, alg, same, next);
            return true;
        }
        same = next;
    }
    return false;
}

/* ---- other cases ---- */

struct cases {
    const struct tt_alg *chosen;
    struct tool_otherwise *list;
    int n;
};

/* Keeps it if another algorithm runs. */
static bool note(struct cases *cases, const struct tt_choice *choice, const char *when)
{
    if (choice->alg == cases->chosen || cases->n == TOOL_MAX_OTHERWISE)
        return false;
    snprintf(cases->list[cases->n].when, sizeof cases->list->when, "%s", when);
    cases->list[cases->n++].choice = *choice;
    return true;
}

/* The same call on another machine. false: there is none such. */
static bool choose_on(const struct tool_ask *a, int ranks, int nodes, const char *place, struct tt_choice *choice,
                      int *seated)
{
    struct tool_ask other = *a;
    char why[256];

    other.topo = tool_ask_topology(a, ranks, nodes, place, why, sizeof why);
    other.net = other.topo ? tt_net_make(other.topo) : NULL;
    if (other.net) {
        other.shape.size = ranks;
        other.shape.nodes = &other.topo->nodes;
        *choice = tool_choose(&other, a->shape.count);
        *seated = other.topo->nodes.n;
    }
    tt_net_free(other.net);
    tt_topo_free(other.topo);
    return other.net != NULL;
}

/* On twice as many ranks, or four times, or eight times; or half as many: the first where another algorithm runs. */
static void try_ranks(const struct tool_ask *a, struct cases *cases, bool up)
{
    const int p = a->shape.size;

    for (int k = 2; k <= FURTHEST && (up ? p * k <= MOST_RANKS : p / k >= 2 && p % k == 0); k *= 2) {
        const int ranks = up ? p * k : p / k, nodes = up ? a->seats.nodes * k : a->seats.nodes / k;
        struct tt_choice choice;
        char when[64];
        int seated;

        if (ranks <= a->shape.root || !choose_on(a, ranks, nodes, a->seats.place, &choice, &seated))
            return;
        snprintf(when, sizeof when, "on %d ranks, %d node%s", ranks, seated, seated == 1 ? "" : "s");
        if (note(cases, &choice, when))
            return;
    }
}

static void try_places(const struct tool_ask *a, struct cases *cases)
{
    static const char *const places[] = {"block", "round-robin"};

    for (size_t i = 0; a->topo->nodes.n > 1 && i < sizeof places / sizeof *places; i++) {
        struct tt_choice choice;
        char when[64];
        int seated;

        snprintf(when, sizeof when, "with --place %s", places[i]);
        if (choose_on(a, a->shape.size, a->seats.nodes, places[i], &choice, &seated))
            note(cases, &choice, when);
    }
}

static void try_variables(const struct tool_ask *a, struct cases *cases)
{
    const struct tt_orders all = orders_of(a);
    struct tt_orders orders = all;
    struct tool_ask other = *a;
    struct tt_choice choice;
    char when[64] = "without ";

    orders.pin = NULL;
    choice = choose(a, a->shape.count, &orders);
    tt_config_pin_name(a->coll, when + strlen(when), sizeof when - strlen(when));
    note(cases, &choice, when);
    orders = all;
    orders.rules = NULL;
    choice = choose(a, a->shape.count, &orders);
    note(cases, &choice, "without TUTTI_RULES");
    other.shape.reproducible = false;
    choice = choose(&other, a->shape.count, &all);
    note(cases, &choice, "without TUTTI_REPRODUCIBLE");
    other = *a;
    other.shape.segment = 0;
    choice = choose(&other, a->shape.count, &all);
    note(cases, &choice, "without TUTTI_SEGMENT");
}

int tool_otherwise(const struct tool_ask *a, const struct tt_choice *chosen,
                   struct tool_otherwise list[TOOL_MAX_OTHERWISE])
{
    struct cases cases = {chosen->alg, list, 0};

    try_ranks(a, &cases, false);
    try_ranks(a, &cases, true);
    try_places(a, &cases);
    try_variables(a, &cases);
    return cases.n;
}
