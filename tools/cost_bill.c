/* SPDX-License-Identifier: BSD-3-Clause */
/* A closed form is a sum of prices, each times a number, or the largest of such sums. So a little more on one price
 * adds that many times as much to the total, which is how the numbers are found: whatever the formula, and they add up
 * to the total. */
#include "tools/cost.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "coll/whole.h"
#include "selector/net.h"
#include "selector/price.h"

/* Is there a pair of ranks with this between them? As topologies are, a rank has it with one of the next few, or never.
 */
static bool used(const struct tt_topo *t, enum tt_level level)
{
    for (int a = 0; a < t->size; a++)
        for (int b = a + 1; b < t->size && b < a + 64; b++)
            if (tt_topo_level(t, a, b) == level)
                return true;
    return level == TT_LEVEL_NIC && t->nodes.n > 1;
}

int tool_rates(const struct tt_topo *t, struct tool_rate rates[TOOL_MAX_RATES])
{
    int n = 0;

    for (int level = 0; level < TT_NLEVELS; level++)
        if (used(t, level)) {
            rates[n++] = (struct tool_rate){"alpha", level, false, t->speed[level].alpha};
            rates[n++] = (struct tool_rate){"beta", level, true, t->speed[level].beta};
        }
    rates[n++] = (struct tool_rate){"gamma", TT_NLEVELS, true, t->gamma};
    rates[n++] = (struct tool_rate){"copy", TT_NLEVELS, true, t->copy};
    rates[n++] = (struct tool_rate){"launch", TT_NLEVELS, false, t->launch};
    rates[n++] = (struct tool_rate){"overhead", TT_NLEVELS, false, t->overhead};
    return n;
}

/* t with one price changed. */
static struct tt_topo with(const struct tt_topo *t, const struct tool_rate *rate, double seconds)
{
    struct tt_topo other = *t;
    double *const places[] = {&other.gamma, &other.copy, &other.launch, &other.overhead};

    if (rate->level < TT_NLEVELS)
        *(rate->per_byte ? &other.speed[rate->level].beta : &other.speed[rate->level].alpha) = seconds;
    else
        *places[rate->name[0] == 'g' ? 0 : rate->name[0] == 'c' ? 1 : rate->name[0] == 'l' ? 2 : 3] = seconds;
    return other;
}

/* The formula on a topology; negative if there is no memory for its net. */
static double evaluate(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_topo *t)
{
    struct tt_net *net = tt_net_make(t);
    const double seconds = net ? alg->cost(s, net) : -1;

    tt_net_free(net);
    return seconds;
}

/* What is a whole number but for the last digits is one. */
static double rounded(double times)
{
    return fabs(times - rint(times)) < 1e-3 + 1e-6 * times ? rint(times) : times;
}

static int take_apart(struct tool_bill *bill, const struct tt_shape *s, const struct tt_topo *t,
                      const struct tool_rate *rates, int nrates)
{
    for (int i = 0; i < nrates; i++) {
        const bool free = rates[i].seconds <= 0; /* of these only messages are counted */
        const double tiny = free ? bill->seconds * 1e-9 : rates[i].seconds * 1e-6;
        const struct tt_topo more = with(t, &rates[i], rates[i].seconds + tiny);
        const double seconds = evaluate(bill->alg, s, &more);

        if (seconds < 0)
            return -1;
        bill->times[i] =
            tiny > 0 && (!free || !strcmp(rates[i].name, "alpha")) ? rounded((seconds - bill->seconds) / tiny) : 0;
    }
    return 0;
}

static int price(struct tool_bill *bill, const struct tt_shape *s, const struct tt_topo *t)
{
    struct tt_plan *plans[TOOL_PRICED_RANKS];
    int built = 0, error;

    while (built < s->size && (plans[built] = tt_whole_plan(bill->alg, s, built))) {
        const int64_t sent = tt_plan_totals(plans[built]).sent * (int64_t)s->unit;

        bill->sent = sent > bill->sent ? sent : bill->sent;
        built++;
    }
    error = errno;
    if (built == s->size) {
        bill->priced = tt_price_plans(t, plans, NULL);
        error = errno;
    }
    for (int rank = 0; rank < built; rank++)
        tt_plan_free(plans[rank]);
    errno = error;
    return bill->priced < 0 ? -1 : 0;
}

int tool_bill(struct tool_bill *bill, const struct tt_alg *alg, const struct tt_shape *s, const struct tt_topo *t,
              const struct tool_rate *rates, int nrates)
{
    struct tt_net *net = tt_net_make(t);
    struct tt_estimate e;
    struct tt_shape own = *s;

    if (!net)
        return -1;
    e = tt_estimate(alg, s, net);
    tt_net_free(net);
    own.segment = e.segment;
    *bill = (struct tool_bill){
        .alg = alg, .seconds = e.seconds, .segment = alg->segmented ? e.segment : 0, .priced = -1, .sent = -1};
    if (take_apart(bill, &own, t, rates, nrates))
        return -1;
    return s->size <= TOOL_PRICED_RANKS ? price(bill, &own, t) : 0;
}
