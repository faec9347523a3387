/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verdict hangs on. Each circumstance is changed alone, in steps, until the best layout has other sizes, and
 * what is no whole number then halved to a hundredth; all layouts are looked at anew each time, which takes some
 * milliseconds. A winner that has less room than a step may be missed. */
#include <math.h>

#include "tools/plan.h"

/* So far from where it is now, by factors, and the step; a whole number is doubled. */
static const double furthest = 8, step = 1.25, near_enough = 1.01;

static bool same_sizes(const struct tt_layout *a, const struct tt_layout *b, bool other_gpus)
{
    return a->tensor == b->tensor && a->context == b->context && a->pipeline == b->pipeline && a->expert == b->expert &&
           (other_gpus || a->data == b->data);
}

struct asked {
    const struct argp_state *state;
    const struct tool_plan *p;
    const struct tt_layout *now; /* the best as it is */
    enum tool_knob knob;
};

/* What would be the best with that value. false: still the same sizes. */
static bool changes_at(const struct asked *a, double value, struct tool_plan_change *change)
{
    struct tool_circumstances c = a->p->now;
    struct tool_prospect prospect;
    const struct tt_iteration *best;
    bool changes;

    c.is[a->knob] = value;
    tool_plan_look(a->state, a->p, &c, &prospect);
    best = tt_search_best(&prospect.search);
    changes = !best || !same_sizes(&best->layout, a->now, a->knob == TOOL_KNOB_gpus);
    if (changes)
        *change = (struct tool_plan_change){.knob = a->knob, .value = value, .none = !best};
    if (changes && best)
        change->to = best->layout;
    tool_plan_forget(&prospect);
    return changes;
}

/* Can the knob have that value? */
static bool makes_sense(const struct asked *a, double value)
{
    if (tool_knob_counts(a->knob) && (value < 1 || value > 65536 || floor(value) != value))
        return false;
    if (a->knob == TOOL_KNOB_gpus)
        return tool_plan_has_room(a->p, (int)value);
    if (a->knob == TOOL_KNOB_skew)
        return value >= 1;
    return a->knob != TOOL_KNOB_efficiency || value <= 1;
}

static bool look_one_way(const struct asked *a, bool down, struct tool_plan_change *change)
{
    const double now = a->p->now.is[a->knob], by = tool_knob_counts(a->knob) ? 2 : step;
    double same = now, value = now;
    struct tool_plan_change nearer;

    do {
        same = value;
        value = down ? value / by : value * by;
        if (!makes_sense(a, value) || value > now * furthest * 1.001 || value < now / furthest / 1.001)
            return false;
    } while (!changes_at(a, value, change));
    while (!tool_knob_counts(a->knob) && fmax(same / value, value / same) > near_enough) {
        const double middle = sqrt(same * value);

        if (changes_at(a, middle, &nearer)) {
            *change = nearer;
            value = middle;
        } else {
            same = middle;
        }
    }
    change->down = down;
    return true;
}

int tool_plan_changes(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect,
                      struct tool_plan_change changes[TOOL_MAX_PLAN_CHANGES])
{
    struct asked a = {state, p, &tt_search_best(&prospect->search)->layout, 0};
    int n = 0;

    for (int knob = 0; knob < TOOL_NKNOBS; knob++) {
        a.knob = (enum tool_knob)knob;
        if ((knob == TOOL_KNOB_nic && prospect->topo->nodes.n == 1) ||
            (knob == TOOL_KNOB_skew && !prospect->m.experts) || (knob == TOOL_KNOB_gpus && p->wish.data))
            continue;
        n += look_one_way(&a, true, &changes[n]);
        n += look_one_way(&a, false, &changes[n]);
    }
    return n;
}
