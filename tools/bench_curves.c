/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench_curves.h"

#include <math.h>
#include <string.h>

static int curve_of(struct tool_curves *curves, const struct tool_row *row)
{
    const char *name = row->path == TOOL_OWN ? row->algorithm : tool_path_names[row->path];
    int i = 0;

    while (i < curves->ncurves && (curves->of[i].path != row->path || strcmp(curves->of[i].name, name)))
        i++;
    if (i == curves->ncurves && i < TOOL_CHART_CURVES)
        curves->of[curves->ncurves++] = (struct tool_curve){.name = name, .path = row->path};
    return i;
}

void tool_curves_make(const struct tool_results *r, int from, int to, struct tool_curves *curves)
{
    *curves = (struct tool_curves){.coll = r->rows[from].coll};
    for (int i = from; i < to; i++) {
        const struct tool_row *row = &r->rows[i];
        int curve;

        if (row->path == TOOL_BARE)
            continue;
        if (curves->nsizes == 0 || curves->bytes[curves->nsizes - 1] != row->bytes) {
            if (curves->nsizes == TOOL_CURVE_SIZES)
                return;
            curves->bytes[curves->nsizes++] = row->bytes;
        }
        curve = curve_of(curves, row);
        if (curve < TOOL_CHART_CURVES)
            curves->of[curve].at[curves->nsizes - 1] = row;
    }
}

/* How far x is from a to b, by their logarithms: 0 to 1. */
static double part_of(double x, double a, double b)
{
    return b > a ? log(x / a) / log(b / a) : 0;
}

double tool_curve_time(const struct tool_curves *curves, int curve, double bytes)
{
    const struct tool_row *const *at = curves->of[curve].at;

    for (int i = 0; i < curves->nsizes; i++) {
        const double b = (double)curves->bytes[i], a = i ? (double)curves->bytes[i - 1] : b;

        if (bytes < a * (1 - 1e-9) || bytes > b * (1 + 1e-9) || !at[i])
            continue;
        if (bytes >= b * (1 - 1e-9))
            return at[i]->median;
        if (i > 0 && at[i - 1])
            return at[i - 1]->median * pow(at[i]->median / at[i - 1]->median, part_of(bytes, a, b));
    }
    return NAN;
}

static int fastest_at(const struct tool_curves *curves, int size)
{
    int best = -1;

    for (int c = 0; c < curves->ncurves; c++)
        if (curves->of[c].path != TOOL_CHOICE && curves->of[c].at[size] &&
            (best < 0 || curves->of[c].at[size]->median < curves->of[best].at[size]->median))
            best = c;
    return best;
}

/* Is the row of one clearly above that of the other? */
static bool above(const struct tool_row *a, const struct tool_row *b)
{
    return !a || a->median - a->noise > b->median + b->noise;
}

/* Where, between two sizes, the one's curve falls below the other's. */
static double crossing(const struct tool_curves *curves, int size, int from, int to)
{
    const struct tool_row *a0 = curves->of[from].at[size - 1], *b0 = curves->of[to].at[size - 1],
                          *a1 = curves->of[from].at[size], *b1 = curves->of[to].at[size];
    const double x0 = (double)curves->bytes[size - 1], x1 = (double)curves->bytes[size];
    double before, after;

    if (!a0 || !b0 || !a1)
        return x1;
    before = log(a0->median / b0->median);
    after = log(a1->median / b1->median);
    return before >= 0 ? x0 : x0 * pow(x1 / x0, -before / (after - before));
}

int tool_crossings(const struct tool_curves *curves, struct tool_crossing list[TOOL_CURVE_SIZES])
{
    int n = 0;

    for (int i = 0; i < curves->nsizes; i++) {
        const int best = fastest_at(curves, i), now = n ? list[n - 1].to : -1;

        if (best < 0 || best == now || (now >= 0 && !above(curves->of[now].at[i], curves->of[best].at[i])))
            continue;
        list[n] = (struct tool_crossing){now < 0 ? (double)curves->bytes[i] : crossing(curves, i, now, best), best};
        n++;
    }
    return n;
}
